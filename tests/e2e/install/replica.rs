//! One pod of a Deployment that is installed: its processes, as its manifest says. The kubelet's part is played here: files for
//! the volumes, the account's token, sidecars before the others, and probes.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::liveness::Liveness;
use super::rendering::{NAMESPACE, object, objects};
use crate::controlplane::{ControlPlane, HttpsProbe, Process, free_ports};
use crate::http_get;
use crate::metrics_text::Metrics;

const READY_LIMIT: Duration = Duration::from_mins(1);
/// Why filter answers with an error where a Berth is asked that is not ready, or broken.
const TOO_EARLY: [&str; 3] = ["CacheNotSynced", "CacheStale", "InternalError"];
/// What Berth and kube-scheduler are given to end by themselves.
const GRACE: Duration = Duration::from_secs(30);

/// The files of a volume, by name.
pub type Files = BTreeMap<String, String>;

/// What all replicas have in common.
#[derive(Clone)]
pub struct Template {
    spec: Value,
    volumes: BTreeMap<String, Files>,
    /// The account's kubeconfig.
    account: PathBuf,
    /// Where the Service of the verbs is reached, if there is one.
    service: Option<SocketAddr>,
}

impl Template {
    pub fn of(rendering: &str, account: PathBuf) -> Result<Self> {
        let deployment = object(rendering, "Deployment", "berth")?;
        let spec = deployment["spec"]["template"]["spec"].clone();
        ensure!(deployment["spec"]["replicas"] == 2, "the Deployment has not two replicas");
        ensure!(spec["serviceAccountName"] == "berth", "another account than the one whose token is used");
        let all = objects(rendering)?;
        let files = |volume: &Value| -> Result<Files> {
            let name = volume["configMap"]["name"].as_str().context("no ConfigMap")?;
            let map = all.iter().find(|map| map["kind"] == "ConfigMap" && map["metadata"]["name"] == name);
            let map = map.with_context(|| format!("no ConfigMap {name}"))?;
            ensure!(map["metadata"]["namespace"] == NAMESPACE);
            Ok(serde_json::from_value(map["data"].clone())?)
        };
        let mut volumes = BTreeMap::new();
        for volume in spec["volumes"].as_array().context("no volumes")? {
            volumes.insert(text(&volume["name"])?, files(volume)?);
        }
        Ok(Self::new(spec, volumes, account, None))
    }

    /// Of a pod's specification, and the files of its volumes.
    pub fn new(
        spec: Value,
        volumes: BTreeMap<String, Files>,
        account: PathBuf,
        service: Option<SocketAddr>,
    ) -> Self {
        Self { spec, volumes, account, service }
    }

    fn container(&self, list: &str, name: &str) -> Option<&Value> {
        self.spec[list].as_array()?.iter().find(|container| container["name"] == name)
    }
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().context("not a string")?.to_owned())
}

/// All processes are killed when it is dropped.
pub struct Replica {
    scheduler: Option<Scheduler>,
    berth: Option<Berth>,
}

struct Scheduler {
    process: Process,
    /// What it calls Berth by.
    extender: String,
    liveness: Liveness,
}

struct Berth {
    process: Process,
    verbs: SocketAddr,
    admin: SocketAddr,
    /// For how long it is left alone when its pod is deleted.
    lingers: Duration,
    liveness: Liveness,
}

