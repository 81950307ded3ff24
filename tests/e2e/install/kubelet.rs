//! A kubelet for the pods that are installed: it starts their processes, says that they are ready, and stops them when the pods
//! are deleted. The pods are bound to no node, so that kwok leaves them alone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::liveness::Liveness;
use super::rendering::NAMESPACE;
use super::replica::{Files, Replica, Template, asked_too_early};
use super::service::Service;
use crate::controlplane::ControlPlane;
use crate::progress::report;

const PERIOD: Duration = Duration::from_millis(100);
/// Until every kube-proxy has heard that a pod is deleted.
const PROXY_LAG: Duration = Duration::from_secs(1);

pub struct Kubelet<'a> {
    plane: &'a ControlPlane,
    /// Kubeconfigs by service account.
    accounts: BTreeMap<String, PathBuf>,
    /// Where the Service of the verbs is reached, if there is one.
    service: Option<&'a Service>,
    running: RefCell<BTreeMap<String, Replica>>,
    leaving: RefCell<Vec<(Instant, Replica)>>,
    failed_calls: RefCell<Vec<String>>,
    /// Of replicas that are gone.
    asked_too_early: Cell<f64>,
    is_out: Cell<bool>,
}

impl<'a> Kubelet<'a> {
    pub fn new(
        plane: &'a ControlPlane,
        accounts: BTreeMap<String, PathBuf>,
        service: Option<&'a Service>,
    ) -> Self {
        Self {
            plane,
            accounts,
            service,
            running: RefCell::default(),
            leaving: RefCell::default(),
            failed_calls: RefCell::default(),
            asked_too_early: Cell::default(),
            is_out: Cell::new(false),
        }
    }

