//! One replica of the second scheduler's Deployment: its two processes, as its manifest says. The kubelet's part is played here:
//! files for the volumes, the account's token, and kube-scheduler only once Berth is ready.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::rendering::{NAMESPACE, object, objects};
use crate::controlplane::{ControlPlane, HttpsProbe, Process, free_ports};
use crate::http_get;
use crate::metrics_text::Metrics;

const READY_LIMIT: Duration = Duration::from_mins(1);

/// What all replicas have in common.
pub struct Template {
    berth: Vec<String>,
    scheduler: Vec<String>,
    berth_config: String,
    scheduler_config: String,
    /// The account's kubeconfig.
    account: PathBuf,
}

impl Template {
    pub fn of(rendering: &str, account: PathBuf) -> Result<Self> {
        let deployment = object(rendering, "Deployment", "berth")?;
        let spec = &deployment["spec"]["template"]["spec"];
        ensure!(deployment["spec"]["replicas"] == 2, "the Deployment has not two replicas");
        ensure!(spec["serviceAccountName"] == "berth", "another account than the one whose token is used");
        let (sidecar, main) = (&spec["initContainers"][0], &spec["containers"][0]);
        ensure!(sidecar["restartPolicy"] == "Always", "Berth is not started before kube-scheduler");
        let file = |volume: &str, file: &str| -> Result<String> {
            let volumes = spec["volumes"].as_array().context("no volumes")?;
            let volume = volumes.iter().find(|known| known["name"] == volume).context("no such volume")?;
            let name = volume["configMap"]["name"].as_str().context("no ConfigMap")?;
            let map = objects(rendering)?
                .into_iter()
                .find(|map| map["kind"] == "ConfigMap" && map["metadata"]["name"] == name);
            let map = map.with_context(|| format!("no ConfigMap {name}"))?;
            ensure!(map["metadata"]["namespace"] == NAMESPACE);
            Ok(map["data"][file].as_str().with_context(|| format!("{name} has no {file}"))?.to_owned())
        };
        Ok(Self {
            berth: strings(&sidecar["args"]),
            scheduler: strings(&main["command"]).split_off(1),
            berth_config: file("berth", "berth.yaml")?,
            scheduler_config: file("kube-scheduler", "kube-scheduler-config.yaml")?,
            account,
        })
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

/// Both processes are killed when it is dropped.
pub struct Replica {
    scheduler: Process,
    berth: Process,
    admin: std::net::SocketAddr,
}

impl Replica {
    /// Starts it. All that differs from the manifest is what a network namespace and mounts of its own would bring: ports, and
    /// where files lie.
    pub async fn start(plane: &ControlPlane, template: &Template) -> Result<Self> {
        let folder = plane.workspace().fresh_path("replica", "d");
        fs::create_dir_all(&folder)?;
        let [verbs, admin, secure] = free_ports()?;
        let account = template.account.display();
        let config = template.scheduler_config.replacen(
            "urlPrefix: http://127.0.0.1:8888",
            &format!("urlPrefix: http://127.0.0.1:{verbs}"),
            1,
        );
        ensure!(config != template.scheduler_config, "kube-scheduler does not call Berth on loopback");
        let config = format!("{config}\nclientConnection:\n  kubeconfig: {account}\n");
        fs::write(folder.join("kube-scheduler-config.yaml"), config)?;
        fs::write(folder.join("berth.yaml"), &template.berth_config)?;

        let ports = [
            ("127.0.0.1:8888", format!("127.0.0.1:{verbs}")),
            ("0.0.0.0:8889", format!("127.0.0.1:{admin}")),
        ];
        let mut args = placed(&template.berth, "/etc/berth", &folder, &ports)?;
        args.push(format!("--kubeconfig={account}"));
        let program = crate::scheduling::berth().program;
        let mut berth = Process::spawn(plane.workspace(), "berth", program, args)?;
        let admin = std::net::SocketAddr::from(([127, 0, 0, 1], admin));
        berth
            .wait_ready(READY_LIMIT, async |_| {
                let (status, body) = http_get::get(admin, "/readyz").await?;
                ensure!(status == 200, "{status}: {body}");
                Ok(())
            })
            .await?;

        let ports = [("=0.0.0.0", "=127.0.0.1".to_owned()), ("=10259", format!("={secure}"))];
        let mut args = placed(&template.scheduler, "/etc/kube-scheduler", &folder, &ports)?;
        args.extend(["authentication", "authorization"].map(|what| format!("--{what}-kubeconfig={account}")));
        let program = plane.program("kube-scheduler");
        let mut scheduler = Process::spawn(plane.workspace(), "kube-scheduler", &program, args)?;
        let probe = HttpsProbe::new(secure, None)?;
        scheduler.wait_ready(READY_LIMIT, async |_| probe.get("/readyz").await).await?;
        Ok(Self { scheduler, berth, admin })
    }

    /// How many pods its Berth has bound: only the leader's has any to bind.
    pub async fn bound(&self) -> Result<f64> {
        let (status, page) = http_get::get(self.admin, "/metrics").await?;
        ensure!(status == 200, "metrics answers {status}");
        Ok(Metrics::parse(&page)?.sum("berth_bindings_total", &[("result", "bound")]))
    }

    /// As when its node is lost.
    pub fn kill(mut self) -> Result<()> {
        self.scheduler.kill()?;
        self.berth.kill()?;
        Ok(())
    }

    /// As when it is deleted: kube-scheduler first, then the sidecar.
    pub async fn stop(mut self) -> Result<()> {
        let limit = Duration::from_secs(30);
        self.scheduler.terminate(limit).await?;
        let exit = self.berth.terminate(limit).await?;
        ensure!(exit.success(), "Berth ended with {exit}");
        Ok(())
    }
}

/// The arguments with files in a folder of ours, and other ports. Everything to be replaced has to be there.
fn placed(args: &[String], mount: &str, folder: &Path, ports: &[(&str, String)]) -> Result<Vec<String>> {
    let mut text = args.join("\n");
    let folder = (mount, folder.display().to_string());
    for (from, to) in ports.iter().chain([&folder]) {
        ensure!(text.contains(from), "{from} is not in {args:?}");
        text = text.replace(from, to);
    }
    Ok(text.lines().map(str::to_owned).collect())
}
