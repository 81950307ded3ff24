//! The chart refuses wrong values, and says the same as the manifests.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::rendering::{deploy, kustomized, object, objects, run, templated};
use crate::controlplane::Binaries;

#[tokio::test]
async fn wrong_values_are_refused_with_their_name() -> Result<()> {
    let binaries = Binaries::locate().await?;
    for (values, named) in [
        (&["replicaCount=two"][..], "/replicaCount"),
        (&["replicaCount=0"], "/replicaCount"),
        (&["mode=sidecar"], "/mode"),
        (&["nonsense=1"], "nonsense"),
        (&["image.repositry=typo"], "repositry"),
        (&["image.repository="], "/image/repository"),
        (&["image.digest=latest"], "/image/digest"),
        (&["kubeScheduler.httpTimeout=10"], "/kubeScheduler/httpTimeout"),
        (&["kubeScheduler.percentageOfNodesToScore=101"], "/kubeScheduler/percentageOfNodesToScore"),
        (&["kubeScheduler.ignorable=maybe"], "/kubeScheduler/ignorable"),
        (&["config.kind=Other"], "/config"),
        (&["config.replicaGroup.mode=Observe"], "replicaGroup"),
        (&["config.replicaGroups.reservationTtl=60"], "/config/replicaGroups/reservationTtl"),
        (&["config.replicaGroups.sources[0]=Sets"], "/config/replicaGroups/sources/0"),
        (&["config.topologySpread.defaultingType=Nope"], "/config/topologySpread/defaultingType"),
        (&["tolerations.key=a"], "/tolerations"),
        (&["podDisruptionBudget.maxUnavailable=half"], "/podDisruptionBudget/maxUnavailable"),
        (&["schedulerName=Berth"], "/schedulerName"),
        (&["schedulerName=default-scheduler"], " schedulerName: default-scheduler is"),
        (&["podSchedulerName=berth"], "podSchedulerName"),
        (&["mode=remote"], "tls.secretName"),
        (&["mode=remote", "tls.secretName=a"], "tls.clientSecretName"),
        (&["serviceMonitor.enabled=true"], "tls.secretName"),
        (&["kubeScheduler.enabled=false"], "kubeScheduler.enabled"),
        (&["mode=staticPod", "serviceMonitor.enabled=true"], "serviceMonitor.enabled"),
        (&["mode=staticPod", "networkPolicy.enabled=true"], "networkPolicy.enabled"),
        (&["admission.enabled=true", "admission.caBundle=YQ=="], "tls.secretName"),
        (&["admission.enabled=true", "tls.secretName=a"], "admission.caBundle"),
        (&["mode=staticPod", "admission.enabled=true"], "admission.enabled"),
        (&["admission.failurePolicy=Maybe"], "/admission/failurePolicy"),
        (&["extraArgs[0]=--admission-listen=0.0.0.0:1"], "extraArgs: --admission-listen"),
        (&["kubeScheduler.httpTimeout=4s"], "config.server.timeouts.bind (4s)"),
        (&["kubeScheduler.httpTimeout=1m", "config.server.timeouts.bind=90s"], "kubeScheduler.httpTimeout"),
        (&["kubeScheduler.image.tag=v1.37.1"], "kubeScheduler.image.tag"),
        (&["extraArgs[0]=--listen=0.0.0.0:8888"], "extraArgs: --listen"),
        (&["extraArgs[0]=--log-format", "extraArgs[1]=text"], "extraArgs: --log-format"),
        (&["kubeScheduler.extraArgs[0]=--secure-port=0"], "kubeScheduler.extraArgs: --secure-port"),
        (&["podLabels.app\\.kubernetes\\.io/name=mine"], "podLabels: app.kubernetes.io/name"),
        (&["podLabels.app\\.kubernetes\\.io/component=mine"], "podLabels: app.kubernetes.io/component"),
        (&["prometheusRule.runbookPrefix=docs"], "/prometheusRule/runbookPrefix"),
        (&["serviceAccount.create=false"], "serviceAccount.name"),
    ] {
        let Err(refusal) = templated(&binaries, values) else {
            anyhow::bail!("{values:?} are accepted");
        };
        let refusal = refusal.to_string();
        ensure!(refusal.contains(named), "{values:?}: the refusal does not name {named}: {refusal}");
    }
    let chart = deploy("helm/berth");
    run(&binaries.path("helm"), [std::ffi::OsStr::new("lint"), "--strict".as_ref(), chart.as_os_str()])?;
    Ok(())
}

#[tokio::test]
async fn the_chart_says_what_the_manifests_say() -> Result<()> {
    let binaries = Binaries::locate().await?;
    let (chart, manifests) = (templated(&binaries, &[])?, kustomized(&binaries, "second-scheduler")?);
    let both = |kind: &str, name: &str| -> Result<(Value, Value)> {
        Ok((object(&chart, kind, name)?, object(&manifests, kind, name)?))
    };
    let (ours, theirs) = both("Deployment", "berth")?;
    let spec = |deployment: &Value| {
        let mut spec = deployment["spec"]["template"]["spec"].clone();
        // Labels, names of ConfigMaps and what is said explicitly are matters of taste.
        for key in ["topologySpreadConstraints", "volumes"] {
            spec[key] = Value::Null;
        }
        for list in ["initContainers", "containers"] {
            let container = &mut spec[list][0];
            container["imagePullPolicy"] = Value::Null;
            for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
                let get = &mut container[probe]["httpGet"];
                if get["scheme"].is_null() {
                    get["scheme"] = "HTTP".into();
                }
            }
        }
        spec
    };
    let (ours, theirs) = (spec(&ours), spec(&theirs));
    ensure!(ours == theirs, "the pods differ:\n{ours:#}\n{theirs:#}");

    for (map, file) in [("berth", "berth.yaml"), ("berth-kube-scheduler", "kube-scheduler-config.yaml")] {
        let ours: Value = parsed(&object(&chart, "ConfigMap", map)?, file)?;
        let folder = deploy("kustomize/components/second-scheduler");
        let theirs: Value = serde_saphyr::from_str(&std::fs::read_to_string(folder.join(file))?)?;
        ensure!(ours == theirs, "{file} differs:\n{ours:#}\n{theirs:#}");
    }
    Ok(())
}