    /// Goes on until something fails.
    pub async fn run(&self) -> Result<Infallible> {
        loop {
            self.sync().await?;
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Kills every Berth that has a pod of its own, and starts none until [`Kubelet::end_outage`].
    pub fn begin_outage(&self) -> Result<()> {
        self.is_out.set(true);
        let berths: Vec<String> = self
            .running
            .borrow()
            .iter()
            .filter(|(_, replica)| replica.endpoint().is_some())
            .map(|(pod, _)| pod.clone())
            .collect();
        for pod in berths {
            let replica = self.running.borrow_mut().remove(&pod);
            replica.context("it is gone already")?.kill()?;
        }
        self.publish_endpoints();
        Ok(())
    }

    pub fn end_outage(&self) {
        self.is_out.set(false);
    }

    /// Calls of any kube-scheduler so far that Berth has not answered as it should.
    pub fn failed_calls(&self) -> Vec<String> {
        let mut all = self.failed_calls.borrow().clone();
        let leaving = self.leaving.borrow();
        let running = self.running.borrow();
        let replicas = running.values().chain(leaving.iter().map(|(_, replica)| replica));
        all.extend(replicas.flat_map(Replica::failed_calls));
        all
    }

    /// Calls of any kube-scheduler so far that a Berth has answered with an error because it was asked before it was ready, or
    /// was broken. kube-scheduler's log does not tell them from others.
    pub async fn asked_too_early(&self) -> Result<f64> {
        let admins: Vec<SocketAddr> = {
            let (running, leaving) = (self.running.borrow(), self.leaving.borrow());
            let replicas = running.values().chain(leaving.iter().map(|(_, replica)| replica));
            replicas.filter_map(Replica::admin).collect()
        };
        let mut all = self.asked_too_early.get();
        for admin in admins {
            all += asked_too_early(admin).await?;
        }
        Ok(all)
    }

    /// What the kubelet would start anew is a failure here: no probe may fail while everything is as it should be.
    async fn ask_whether_they_live(&self) -> Result<()> {
        let probes: Vec<(String, Liveness)> = {
            let running = self.running.borrow();
            let probes =
                running.iter().flat_map(|(pod, replica)| replica.liveness().map(move |one| (pod, one)));
            probes.map(|(pod, one)| (pod.clone(), one.clone())).collect()
        };
        for (pod, probe) in probes {
            probe.ask().await.context(pod)?;
        }
        Ok(())
    }

    async fn sync(&self) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.plane.client(), NAMESPACE);
        let listed = pods.list(&ListParams::default()).await?.items;
        let listed: BTreeMap<String, Pod> = listed.into_iter().map(|pod| (pod.name_any(), pod)).collect();
        let gone: Vec<String> =
            self.running.borrow().keys().filter(|name| !listed.contains_key(*name)).cloned().collect();
        for name in gone {
            let replica = self.running.borrow_mut().remove(&name).context("it is gone already")?;
            report(&format!("{name} is deleted"));
            self.leaving.borrow_mut().push((Instant::now(), replica));
        }
        self.stop_who_has_lingered().await?;
        self.ask_whether_they_live().await?;
        self.publish_endpoints();
        for (name, pod) in &listed {
            if self.running.borrow().contains_key(name) {
                continue;
            }
            let Some(template) = self.template(pod).await? else { continue };
            let replica = Replica::start(self.plane, &template).await?;
            self.running.borrow_mut().insert(name.clone(), replica);
            self.publish_endpoints();
            let status = json!({"status": {"phase": "Running", "conditions": [
                {"type": "ContainersReady", "status": "True"}, {"type": "Ready", "status": "True"}]}});
            match pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await {
                Ok(_) => report(&format!("{name} is ready")),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn stop_who_has_lingered(&self) -> Result<()> {
        loop {
            let next = {
                let mut leaving = self.leaving.borrow_mut();
                let over = leaving.iter().position(|(since, replica)| since.elapsed() >= replica.lingers());
                over.map(|at| leaving.remove(at).1)
            };
            let Some(replica) = next else { return Ok(()) };
            if let Some(admin) = replica.admin() {
                self.asked_too_early.set(self.asked_too_early.get() + asked_too_early(admin).await?);
            }
            self.failed_calls.borrow_mut().extend(replica.failed_calls());
            replica.stop().await?;
        }
    }

    /// What kube-proxies know of Berths that are ready.
    fn publish_endpoints(&self) {
        let Some(service) = self.service else { return };
        let running = self.running.borrow();
        let leaving = self.leaving.borrow();
        let unheard = leaving.iter().filter(|(since, _)| since.elapsed() < PROXY_LAG);
        let replicas = running.values().chain(unheard.map(|(_, replica)| replica));
        service.publish(replicas.filter_map(Replica::endpoint).collect::<Vec<SocketAddr>>());
    }

    /// `None` while its processes are not to be started.
    async fn template(&self, pod: &Pod) -> Result<Option<Template>> {
        let spec = serde_json::to_value(&pod.spec)?;
        if self.is_out.get() && spec["containers"][0]["name"] == "berth" {
            return Ok(None);
        }
        let account = spec["serviceAccountName"].as_str().unwrap_or_default();
        let account = self.accounts.get(account).with_context(|| format!("no account {account}"))?;
        let mut volumes = BTreeMap::new();
        for volume in spec["volumes"].as_array().into_iter().flatten() {
            let name = volume["name"].as_str().context("a volume without a name")?;
            volumes.insert(name.to_owned(), self.files(volume).await?);
        }
        let service = self.service.map(Service::address);
        Ok(Some(Template::new(spec, volumes, account.clone(), service)))
    }

    async fn files(&self, volume: &Value) -> Result<Files> {
        let client = self.plane.client();
        if let Some(name) = volume["configMap"]["name"].as_str() {
            let map = Api::<ConfigMap>::namespaced(client, NAMESPACE).get(name).await?;
            return Ok(map.data.unwrap_or_default());
        }
        let name = volume["secret"]["secretName"].as_str().context("a volume of another kind")?;
        let secret = Api::<Secret>::namespaced(client, NAMESPACE).get(name).await?;
        let data = secret.data.unwrap_or_default();
        data.into_iter().map(|(file, content)| Ok((file, String::from_utf8(content.0)?))).collect()
    }
}
