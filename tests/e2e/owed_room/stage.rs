//! A cluster of racks, one or more Berths, and a kube-scheduler that can be pointed from one to another.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Options, Scheduler};
use crate::fixtures::{BindingsWatch, create_all};
use crate::leader_worker_sets::groups::{Group, Groups, Racks};
use crate::leader_worker_sets::history::ensure_never_apart;
use crate::preemption::play::until;
use crate::preemption::setup::Setup;
use crate::progress::report;
use crate::scheduling::{SHIPPED, berth};

const MINUTE: Duration = Duration::from_mins(1);

/// The processes end with it.
pub struct Stage<'a> {
    plane: &'a ControlPlane,
    pub client: Client,
    pub watch: BindingsWatch,
    racks: Racks,
    config: PathBuf,
    scheduler: Option<Scheduler>,
}

impl Stage<'_> {
    /// Plays a scenario on these nodes, with Berths that have these sections in their configuration. None runs yet.
    pub async fn play(
        sections: &str,
        nodes: Vec<Node>,
        scenario: impl AsyncFnOnce(&mut Stage<'_>) -> Result<()>,
    ) -> Result<()> {
        // Nobody but the scenario creates pods, or deletes those whose owner is not there.
        let options = Options { controllers: false, ..Options::default() };
        ControlPlane::run(options, async |plane| {
            let client = plane.client();
            create_all(&client, &nodes).await?;
            let watch = BindingsWatch::start(&client).await?;
            let config = Setup::shipped(sections).berth.unwrap_or_default();
            let config = plane.workspace().write("berth.yaml", &config)?;
            let racks = Racks::of(&nodes);
            let mut stage = Stage { plane, client, watch, racks, config, scheduler: None };
            Box::pin(scenario(&mut stage)).await?;
            stage.watch.ensure_bound_once()?;
            stage.ensure_never_apart()
        })
        .await
    }

    pub async fn start_berth(&self) -> Result<BerthProcess> {
        self.plane.start_berth(berth().config(&self.config)).await
    }

    /// From now on this one is asked: another kube-scheduler leads.
    pub async fn let_lead(&mut self, leader: &BerthProcess) -> Result<()> {
        if let Some(predecessor) = self.scheduler.take() {
            predecessor.stop()?;
        }
        self.scheduler = Some(self.plane.start_scheduler(SHIPPED, Some(&leader.url())).await?);
        Ok(())
    }

    /// Creates pods as the controllers of their groups would, one at a time: no controller runs here.
    pub async fn arrive(&self, pods: &[Pod]) -> Result<()> {
        let mut pods = pods.to_vec();
        for pod in &mut pods {
            let Some(set) = stateful_set_of(pod) else { continue };
            let sets: Api<StatefulSet> = Api::default_namespaced(self.client.clone());
            let name = set.metadata.name.clone().unwrap_or_default();
            match sets.create(&PostParams::default(), &set).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                created => drop(created?),
            }
            pod.metadata.owner_references = Some(vec![OwnerReference {
                api_version: "apps/v1".to_owned(),
                kind: "StatefulSet".to_owned(),
                uid: name.clone(),
                name,
                controller: Some(true),
                ..OwnerReference::default()
            }]);
        }
        create_all(&self.client, &pods).await
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    /// As if its kubelet were gone.
    pub async fn destroy_pod(&self, name: &str) -> Result<()> {
        self.pods().delete(name, &DeleteParams::default().grace_period(0)).await?;
        Ok(())
    }

    pub fn node_of(&self, pod: &str) -> Option<String> {
        self.watch.node_of(&format!("default/{pod}"))
    }

    pub async fn landed(&self, pod: &str) -> Result<String> {
        self.watch.wait_for(&format!("{pod} to be bound"), MINUTE, |_| self.node_of(pod).is_some()).await?;
        self.node_of(pod).context("it is gone again")
    }

    pub fn group(&self, name: &str) -> Result<Group> {
        Groups::of(self.watch.pods(), &self.racks).get(name).cloned()
    }

    /// Waits until a group has so many members in place, in one rack, and returns the rack. Fails at once if it is
    /// torn apart.
    pub async fn in_place(&self, group: &str, members: usize) -> Result<String> {
        let reached = |_: &BindingsWatch| {
            let bound = self.group(group).map_or(0, |group| group.bound.len());
            bound == members || self.ensure_never_apart().is_err()
        };
        self.watch.wait_for(&format!("{members} members of {group}"), MINUTE, reached).await?;
        self.ensure_never_apart()?;
        let group = self.group(group)?;
        let rack = group.racks().first().context("the group is nowhere")?.to_string();
        Ok(rack)
    }

    /// Waits until kube-scheduler has found no place for each of these pods.
    pub async fn turned_away(&self, pods: &[Pod]) -> Result<()> {
        for pod in pods {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            until(&format!("{name} to be turned away"), async || {
                self.ensure_unplaced(pods)?;
                let pod = self.pods().get(name).await?;
                let conditions = pod.status.and_then(|status| status.conditions).unwrap_or_default();
                let failed = |kind: &str, status: &str| kind == "PodScheduled" && status == "False";
                Ok(conditions.iter().any(|condition| failed(&condition.type_, &condition.status)))
            })
            .await?;
        }
        self.ensure_unplaced(pods)
    }

    pub fn ensure_unplaced(&self, pods: &[Pod]) -> Result<()> {
        for pod in pods {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let node = self.node_of(name);
            ensure!(node.is_none(), "{name} is on {node:?}, which is kept for a group");
        }
        Ok(())
    }

    /// How often the kube-scheduler that leads now found no place for a pod.
    pub async fn rejections(&self) -> Result<f64> {
        let scheduler = self.scheduler.as_ref().context("nobody leads")?;
        let metrics = crate::metrics_text::Metrics::parse(&scheduler.metrics().await?)?;
        Ok(metrics.sum("scheduler_schedule_attempts_total", &[("result", "unschedulable")]))
    }

    /// Waits until the kube-scheduler that leads now has found no place for a pod so many times.
    pub async fn until_rejections(&self, count: f64) -> Result<()> {
        until(&format!("{count} rejections"), async || Ok(self.rejections().await? >= count)).await
    }

    fn ensure_never_apart(&self) -> Result<()> {
        ensure_never_apart(&self.watch.transitions(), &self.racks)
    }
}

/// How many slots a Berth keeps.
pub async fn slots(berth: &BerthProcess) -> Result<f64> {
    berth.metric_sum("berth_reserved_slots", &[]).await
}

/// Waits until a Berth keeps so many slots.
pub async fn until_slots(berth: &BerthProcess, count: f64) -> Result<()> {
    until(&format!("{count} slots"), async || Ok(slots(berth).await? == count)).await?;
    report(&format!("{count} slots are kept"));
    Ok(())
}

/// How many reservations of a Berth have ended in this way.
pub async fn ended(berth: &BerthProcess, how: &str) -> Result<f64> {
    berth.metric_sum("berth_reservations_ended_total", &[("how", how)]).await
}

/// The stateful set of as many pods as the group of a member has: it tells what those ask for that do not exist yet.
fn stateful_set_of(pod: &Pod) -> Option<StatefulSet> {
    let said = pod.metadata.annotations.as_ref()?;
    let (group, size) =
        (said.get("berth.dev/group")?, said.get("berth.dev/group-size")?.parse::<u32>().ok()?);
    let labels = json!({"group": group});
    serde_json::from_value(json!({"metadata": {"name": group}, "spec": {"serviceName": group, "replicas": size,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}}}))
    .ok()
}
