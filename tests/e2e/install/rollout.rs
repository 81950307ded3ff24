//! The chart is installed, upgraded and rolled back by helm while pods are being scheduled, and no call fails.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret, ServiceAccount};
use serde_json::json;
use tokio::process::Command;

use super::account::kubeconfig_of;
use super::kubelet::Kubelet;
use super::rendering::{NAMESPACE, deploy};
use super::service::Service;
use crate::controlplane::{ControlPlane, Identity, Options};
use crate::fixtures::{BindingsWatch, create, create_all, node, pods};
use crate::leader_worker_sets::groups::{Groups, Racks};
use crate::leader_worker_sets::history::ensure_never_apart;
use crate::leader_worker_sets::racks::rack;
use crate::owed_room::members::member_of;
use crate::progress::report;

const SIZE: usize = 3;
const SINGLES: usize = 6;
/// One group and some single pods each, while the rollouts go on.
const BATCHES: usize = 60;
const PERIOD: Duration = Duration::from_millis(700);
const MINUTE: Duration = Duration::from_mins(1);

/// The chart as one release, installed with these values.
struct Chart<'a> {
    plane: &'a ControlPlane,
    values: &'a [&'a str],
}

impl Chart<'_> {
    async fn install(&self, tag: &str) -> Result<()> {
        let chart = deploy("helm/berth").display().to_string();
        let mut args = ["upgrade", "--install", "berth", &chart].map(str::to_owned).to_vec();
        let tag = format!("image.tag={tag}");
        for value in self.values.iter().copied().chain([tag.as_str()]) {
            args.extend(["--set".to_owned(), value.to_owned()]);
        }
        self.helm(args).await
    }

    async fn roll_back(&self) -> Result<()> {
        self.helm(["rollback", "berth", "1"].map(str::to_owned).to_vec()).await
    }

    /// helm waits until all replicas are new and ready.
    async fn helm(&self, mut args: Vec<String>) -> Result<()> {
        let (what, started) = (args[0].clone(), Instant::now());
        args.extend(["--wait", "--timeout=2m", "--namespace", NAMESPACE].map(str::to_owned));
        args.push(format!("--kubeconfig={}", self.plane.kubeconfig().display()));
        let output = Command::new(self.plane.program("helm")).args(&args).output().await?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helm {what}: {complaint}");
        report(&format!("helm {what} took {:.1?}", started.elapsed()));
        Ok(())
    }
}

fn cluster() -> Vec<Node> {
    let plain = |at| node(&format!("plain-{at}")).label("pool", "plain").build();
    (0..BATCHES).flat_map(|at| rack(&format!("rack{at}"), SIZE)).chain((0..20).map(plain)).collect()
}

fn batch(number: usize) -> Vec<Pod> {
    let group = format!("g{number}");
    let members = (0..SIZE).map(|at| member_of(&group, at, SIZE).scheduler("berth").build());
    let singles = pods(&format!("single-{number}"), SINGLES, |pod| {
        pod.cpu("100m").node_selector("pool", "plain").scheduler("berth")
    });
    members.chain(singles).collect()
}

/// Has pods to be scheduled until told to stop; answers how many batches there were.
async fn load(plane: &ControlPlane, is_over: &Cell<bool>) -> Result<usize> {
    let client = plane.client();
    let mut batches = 0;
    while !is_over.get() {
        ensure!(batches < BATCHES, "the rollouts take longer than there is room for pods");
        create_all(&client, &batch(batches)).await?;
        batches += 1;
        tokio::time::sleep(PERIOD).await;
    }
    Ok(batches)
}

/// Accounts that the chart takes over, so that their tokens are there before their pods are.
async fn accounts(plane: &ControlPlane, names: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
    let client = plane.client();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    create(&client, &namespace).await?;
    let mut kubeconfigs = BTreeMap::new();
    for name in names {
        let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": name,
            "namespace": NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "berth", "meta.helm.sh/release-namespace": NAMESPACE}}}))?;
        create(&client, &account).await?;
        kubeconfigs.insert((*name).to_owned(), kubeconfig_of(plane, NAMESPACE, name).await?);
    }
    Ok(kubeconfigs)
}

/// Upgrades and rolls back under load, until everything is bound; answers how many pods that were.
async fn roll(plane: &ControlPlane, chart: &Chart<'_>, watch: &BindingsWatch) -> Result<usize> {
    let is_over = Cell::new(false);
    let rollouts = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        chart.install("two").await?;
        chart.roll_back().await?;
        // Who is told to go last goes while there is still something to do.
        tokio::time::sleep(Duration::from_secs(8)).await;
        is_over.set(true);
        anyhow::Ok(())
    };
    let (batches, ()) = tokio::try_join!(load(plane, &is_over), rollouts)?;
    let created = batches * (SIZE + SINGLES);
    watch.wait_until_bound(created, 2 * MINUTE).await?;
    report(&format!("{batches} groups and {} single pods were bound meanwhile", batches * SINGLES));
    Ok(created)
}

