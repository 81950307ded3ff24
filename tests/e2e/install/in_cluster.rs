//! Berth with its in-cluster account, as all shipped pods have it: no kubeconfig, but an address in the environment and files in a
//! fixed place. That place is bound in a mount namespace of its own, so this needs root; without, it says so and does nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::account::kubeconfig_of;
use super::rendering::{NAMESPACE, kustomized, run};
use crate::controlplane::{Binaries, ControlPlane, Options, Process, free_ports};
use crate::fixtures::{create_all, nodes};
use crate::http_get;
use crate::metrics_text::Metrics;
use crate::progress::report;

const READY_LIMIT: Duration = Duration::from_mins(1);
/// Makes the account's folder where Kubernetes mounts it, which nobody else sees, and becomes Berth.
const AS_IN_A_POD: &str = r#"
set -e
mount -t tmpfs none "$(readlink -f /var/run)"
mkdir -p /var/run/secrets/kubernetes.io
cp -r "$1" /var/run/secrets/kubernetes.io/serviceaccount
shift
unset KUBECONFIG
export HOME=/ KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT="$1"
shift
exec "$@"
"#;

fn may_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "mount", "-t", "tmpfs", "none", "/mnt"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// What the kubelet mounts for an account, made from its kubeconfig, and the port of the API server.
fn account_folder(plane: &ControlPlane, kubeconfig: &Path) -> Result<(PathBuf, String)> {
    let read: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig)?)?;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text in the kubeconfig");
    let cluster = &read["clusters"][0]["cluster"];
    let folder = plane.workspace().fresh_path("serviceaccount", "d");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("token"), text(&read["users"][0]["user"]["token"])?)?;
    std::fs::write(folder.join("namespace"), NAMESPACE)?;
    std::fs::copy(text(&cluster["certificate-authority"])?, folder.join("ca.crt"))?;
    let server = text(&cluster["server"])?;
    Ok((folder, server.rsplit(':').next().context("a port")?.to_owned()))
}

#[tokio::test]
async fn berth_is_ready_with_the_account_of_its_pod_and_no_kubeconfig() -> Result<()> {
    if !may_mount() {
        report("SKIPPED: a mount namespace needs root");
        return Ok(());
    }
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let rendering = kustomized(&Binaries::locate().await?, "second-scheduler")?;
        let file = plane.workspace().write("second-scheduler.yaml", &rendering)?;
        let applied = [
            format!("--kubeconfig={}", plane.kubeconfig().display()),
            format!("--cache-dir={}", plane.workspace().path("kubectl-cache").display()),
            "apply".to_owned(),
            format!("--filename={}", file.display()),
        ];
        run(&plane.program("kubectl"), applied)?;
        create_all(&plane.client(), &nodes(3).build()).await?;
        let kubeconfig = kubeconfig_of(plane, NAMESPACE, "berth").await?;
        let (folder, port) = account_folder(plane, &kubeconfig)?;
        let [verbs, admin] = free_ports()?;
        let mut args = ["--mount", "--propagation", "private", "--", "bash", "-c", AS_IN_A_POD, "bash"]
            .map(str::to_owned)
            .to_vec();
        args.extend([folder.display().to_string(), port]);
        args.extend([env!("CARGO_BIN_EXE_berth").to_owned(), "serve".to_owned()]);
        args.extend([format!("--listen=127.0.0.1:{verbs}"), format!("--admin-listen=127.0.0.1:{admin}")]);
        let mut process = Process::spawn(plane.workspace(), "berth", Path::new("unshare"), args)?;
        let admin = SocketAddr::from(([127, 0, 0, 1], admin));
        let ready = async |_: &Process| {
            let (status, body) = http_get::get(admin, "/readyz?verbose").await?;
            ensure!(status == 200, "{status}: {body}");
            Ok(())
        };
        process.wait_ready(READY_LIMIT, ready).await?;
        let (_, page) = http_get::get(admin, "/metrics").await?;
        let nodes = Metrics::parse(&page)?.sum("berth_cache_objects", &[("kind", "Node")]);
        ensure!(nodes == 3.0, "it sees {nodes} nodes");
        Ok(())
    })
    .await
}