impl Replica {
    /// Starts it, and waits until it is ready. All that differs from the manifest is what a network namespace and mounts of its
    /// own would bring: ports, and where files lie.
    pub async fn start(plane: &ControlPlane, template: &Template) -> Result<Self> {
        let [verbs, admin, secure] = free_ports()?;
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mounts = Mounts::make(plane, template, local(verbs))?;
        let sidecar = template.container("initContainers", "berth");
        if let Some(sidecar) = sidecar {
            ensure!(sidecar["restartPolicy"] == "Always", "Berth is not started before kube-scheduler");
        }
        let mut berth = None;
        if let Some(container) = sidecar.or_else(|| template.container("containers", "berth")) {
            let listen = if sidecar.is_some() { "127.0.0.1:8888" } else { "0.0.0.0:8888" };
            let ports = [(listen, local(verbs).to_string()), ("0.0.0.0:8889", local(admin).to_string())];
            let mut args = mounts.arguments(&container["args"], container, &ports)?;
            args.push(format!("--kubeconfig={}", template.account.display()));
            let program = crate::scheduling::berth().program;
            let mut process = Process::spawn(plane.workspace(), "berth", program, args)?;
            let ready = async |_: &Process| {
                let (status, body) = http_get::get(local(admin), "/readyz").await?;
                ensure!(status == 200, "{status}: {body}");
                Ok(())
            };
            process.wait_ready(READY_LIMIT, ready).await?;
            let lingers = container["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap_or(0);
            let lingers = Duration::from_secs(lingers);
            let liveness = Liveness::of(container, local(admin), secure)?;
            berth = Some(Berth { process, verbs: local(verbs), admin: local(admin), lingers, liveness });
        }
        let mut scheduler = None;
        if let Some(container) = template.container("containers", "kube-scheduler") {
            let ports = [("=0.0.0.0", "=127.0.0.1".to_owned()), ("=10259", format!("={secure}"))];
            let mut args = mounts.arguments(&container["command"], container, &ports)?.split_off(1);
            let account = template.account.display();
            args.extend(
                ["authentication", "authorization"].map(|what| format!("--{what}-kubeconfig={account}")),
            );
            let program = plane.program("kube-scheduler");
            let mut process = Process::spawn(plane.workspace(), "kube-scheduler", &program, args)?;
            let probe = HttpsProbe::new(secure, None)?;
            process.wait_ready(READY_LIMIT, async |_| probe.get("/readyz").await).await?;
            let extender = mounts.extender.context("kube-scheduler calls no Berth")?;
            let liveness = Liveness::of(container, local(admin), secure)?;
            scheduler = Some(Scheduler { process, extender, liveness });
        }
        ensure!(berth.is_some() || scheduler.is_some(), "a pod of neither Berth nor kube-scheduler");
        Ok(Self { scheduler, berth })
    }

    /// How many pods its Berth has bound: only the leader's has any to bind.
    pub async fn bound(&self) -> Result<f64> {
        let berth = self.berth.as_ref().context("there is no Berth in it")?;
        let (status, page) = http_get::get(berth.admin, "/metrics").await?;
        ensure!(status == 200, "metrics answers {status}");
        Ok(Metrics::parse(&page)?.sum("berth_bindings_total", &[("result", "bound")]))
    }

    /// Where its Berth tells its metrics.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.berth.as_ref().map(|berth| berth.admin)
    }

    /// Asks as the kubelet does by its liveness probes.
    pub fn liveness(&self) -> impl Iterator<Item = &Liveness> {
        let berth = self.berth.iter().map(|berth| &berth.liveness);
        berth.chain(self.scheduler.iter().map(|scheduler| &scheduler.liveness))
    }

    /// Where its Berth takes calls from outside of the pod.
    pub fn endpoint(&self) -> Option<SocketAddr> {
        self.berth.as_ref().filter(|_| self.scheduler.is_none()).map(|berth| berth.verbs)
    }

    /// For how long its processes are left alone when it is deleted.
    pub fn lingers(&self) -> Duration {
        self.berth.as_ref().map_or(Duration::ZERO, |berth| berth.lingers)
    }

    /// Calls of its kube-scheduler that Berth has not answered as it should, as kube-scheduler tells them in its log.
    pub fn failed_calls(&self) -> Vec<String> {
        let Some(Scheduler { process, extender, .. }) = &self.scheduler else { return Vec::new() };
        let called = format!("{extender}/");
        process.log().lines().filter(|line| line.contains(&called)).map(str::to_owned).collect()
    }

