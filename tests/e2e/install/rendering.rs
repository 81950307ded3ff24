//! Everything that `deploy` can be rendered to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::controlplane::Binaries;

/// The namespace of the manifests.
pub const NAMESPACE: &str = "berth-system";

/// The folder `deploy`.
pub fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(path)
}

/// Folders of `deploy/kustomize`, one for each way to install.
pub const KUSTOMIZATIONS: [&str; 3] = ["second-scheduler", "static-pod", "remote"];

/// Values of the chart: every way, and every option.
pub const VALUES: [(&str, &[&str]); 10] = [
    ("services", &["groupServices.enabled=true"]),
    (
        "admission",
        &[
            "tls.secretName=a",
            "admission.enabled=true",
            "admission.caBundle=YQ==",
            "networkPolicy.enabled=true",
        ],
    ),
    ("defaults", &[]),
    ("static-pod", &["mode=staticPod"]),
    (
        "remote",
        &[
            "mode=remote",
            "tls.secretName=a",
            "tls.clientSecretName=b",
            "adminAccess.enabled=true",
            "serviceMonitor.enabled=true",
        ],
    ),
    (
        "remote-berth-only",
        &["mode=remote", "tls.secretName=a", "kubeScheduler.enabled=false", "networkPolicy.enabled=true"],
    ),
    (
        "watched",
        &[
            "tls.secretName=a",
            "adminAccess.enabled=true",
            "adminAccess.metricsReaders[0].kind=ServiceAccount",
            "adminAccess.metricsReaders[0].name=prometheus",
            "adminAccess.metricsReaders[0].namespace=monitoring",
            "serviceMonitor.enabled=true",
            "prometheusRule.enabled=true",
            "networkPolicy.enabled=true",
        ],
    ),
    (
        "placed",
        &[
            "nodeSelector.pool=system",
            "tolerations[0].operator=Exists",
            "tolerations[0].key=dedicated",
            "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey=kubernetes.io/hostname",
            "topologySpreadConstraints[0].maxSkew=2",
            "topologySpreadConstraints[0].topologyKey=example.com/rack",
            "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
            "priorityClassName=",
            "podAnnotations.a=b",
            "podLabels.a=b",
            "imagePullSecrets[0].name=pull",
        ],
    ),
    (
        "extended",
        &[
            "extraArgs[0]=--log-level=debug",
            "extraEnv[0].name=A",
            "extraEnv[0].value=B",
            "extraVolumes[0].name=more",
            "extraVolumes[0].emptyDir.medium=Memory",
            "extraVolumeMounts[0].name=more",
            "extraVolumeMounts[0].mountPath=/more",
            "kubeScheduler.extraArgs[0]=--v=2",
            "config.replicaGroups.reservationTtl=90s",
        ],
    ),
    (
        "bare",
        &[
            "podDisruptionBudget.enabled=false",
            "rbac.create=false",
            "serviceAccount.create=false",
            "serviceAccount.name=mine",
            "image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "fullnameOverride=other",
        ],
    ),
];

/// What kustomize makes of a folder.
pub fn kustomized(binaries: &Binaries, folder: &str) -> Result<String> {
    let folder = deploy("kustomize").join(folder);
    run(&binaries.path("kustomize"), [OsStr::new("build"), folder.as_os_str()])
}

/// What helm makes of the chart with these values; an error if it refuses them.
pub fn templated(binaries: &Binaries, values: &[&str]) -> Result<String> {
    let chart = deploy("helm/berth");
    let mut args = vec!["template".into(), "berth".into(), chart.into_os_string()];
    args.extend(["--namespace", NAMESPACE, "--kube-version", "v1.36.4-provider.1"].map(Into::into));
    for value in values {
        args.extend(["--set".into(), (*value).into()]);
    }
    run(&binaries.path("helm"), args)
}

/// Its standard output; what it complains about if it fails.
pub fn run<A: AsRef<OsStr>>(program: &Path, args: impl IntoIterator<Item = A>) -> Result<String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {complaint}", program.display());
    Ok(String::from_utf8(output.stdout)?)
}

/// The objects of a rendering.
pub fn objects(rendering: &str) -> Result<Vec<Value>> {
    let all: Vec<Value> = serde_saphyr::from_multiple(rendering)?;
    Ok(all.into_iter().filter(|object| !object.is_null()).collect())
}

/// The one object of this kind and name.
pub fn object(rendering: &str, kind: &str, name: &str) -> Result<Value> {
    let found = objects(rendering)?
        .into_iter()
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.with_context(|| format!("there is no {kind} {name}"))
}
