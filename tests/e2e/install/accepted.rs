//! Every manifest and every rendering of the chart is accepted by a real API server that enforces Pod Security `restricted`.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::custom_kinds::define;
use super::rendering::{KUSTOMIZATIONS, NAMESPACE, VALUES, deploy, kustomized, objects, run, templated};
use crate::controlplane::{Binaries, ControlPlane, Options};
use crate::fixtures::create;
use crate::progress::report;

#[tokio::test]
async fn manifests_and_chart_are_accepted_with_restricted_pod_security() -> Result<()> {
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let binaries = Binaries::locate().await?;
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}))?;
        create(&plane.client(), &namespace).await?;
        define(&plane.client(), "monitoring.coreos.com", "ServiceMonitor", "servicemonitors").await?;
        define(&plane.client(), "monitoring.coreos.com", "PrometheusRule", "prometheusrules").await?;

        for folder in KUSTOMIZATIONS {
            ensure_accepted(plane, folder, &kustomized(&binaries, folder)?).await?;
        }
        let components = kustomization_of_all_components(plane)?;
        let rendered = run(&binaries.path("kustomize"), ["build", &components])?;
        ensure_accepted(plane, "all-components", &rendered).await?;
        for (name, values) in VALUES {
            ensure_accepted(plane, name, &templated(&binaries, values)?).await?;
        }
        // What Pod Security enforces is enforced on pods only, and it is on here.
        let privileged =
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let refusal =
            refusal(plane, NAMESPACE, privileged).await?.context("an unrestricted pod is accepted")?;
        ensure!(refusal.contains("violates PodSecurity \"restricted"), "{refusal}");
        ensure_static_pod_is_as_restricted_as_can_be(plane).await?;
        ensure_patch_fits_kubeadm(plane).await
    })
    .await
}

/// kubectl applies it in a dry run, and each of its pods could be made.
async fn ensure_accepted(plane: &ControlPlane, name: &str, rendering: &str) -> Result<()> {
    let file = plane.workspace().write(&format!("{name}.yaml"), rendering)?;
    let kubectl = plane.program("kubectl");
    let accepted = run(
        &kubectl,
        [
            format!("--kubeconfig={}", plane.kubeconfig().display()),
            format!("--cache-dir={}", plane.workspace().path("kubectl-cache").display()),
            "apply".to_owned(),
            "--server-side".to_owned(),
            "--dry-run=server".to_owned(),
            "--validate=strict".to_owned(),
            format!("--filename={}", file.display()),
        ],
    )
    .with_context(|| name.to_owned())?;
    let all = objects(rendering)?;
    ensure!(accepted.lines().count() == all.len(), "{name}: {accepted}");
    for object in &all {
        let template = &object["spec"]["template"];
        if template.is_object() {
            let mut pod = template.clone();
            pod["metadata"]["name"] = "trial".into();
            let refused = refusal(plane, NAMESPACE, pod).await?;
            ensure!(refused.is_none(), "{name}: {}", refused.unwrap_or_default());
        }
    }
    report(&format!("{name}: {} objects are accepted", all.len()));
    Ok(())
}

/// Why a pod could not be made; `None` if it could.
async fn refusal(plane: &ControlPlane, namespace: &str, pod: Value) -> Result<Option<String>> {
    let pods: Api<Pod> = Api::namespaced(plane.client(), namespace);
    let trial = PostParams { dry_run: true, ..PostParams::default() };
    match pods.create(&trial, &serde_json::from_value(pod)?).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(status.message.clone())),
        Err(error) => Err(error.into()),
    }
}

/// The second scheduler with all components that are optional.
fn kustomization_of_all_components(plane: &ControlPlane) -> Result<String> {
    let folder = plane.workspace().path("all-components");
    let copied = run(
        std::path::Path::new("cp"),
        [std::ffi::OsStr::new("-r"), deploy("kustomize").as_os_str(), folder.as_os_str()],
    )?;
    ensure!(copied.is_empty());
    let file = folder.join("second-scheduler/kustomization.yaml");
    let text = std::fs::read_to_string(&file)?;
    let all = text.replace("  # - ../components", "  - ../components");
    ensure!(all != text, "{} offers no components", file.display());
    std::fs::write(&file, all)?;
    Ok(folder.join("second-scheduler").display().to_string())
}

/// On the host's network, with a folder of the host: that is all that sets it apart.
async fn ensure_static_pod_is_as_restricted_as_can_be(plane: &ControlPlane) -> Result<()> {
    let text = std::fs::read_to_string(deploy("static-pod/berth.yaml"))?;
    let pod: Value = serde_saphyr::from_str(&text)?;
    let allowed = refusal(plane, "kube-system", pod.clone()).await?;
    ensure!(allowed.is_none(), "{allowed:?}");
    let mut elsewhere = pod;
    elsewhere["metadata"]["namespace"] = NAMESPACE.into();
    let refused = refusal(plane, NAMESPACE, elsewhere.clone()).await?.context("it is accepted")?;
    report(&refused);
    elsewhere["spec"]["hostNetwork"] = false.into();
    elsewhere["spec"]["volumes"][0] = json!({"name": "berth", "emptyDir": {}});
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        elsewhere["spec"]["containers"][0][probe]["httpGet"]["host"] = "".into();
    }
    let refused = refusal(plane, NAMESPACE, elsewhere).await?;
    ensure!(refused.is_none(), "it needs more than the host's network and a folder: {refused:?}");
    Ok(())
}

/// As kubeadm writes it, but for what does not matter here.
const KUBEADM: &str = "apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.4
    command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    volumeMounts:
    - {mountPath: /etc/kubernetes/scheduler.conf, name: kubeconfig, readOnly: true}
  hostNetwork: true
  volumes:
  - name: kubeconfig
    hostPath: {path: /etc/kubernetes/scheduler.conf, type: FileOrCreate}
";

async fn ensure_patch_fits_kubeadm(plane: &ControlPlane) -> Result<()> {
    let manifest = plane.workspace().write("kubeadm-kube-scheduler.yaml", KUBEADM)?;
    let patched = run(
        &plane.program("kubectl"),
        [
            "patch".to_owned(),
            "--local".to_owned(),
            "--type=json".to_owned(),
            "--output=json".to_owned(),
            format!("--filename={}", manifest.display()),
            format!("--patch-file={}", deploy("static-pod/patches/kube-scheduler0+json.yaml").display()),
        ],
    )?;
    let patched: Value = serde_json::from_str(&patched)?;
    let command = patched["spec"]["containers"][0]["command"].to_string();
    for argument in ["--leader-elect=true", "--config=/etc/kubernetes/berth/kube-scheduler-config.yaml"] {
        ensure!(command.contains(argument), "the patched command lacks {argument}: {command}");
    }
    let refused = refusal(plane, "kube-system", patched).await?;
    ensure!(refused.is_none(), "{refused:?}");
    Ok(())
}