/// What decides who may do what and where, by kind, namespace and name.
fn rights(rendering: &str) -> Result<BTreeMap<[String; 3], Value>> {
    const KINDS: [&str; 7] = [
        "ClusterRole",
        "ClusterRoleBinding",
        "Deployment",
        "Role",
        "RoleBinding",
        "Service",
        "ServiceAccount",
    ];
    let mut rights = BTreeMap::new();
    for object in objects(rendering)? {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let kind = text(&object["kind"]);
        if KINDS.contains(&&*kind) {
            let says = json!([object["rules"], object["roleRef"], object["subjects"]]);
            rights.insert([kind, text(&metadata["namespace"]), text(&metadata["name"])], says);
        }
    }
    Ok(rights)
}

#[tokio::test]
async fn the_chart_gives_the_rights_that_the_manifests_give() -> Result<()> {
    let binaries = Binaries::locate().await?;
    let mut of_way = BTreeMap::new();
    for (folder, values) in [
        ("second-scheduler", &[] as &[&str]),
        ("static-pod", &["mode=staticPod"]),
        ("remote", &["mode=remote", "tls.secretName=a", "tls.clientSecretName=b"]),
    ] {
        let theirs = rights(&kustomized(&binaries, folder)?)?;
        let ours = rights(&templated(&binaries, values)?)?;
        ensure!(ours == theirs, "{folder} differs:\n{ours:#?}\n{theirs:#?}");
        of_way.insert(folder, theirs);
    }
    // A request to kube-scheduler's own port is authenticated with what is in kube-system.
    let reader =
        ["RoleBinding", "kube-system", "berth:extension-apiserver-authentication-reader"].map(str::to_owned);
    for folder in ["second-scheduler", "remote"] {
        ensure!(of_way[folder].contains_key(&reader), "{folder} has no {reader:?}");
    }
    // A second scheduler beside a static pod: neither takes the other's rights along when it goes.
    let shared = of_way["static-pod"].keys().find(|key| of_way["second-scheduler"].contains_key(*key));
    ensure!(shared.is_none(), "both ways have {shared:?}");
    Ok(())
}

#[tokio::test]
async fn the_chart_brings_the_webhooks_of_the_manifests() -> Result<()> {
    let binaries = Binaries::locate().await?;
    let with = |admission: &[&str]| {
        let remote = ["mode=remote", "tls.secretName=a", "tls.clientSecretName=b"];
        templated(&binaries, &[&remote, admission].concat())
    };
    let on = with(&["admission.enabled=true", "admission.caBundle=YQ=="])?;
    let ours = object(&on, "MutatingWebhookConfiguration", "berth")?["webhooks"].clone();
    let folder = deploy("kustomize/components/admission");
    let theirs: Value = serde_saphyr::from_str(&std::fs::read_to_string(folder.join("webhooks.yaml"))?)?;
    let mut theirs = theirs["webhooks"].clone();
    for webhook in theirs.as_array_mut().into_iter().flatten() {
        webhook["clientConfig"]["caBundle"] = "YQ==".into();
    }
    ensure!(ours == theirs, "the webhooks differ:\n{ours:#}\n{theirs:#}");
    let args = &object(&on, "Deployment", "berth")?["spec"]["template"]["spec"]["containers"][0]["args"];
    ensure!(
        args.as_array().is_some_and(|args| args.contains(&json!("--admission-listen=0.0.0.0:8890"))),
        "{args}"
    );
    let service = object(&on, "Service", "berth-admission")?;
    ensure!(service["spec"]["ports"][0]["targetPort"] == "admission", "{service}");
    let off = with(&[])?;
    ensure!(!off.contains("admission"), "something of it is there though it is off");
    Ok(())
}

#[tokio::test]
async fn the_chart_brings_the_rules_of_the_project() -> Result<()> {
    let binaries = Binaries::locate().await?;
    let groups = |values: &[&str]| -> Result<Value> {
        let values: Vec<_> = ["prometheusRule.enabled=true"].iter().chain(values).copied().collect();
        let rule = object(&templated(&binaries, &values)?, "PrometheusRule", "berth")?;
        Ok(rule["spec"]["groups"].clone())
    };
    let mut shipped = Vec::new();
    for file in ["recording.yaml", "alerts.yaml"] {
        let text = std::fs::read_to_string(deploy("../dashboards/rules").join(file))?;
        let rules: Value = serde_saphyr::from_str(&text)?;
        shipped.extend(rules["groups"].as_array().cloned().unwrap_or_default());
    }
    let shipped = Value::from(shipped);
    let plain = groups(&[])?;
    ensure!(plain == shipped, "the rules differ:\n{plain:#}\n{shipped:#}");
    let linked = groups(&["prometheusRule.runbookPrefix=https://git.example.com/berth/"])?.to_string();
    let shipped = shipped.to_string();
    let links = shipped.replace("\"docs/runbook", "\"https://git.example.com/berth/docs/runbook");
    ensure!(linked == links && links != shipped, "the links differ: {linked}");
    let own = groups(&["prometheusRule.groups[0].name=own"])?;
    ensure!(own == json!([{"name": "own"}]), "{own:#}");
    Ok(())
}

fn parsed(map: &Value, file: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(map["data"][file].as_str().unwrap_or_default())?)
}
