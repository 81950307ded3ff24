//! kube-scheduler's rights: without any one of the roles that the manifests bind for it, something fails that people can see.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::account::kubeconfig_of;
use super::rendering::{NAMESPACE, kustomized, objects};
use crate::controlplane::{Binaries, ControlPlane, Options, Process, free_ports};
use crate::fixtures::{create, node, pod};
use crate::preemption::play::until;
use crate::progress::report;

/// Many times as long as a kube-scheduler with all rights takes.
const SETTLED: Duration = Duration::from_secs(8);

/// What a kube-scheduler gets done.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// A pod is bound, which takes the lease too.
    places: bool,
    /// A volume that waits for its first pod is taken for it.
    takes_volumes: bool,
    /// It knows how callers of its own port show who they are.
    knows_callers: bool,
}

impl Seen {
    fn is_as_much_as(&self, expected: &Self) -> bool {
        (self.places || !expected.places)
            && (self.takes_volumes || !expected.takes_volumes)
            && (self.knows_callers || !expected.knows_callers)
    }
}

const ALL: Seen = Seen { places: true, takes_volumes: true, knows_callers: true };

/// One right that the manifests give, and what fails without it.
fn trials(shipped: &[Value]) -> Result<Vec<(String, Seen)>> {
    let mut trials = Vec::new();
    for object in shipped.iter().filter(|object| is_for_the_scheduler(object)) {
        let name = object["metadata"]["name"].as_str().context("no name")?.to_owned();
        if object["kind"] == "Role" {
            let verbs = object["rules"][0]["verbs"].as_array().context("no verbs")?;
            ensure!(object["rules"].as_array().is_some_and(|rules| rules.len() == 1), "more than one rule");
            let nothing = || Seen { places: false, takes_volumes: false, ..ALL };
            trials.extend(verbs.iter().filter_map(Value::as_str).map(|verb| (verb.to_owned(), nothing())));
            continue;
        }
        let fails = match object["roleRef"]["name"].as_str().unwrap_or_default() {
            // It does not begin before it has listed everything, storage classes included.
            "system:kube-scheduler" | "system:volume-scheduler" => {
                Seen { places: false, takes_volumes: false, ..ALL }
            }
            "extension-apiserver-authentication-reader" => Seen { knows_callers: false, ..ALL },
            // Its role is taken apart verb by verb.
            "berth:leader-election" => continue,
            other => anyhow::bail!("no test knows what {other} is for"),
        };
        trials.push((name, fails));
    }
    Ok(trials)
}

/// What Berth itself is given is taken apart elsewhere.
fn is_for_the_scheduler(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    matches!(kind, "ClusterRoleBinding" | "RoleBinding" | "Role") && name.starts_with("berth:")
}

#[tokio::test]
async fn kube_scheduler_needs_each_of_its_rights() -> Result<()> {
    let shipped = objects(&kustomized(&Binaries::locate().await?, "second-scheduler")?)?;
    let trials = trials(&shipped)?;
    let names: BTreeSet<_> = trials.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names.len() == 5, "the manifests give kube-scheduler other rights than those tried: {names:?}");
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let client = plane.client();
        create(&client, &node("only").cpu("8").build()).await?;

        let whole = Box::pin(Trial::prepare(plane, &shipped, "all", None)).await?;
        let scheduler = whole.start(plane)?;
        until("a kube-scheduler with all rights to do its work", async || {
            Ok(whole.seen(plane, &scheduler).await? == ALL)
        })
        .await?;
        let plane: &ControlPlane = plane;
        let shipped = &shipped;
        try_join_all(trials.iter().enumerate().map(async |(at, (right, expected))| {
            let name = format!("without-{at}");
            let trial = Box::pin(Trial::prepare(plane, shipped, &name, Some(right))).await?;
            let scheduler = trial.start(plane)?;
            // What it can do still, it has done; then what it cannot do has had its time.
            until("a kube-scheduler without one right to do the rest", async || {
                Ok(trial.seen(plane, &scheduler).await?.is_as_much_as(expected))
            })
            .await?;
            tokio::time::sleep(SETTLED).await;
            let seen = trial.seen(plane, &scheduler).await?;
            ensure!(seen == *expected, "without {right}: {seen:?}, not {expected:?}");
            report(&format!("without {right}: {seen:?}"));
            anyhow::Ok(())
        }))
        .await?;
        Ok(())
    })
    .await
}

/// A kube-scheduler with a namespace, an account, a lease and pods of its own.
struct Trial {
    name: String,
    kubeconfig: std::path::PathBuf,
}

