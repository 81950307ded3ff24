//! The second scheduler, made from its manifests, through the loss of its leader and of all its replicas.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;

use super::account::kubeconfig_of;
use super::rendering::{NAMESPACE, kustomized, run};
use super::replica::{Replica, Template};
use crate::controlplane::{Binaries, ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create_all, node, pods};
use crate::leader_worker_sets::groups::{Groups, Racks};
use crate::leader_worker_sets::history::ensure_never_apart;
use crate::leader_worker_sets::racks::rack;
use crate::owed_room::members::member_of;
use crate::preemption::play::until;
use crate::progress::report;

const SIZE: usize = 4;
const GROUPS: usize = 10;
/// Nodes for single pods, and how many fit onto each.
const PLAIN: usize = 10;
const PER_NODE: usize = 20;
/// A lost leader's lease lasts 15 seconds.
const LIMIT: Duration = Duration::from_mins(2);
/// For so long there is no replica at all.
const ABSENCE: Duration = Duration::from_mins(1);

/// Groups and single pods, as many as there is room for: who is counted twice, or forgotten, shows.
fn load(wave: usize, waves: usize) -> Vec<Pod> {
    let in_wave = |at: &usize| at % waves == wave;
    let groups = (0..GROUPS).filter(in_wave).flat_map(|group| {
        let group = format!("g{group}");
        (0..SIZE).map(move |at| member_of(&group, at, SIZE).scheduler("berth").build())
    });
    let name = format!("single-{wave}");
    let singles = pods(&name, PLAIN * PER_NODE / waves, |pod| {
        pod.cpu("100m").node_selector("pool", "plain").scheduler("berth")
    });
    groups.chain(singles).collect()
}

#[tokio::test]
async fn the_second_scheduler_survives_its_leader_and_its_own_absence() -> Result<()> {
    let options = Options { controllers: false, limit: 8 * ABSENCE, ..Options::default() };
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
        let template = Template::of(&rendering, kubeconfig_of(plane, NAMESPACE, "berth").await?)?;

        let client = plane.client();
        let mut nodes: Vec<_> = (0..GROUPS).flat_map(|at| rack(&format!("rack{at}"), SIZE)).collect();
        let plain = |at| node(&format!("plain-{at}")).label("pool", "plain").cpu("2").build();
        nodes.extend((0..PLAIN).map(plain));
        create_all(&client, &nodes).await?;
        let racks = Racks::of(&nodes);
        let watch = BindingsWatch::start(&client).await?;
        let mut replicas =
            vec![Replica::start(plane, &template).await?, Replica::start(plane, &template).await?];

        // The leader is lost in the middle of its work.
        let first = load(0, 3);
        create_all(&client, &first).await?;
        watch.wait_until_bound(first.len() / 3, LIMIT).await?;
        let leader = leader(&replicas).await?;
        replicas.remove(leader).kill()?;
        let lost = Instant::now();
        watch.wait_until_bound(first.len(), LIMIT).await?;
        report(&format!(
            "the other one had bound everything {:.1?} after the leader was lost",
            lost.elapsed()
        ));

        // A new replica takes its place, and a leader that is told to go hands over at once.
        replicas.push(Replica::start(plane, &template).await?);
        let second = load(1, 3);
        create_all(&client, &second).await?;
        watch.wait_until_bound(first.len() + second.len() / 3, LIMIT).await?;
        let told = Instant::now();
        replicas.remove(0).stop().await?;
        watch.wait_until_bound(first.len() + second.len(), LIMIT).await?;
        report(&format!("everything was bound {:.1?} after the leader was told to go", told.elapsed()));

        // Nobody is there for a minute, in which the lease ends and kube-scheduler's longest backoff passes several times: pods wait, and are placed when somebody is there again.
        replicas.pop().context("nobody is left")?.kill()?;
        let third = load(2, 3);
        create_all(&client, &third).await?;
        let before = watch.bound();
        tokio::time::sleep(ABSENCE).await;
        ensure!(watch.bound() == before, "somebody has bound pods of a scheduler that is not there");
        replicas.push(Replica::start(plane, &template).await?);
        replicas.push(Replica::start(plane, &template).await?);
        let back = Instant::now();
        watch.wait_until_bound(first.len() + second.len() + third.len(), LIMIT).await?;
        report(&format!("everything was bound {:.1?} after both were back", back.elapsed()));

        watch.ensure_bound_once()?;
        ensure_never_apart(&watch.transitions(), &racks)?;
        ensure!(Groups::of(watch.pods(), &racks).are_whole(GROUPS, SIZE), "not all groups are whole");
        let mut used: BTreeMap<String, usize> = BTreeMap::new();
        for node in watch.placements().into_values() {
            *used.entry(node).or_default() += 1;
        }
        for (node, pods) in used {
            let room = if node.starts_with("plain") { PER_NODE } else { 1 };
            ensure!(pods <= room, "{node} has room for {room} and got {pods}");
        }
        Ok(())
    })
    .await
}

/// Which one has bound pods.
async fn leader(replicas: &[Replica]) -> Result<usize> {
    let mut found = None;
    until("a leader", async || {
        for (at, replica) in replicas.iter().enumerate() {
            if replica.bound().await? > 0.0 {
                found = Some(at);
            }
        }
        Ok(found.is_some())
    })
    .await?;
    found.context("nobody leads")
}