    /// As when its node is lost.
    pub fn kill(mut self) -> Result<()> {
        for process in self.processes() {
            process.kill()?;
        }
        Ok(())
    }

    /// As when it is deleted: kube-scheduler first, then the sidecar.
    pub async fn stop(mut self) -> Result<()> {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.process.terminate(GRACE).await?;
        }
        if let Some(berth) = &mut self.berth {
            let exit = berth.process.terminate(GRACE).await?;
            ensure!(exit.success(), "Berth ended with {exit}");
        }
        Ok(())
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let scheduler = self.scheduler.iter_mut().map(|scheduler| &mut scheduler.process);
        scheduler.chain(self.berth.iter_mut().map(|berth| &mut berth.process))
    }
}

/// How many calls a Berth has answered with an error because it was asked before it was ready, or was broken.
pub async fn asked_too_early(admin: SocketAddr) -> Result<f64> {
    let (status, page) = http_get::get(admin, "/metrics").await?;
    ensure!(status == 200, "metrics answers {status}");
    let metrics = Metrics::parse(&page)?;
    Ok(TOO_EARLY.into_iter().map(|reason| metrics.sum("berth_undecided_total", &[("reason", reason)])).sum())
}

/// Where the files of one replica lie.
struct Mounts {
    folder: PathBuf,
    /// By what kube-scheduler calls Berth, if it has a configuration.
    extender: Option<String>,
}

impl Mounts {
    /// Writes the files of all volumes; they name each other, and ports, as they are here.
    fn make(plane: &ControlPlane, template: &Template, verbs: SocketAddr) -> Result<Self> {
        let folder = plane.workspace().fresh_path("replica", "d");
        let mut made = Self { folder, extender: None };
        let mounts: Vec<&Value> = ["initContainers", "containers"]
            .iter()
            .flat_map(|list| template.spec[*list].as_array().into_iter().flatten())
            .flat_map(|container| container["volumeMounts"].as_array().into_iter().flatten())
            .collect();
        for (volume, files) in &template.volumes {
            fs::create_dir_all(made.folder.join(volume))?;
            for (name, content) in files {
                let mut content = content.clone();
                for mount in &mounts {
                    let (path, volume) = (text(&mount["mountPath"])?, text(&mount["name"])?);
                    content =
                        content.replace(&format!("{path}/"), &format!("{}/", made.path(&volume).display()));
                }
                if name == "kube-scheduler-config.yaml" {
                    let (from, to) = match template.service {
                        Some(service) => {
                            ("https://berth.berth-system.svc:8888", format!("https://{service}"))
                        }
                        None => ("http://127.0.0.1:8888", format!("http://{verbs}")),
                    };
                    ensure!(content.contains(from), "kube-scheduler does not call Berth at {from}");
                    content = content.replace(from, &to);
                    let account = template.account.display();
                    content = format!("{content}\nclientConnection:\n  kubeconfig: {account}\n");
                    made.extender = Some(to);
                }
                fs::write(made.folder.join(volume).join(name), content)?;
            }
        }
        Ok(made)
    }

    fn path(&self, volume: &str) -> PathBuf {
        Path::new(&self.folder).join(volume)
    }

    /// A container's arguments with files where they are, and other ports. Everything to be replaced has to be there.
    fn arguments(&self, args: &Value, container: &Value, ports: &[(&str, String)]) -> Result<Vec<String>> {
        let args: Vec<String> = serde_json::from_value(args.clone())?;
        let mut line = args.join("\n");
        for (from, to) in ports {
            ensure!(line.contains(from), "{from} is not in {args:?}");
            line = line.replace(from, to);
        }
        let before = line.clone();
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            let folder = self.path(&text(&mount["name"])?);
            line =
                line.replace(&format!("{}/", text(&mount["mountPath"])?), &format!("{}/", folder.display()));
        }
        ensure!(line != before, "no file of a volume is named in {args:?}");
        Ok(line.lines().map(str::to_owned).collect())
    }
}
