//! The chart refuses wrong values, and says the same as the manifests.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::rendering::{deploy, kustomized, object, run, templated};
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
        (&["tolerations.key=a"], "/tolerations"),
        (&["podDisruptionBudget.maxUnavailable=half"], "/podDisruptionBudget/maxUnavailable"),
        (&["schedulerName=Berth"], "/schedulerName"),
        (&["schedulerName=default-scheduler", "podSchedulerName=other"], "schedulerName"),
        (&["podSchedulerName=berth"], "podSchedulerName"),
        (&["mode=remote"], "tls.secretName"),
        (&["mode=remote", "tls.secretName=a"], "tls.clientSecretName"),
        (&["serviceMonitor.enabled=true"], "tls.secretName"),
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
    for (kind, name) in [("ClusterRole", "berth"), ("Role", "berth:leader-election")] {
        let (ours, theirs) = both(kind, name)?;
        ensure!(ours["rules"] == theirs["rules"], "{kind} {name} differs");
    }
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

fn parsed(map: &Value, file: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(map["data"][file].as_str().unwrap_or_default())?)
}