impl Trial {
    /// Gives an account everything that is shipped, but for one right.
    async fn prepare(
        plane: &ControlPlane,
        shipped: &[Value],
        name: &str,
        missing: Option<&str>,
    ) -> Result<Self> {
        let client = plane.client();
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        create(&client, &namespace).await?;
        let account = serde_json::from_value(json!({"metadata": {"name": name, "namespace": name}}))?;
        create::<k8s_openapi::api::core::v1::ServiceAccount>(&client, &account).await?;
        for object in shipped.iter().filter(|object| is_for_the_scheduler(object)) {
            if missing == object["metadata"]["name"].as_str() {
                continue;
            }
            let mut object = object.clone();
            // What is in all namespaces or in kube-system gets a name of its own, what is beside the lease its namespace.
            if object["metadata"]["namespace"] == NAMESPACE {
                object["metadata"]["namespace"] = name.into();
            } else {
                object["metadata"]["name"] =
                    format!("{}-{name}", object["metadata"]["name"]).replace('"', "").into();
            }
            if object["kind"] == "Role" {
                let verbs = object["rules"][0]["verbs"].as_array_mut().context("no verbs")?;
                verbs.retain(|verb| verb.as_str() != missing);
                create::<Role>(&client, &serde_json::from_value(object)?).await?;
                continue;
            }
            object["subjects"] = json!([{"kind": "ServiceAccount", "name": name, "namespace": name}]);
            if object["kind"] == "RoleBinding" {
                create::<RoleBinding>(&client, &serde_json::from_value(object)?).await?;
            } else {
                create::<ClusterRoleBinding>(&client, &serde_json::from_value(object)?).await?;
            }
        }
        // Given back by a leader that was told to go, as most of the time: to take it is an update.
        let lease = json!({"metadata": {"name": "berth", "namespace": name}, "spec": {"holderIdentity": "",
            "leaseDurationSeconds": 1, "leaseTransitions": 1}});
        create::<Lease>(&client, &serde_json::from_value(lease)?).await?;
        // Of a class of its own, or another kube-scheduler would take it.
        let class: StorageClass = serde_json::from_value(json!({"metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}))?;
        create(&client, &class).await?;
        let volume = json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "storageClassName": name, "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
                [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["only"]}]}]}}}});
        create::<PersistentVolume>(&client, &serde_json::from_value(volume)?).await?;
        // As the controller says it, which does not run here; others are not taken.
        let available = Patch::Merge(json!({"status": {"phase": "Available"}}));
        let volumes: Api<PersistentVolume> = Api::all(client.clone());
        volumes.patch_status(name, &PatchParams::default(), &available).await?;
        let claim = json!({"metadata": {"name": "data", "namespace": name}, "spec": {"storageClassName": name,
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        create::<PersistentVolumeClaim>(&client, &serde_json::from_value(claim)?).await?;
        for (pod_name, claim) in [("plain", None), ("bulky", Some("data"))] {
            let mut pod = pod(pod_name).cpu("100m").scheduler(name);
            if let Some(claim) = claim {
                pod = pod.claim(claim);
            }
            let mut pod = pod.build();
            pod.metadata.namespace = Some(name.to_owned());
            create(&client, &pod).await?;
        }
        Ok(Self { name: name.to_owned(), kubeconfig: kubeconfig_of(plane, name, name).await? })
    }

    fn start(&self, plane: &ControlPlane) -> Result<Process> {
        let (name, account) = (&self.name, self.kubeconfig.display());
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection:\n  \
             leaderElect: true\n  resourceName: berth\n  resourceNamespace: {name}\nprofiles:\n- schedulerName: {name}\n\
             clientConnection:\n  kubeconfig: {account}\n"
        );
        let config = plane.workspace().write(&format!("scheduler-{name}.yaml"), &config)?;
        let [port] = free_ports()?;
        let args = [
            format!("--config={}", config.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--authentication-kubeconfig={account}"),
            format!("--authorization-kubeconfig={account}"),
        ];
        Process::spawn(plane.workspace(), "kube-scheduler", &plane.program("kube-scheduler"), args)
    }

    async fn seen(&self, plane: &ControlPlane, scheduler: &Process) -> Result<Seen> {
        let plain = Api::<Pod>::namespaced(plane.client(), &self.name).get("plain").await?;
        let volume = Api::<PersistentVolume>::all(plane.client()).get(&self.name).await?;
        Ok(Seen {
            places: plain.spec.is_some_and(|spec| spec.node_name.is_some()),
            takes_volumes: volume.spec.is_some_and(|spec| spec.claim_ref.is_some()),
            knows_callers: !scheduler.log().contains("extension-apiserver-authentication in kube-system"),
        })
    }
}
