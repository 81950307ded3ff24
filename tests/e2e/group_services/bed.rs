//! A cluster with sets, and Berths that may keep Services.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::exact::difference;
use crate::berth_process::BerthProcess;
use crate::controlplane::{BERTH, ControlPlane, Options, Scheduler};
use crate::fixtures::{
    LeaderWorkerSet, LeaderWorkerSetBuilder, create, create_all, leader_worker_set, service,
};
use crate::leader_worker_sets::racks::rack;
use crate::preemption::setup::Setup;
use crate::progress::report;
use crate::scheduling::berth;

/// What is shipped for it.
const RIGHTS: &str = include_str!("../../../deploy/kustomize/components/group-services/rbac.yaml");
const ON: &str = "replicaGroups: {services: {enabled: true}}\n";
const LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(200);

/// Asks for a Service for each group.
pub const ASKS: (&str, &str) = ("berth.dev/service-per-group", "true");

pub struct Bed<'a> {
    plane: &'a ControlPlane,
    pub client: Client,
    _scheduler: Scheduler,
}

impl Bed<'_> {
    /// Plays a scenario; kube-scheduler asks nobody, so that Berths may come and go.
    pub async fn play(scenario: impl AsyncFnOnce(&Bed<'_>) -> Result<()>) -> Result<()> {
        let options =
            Options { leader_worker_sets: true, limit: Duration::from_mins(8), ..Options::default() };
        ControlPlane::run(options, async |plane| {
            let client = plane.client();
            give_rights(&client).await?;
            create_all(&client, &rack("only", 20)).await?;
            let scheduler = plane.start_scheduler(&Setup::alone()?.scheduler, None).await?;
            let bed = Bed { plane, client, _scheduler: scheduler };
            Box::pin(scenario(&bed)).await
        })
        .await
    }

    /// A Berth that keeps Services.
    pub async fn start_berth(&self) -> Result<BerthProcess> {
        self.start_berth_with(ON).await
    }

    pub async fn start_berth_with(&self, sections: &str) -> Result<BerthProcess> {
        let head = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
        let file = self.plane.workspace().fresh_path("berth", "yaml");
        std::fs::write(&file, format!("{head}{sections}")).context("cannot write the configuration")?;
        self.plane.start_berth(berth().config(&file)).await
    }

    pub async fn arrive(&self, set: LeaderWorkerSetBuilder) -> Result<()> {
        create(&self.client, &set.pods(|pod| pod.cpu("10m")).build()).await.map(drop)
    }

    /// A set whose pods ask for Services.
    pub fn asking(name: &str, replicas: i32, size: i32) -> LeaderWorkerSetBuilder {
        leader_worker_set(name).annotation(ASKS.0, ASKS.1).replicas(replicas).size(size)
    }

    pub fn sets(&self) -> Api<LeaderWorkerSet> {
        Api::default_namespaced(self.client.clone())
    }

    pub fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.client.clone())
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    pub async fn scale(&self, set: &str, replicas: i32) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.sets().patch(set, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub async fn delete_set(&self, set: &str) -> Result<()> {
        self.sets().delete(set, &DeleteParams::background()).await?;
        Ok(())
    }

    /// Somebody's Service of that name; returns its version.
    pub async fn foreign(&self, name: &str) -> Result<String> {
        let made = create(&self.client, &service(name)).await?;
        made.resource_version().context("a version")
    }

    /// Waits until there are exactly the Services that there are to be, for so many groups, and each has exactly its group's
    /// pods as endpoints.
    pub async fn until_exact(&self, groups: usize) -> Result<()> {
        let started = Instant::now();
        loop {
            let found = difference(&self.client, Some(groups)).await?;
            match found {
                None => break,
                Some(wrong) => ensure!(started.elapsed() < LIMIT, "after {LIMIT:?}: {wrong}"),
            }
            sleep(POLL).await;
        }
        report(&format!("{groups} groups have their Services after {:.1?}", started.elapsed()));
        Ok(())
    }
}

/// The rights that are shipped, for the user that Berth is, whose namespace is the default one.
pub async fn give_rights(client: &Client) -> Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(RIGHTS).context("the shipped rights")?;
    for mut object in objects {
        if !object["subjects"].is_null() {
            object["subjects"] =
                json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BERTH}]);
        }
        let (kind, params) = (object["kind"].as_str().unwrap_or_default().to_owned(), PostParams::default());
        let namespaced = |meta: ObjectMeta| ObjectMeta { namespace: Some("default".to_owned()), ..meta };
        match &*kind {
            "ClusterRole" => {
                let role: ClusterRole = serde_json::from_value(object)?;
                Api::all(client.clone()).create(&params, &role).await?;
            }
            "ClusterRoleBinding" => {
                let binding: ClusterRoleBinding = serde_json::from_value(object)?;
                Api::all(client.clone()).create(&params, &binding).await?;
            }
            "Role" => {
                let mut role: Role = serde_json::from_value(object)?;
                role.metadata = namespaced(role.metadata);
                Api::default_namespaced(client.clone()).create(&params, &role).await?;
            }
            "RoleBinding" => {
                let mut binding: RoleBinding = serde_json::from_value(object)?;
                binding.metadata = namespaced(binding.metadata);
                Api::default_namespaced(client.clone()).create(&params, &binding).await?;
            }
            other => anyhow::bail!("what is a {other}?"),
        }
    }
    Ok(())
}