fn ensure_in_order(watch: &BindingsWatch, nodes: &[Node], groups: usize) -> Result<()> {
    let racks = Racks::of(nodes);
    watch.ensure_bound_once()?;
    ensure_never_apart(&watch.transitions(), &racks)?;
    ensure!(Groups::of(watch.pods(), &racks).are_whole(groups, SIZE), "not all groups are whole");
    Ok(())
}

/// The kubelet works while the story goes on.
async fn beside(kubelet: &Kubelet<'_>, story: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::select! {
        end = kubelet.run() => match end? {},
        told = story => told,
    }
}

#[tokio::test]
async fn the_second_scheduler_is_upgraded_and_rolled_back_without_a_failed_call() -> Result<()> {
    let options = Options { limit: 6 * MINUTE, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let plane: &ControlPlane = plane;
        let nodes = cluster();
        create_all(&plane.client(), &nodes).await?;
        let watch = BindingsWatch::start(&plane.client()).await?;
        let kubelet = Kubelet::new(plane, accounts(plane, &["berth"]).await?, None);
        // What kube-scheduler swallows, it tells at this level.
        let chart = Chart { plane, values: &["kubeScheduler.extraArgs[0]=--v=5"] };
        Box::pin(beside(&kubelet, async {
            chart.install("one").await?;
            let created = roll(plane, &chart, &watch).await?;
            ensure_in_order(&watch, &nodes, created / (SIZE + SINGLES))?;
            let failed = kubelet.failed_calls();
            ensure!(failed.is_empty(), "{} calls failed: {:?}", failed.len(), failed.first());
            let too_early = kubelet.asked_too_early().await?;
            ensure!(too_early == 0.0, "{too_early} calls came to a Berth that was not ready, or broke it");
            Ok(())
        }))
        .await
    })
    .await
}

fn secret(name: &str, identity: &Identity, authority: &str) -> Result<Secret> {
    let read = |path: &PathBuf| std::fs::read_to_string(path);
    let (certificate, key) = (read(&identity.certificate)?, read(&identity.key)?);
    Ok(serde_json::from_value(json!({"metadata": {"name": name, "namespace": NAMESPACE},
        "stringData": {"tls.crt": certificate, "tls.key": key, "ca.crt": authority}}))?)
}

#[tokio::test]
async fn a_remote_berth_is_upgraded_and_rolled_back_without_a_failed_call_and_comes_back_after_a_minute()
-> Result<()> {
    let options = Options { limit: 8 * MINUTE, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let plane: &ControlPlane = plane;
        let client = plane.client();
        let nodes = cluster();
        create_all(&client, &nodes).await?;
        let watch = BindingsWatch::start(&client).await?;
        let accounts = accounts(plane, &["berth", "berth-kube-scheduler"]).await?;
        let authority = std::fs::read_to_string(&plane.authority().certificate)?;
        for name in ["server", "client"] {
            let identity = plane.authority().issue(plane.workspace(), name)?;
            create(&client, &secret(name, &identity, &authority)?).await?;
        }
        let service = Service::start().await?;
        let kubelet = Kubelet::new(plane, accounts, Some(&service));
        let values = [
            "mode=remote",
            "tls.secretName=server",
            "tls.clientSecretName=client",
            "kubeScheduler.extraArgs[0]=--v=5",
        ];
        let chart = Chart { plane, values: &values };
        Box::pin(beside(&kubelet, async {
            chart.install("one").await?;
            let created = roll(plane, &chart, &watch).await?;
            let failed = kubelet.failed_calls();
            ensure!(failed.is_empty(), "{} calls failed: {:?}", failed.len(), failed.first());
            let too_early = kubelet.asked_too_early().await?;
            ensure!(too_early == 0.0, "{too_early} calls came to a Berth that was not ready, or broke it");

            // Nobody answers for a minute: pods wait, and nobody has to do anything when somebody is there again.
            kubelet.begin_outage()?;
            let last = batch(BATCHES - 1);
            create_all(&client, &last).await?;
            tokio::time::sleep(MINUTE).await;
            ensure!(watch.bound() == created, "somebody has bound pods while there was no Berth");
            if kubelet.failed_calls().is_empty() {
                bail!("calls that fail are not seen");
            }
            kubelet.end_outage();
            let back = Instant::now();
            watch.wait_until_bound(created + last.len(), MINUTE).await?;
            report(&format!("everything was bound {:.1?} after Berth was back", back.elapsed()));
            ensure_in_order(&watch, &nodes, created / (SIZE + SINGLES) + 1)
        }))
        .await
    })
    .await
}
