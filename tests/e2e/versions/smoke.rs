//! Schedule, bind, preempt, and keep a group together: what has to work whichever kube-scheduler asks.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;

use super::release::Release;
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{create_all, pods};
use crate::leader_worker_sets::groups::{Groups, Racks};
use crate::leader_worker_sets::history::ensure_never_apart;
use crate::leader_worker_sets::racks::{rack, rack_of};
use crate::metrics_text::Metrics;
use crate::owed_room::members::members;
use crate::preemption::groups::{CANDIDATES, MembersAndSingles, SPARED};
use crate::preemption::play::build;
use crate::preemption::scenario::Scenario;
use crate::preemption::setup::Setup;
use crate::preemption::stage::Stage;
use crate::progress::report;
use crate::scheduling::{ensure_all_understood, ensure_cache_is_right};

const MINUTE: Duration = Duration::from_mins(1);
const GROUP: &str = "cache";
const MEMBERS: usize = 4;
const SINGLES: usize = 40;
/// The pod that preempts, the group, and the single pods.
const PLACED: usize = 1 + MEMBERS + SINGLES;

/// One rack that three members would prefer, for its nodes have something to spare, and one with room for all.
fn racks() -> Vec<Node> {
    [rack_of("small", MEMBERS - 1, |node| node.cpu("7")), rack("large", MEMBERS)].concat()
}

pub async fn smoke(release: &Release) -> Result<()> {
    // Nobody but the smoke creates pods.
    let options = Options { controllers: false, version: release.version, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let started = Instant::now();
        let client = plane.client();
        let cluster = MembersAndSingles.cluster();
        // One of them has to go.
        let residents = cluster.residents.len() - 1;
        build(&client, &cluster).await?;
        let stage = Stage::open(plane, &Setup::shipped("")).await?;
        release.ensure_runs(plane, &stage.scheduler).await?;

        // Without Berth's answer a member of the group would go.
        MembersAndSingles.unfold(&stage).await?;

        let racks = racks();
        create_all(&client, &racks).await?;
        stage.arrive(&members(GROUP, 0..MEMBERS, MEMBERS)).await?;
        stage.watch.wait_until_bound(residents + 1 + MEMBERS, MINUTE).await?;
        ensure_whole_in_the_large_rack(&stage, &Racks::of(&racks))?;

        stage.arrive(&pods("web", SINGLES, |pod| pod.label("app", "web").cpu("100m"))).await?;
        stage.watch.wait_until_bound(residents + PLACED, MINUTE).await?;
        let berth = stage.berth.as_ref().context("Berth takes part")?;
        ensure_cache_is_right(berth, (residents + PLACED) as u64).await?;

        // Fails if a pod was bound twice.
        let played = stage.close().await?;
        played.ending.ensure(&SPARED)?;
        played.ensure_candidates("enforce", &CANDIDATES)?;
        ensure_berth_bound_all(played.metrics()?)?;
        report(&format!("{release} passed in {:.1?}", started.elapsed()));
        Ok(())
    })
    .await
}

fn ensure_whole_in_the_large_rack(stage: &Stage, racks: &Racks) -> Result<()> {
    ensure_never_apart(&stage.watch.transitions(), racks)?;
    let groups = Groups::of(stage.watch.pods(), racks);
    let group = groups.get(GROUP)?;
    ensure!(group.is_whole(MEMBERS) && group.racks().contains("large"), "the group is {group:?}");
    Ok(())
}

/// Every verb was called, each call was answered, and nobody else bound a pod.
fn ensure_berth_bound_all(metrics: &Metrics) -> Result<()> {
    ensure_all_understood(metrics)?;
    let calls = |labels: &[_]| metrics.sum("berth_request_duration_seconds_count", labels);
    for verb in ["filter", "prioritize", "preempt", "bind"] {
        let (all, answered) = (calls(&[("verb", verb)]), calls(&[("verb", verb), ("code", "200")]));
        ensure!(answered > 0.0 && answered == all, "{verb}: of {all} calls {answered} were answered");
    }
    let bound = metrics.sum("berth_bindings_total", &[("result", "bound")]);
    ensure!(bound == PLACED as f64, "Berth bound {bound} pods, not {PLACED}");
    Ok(())
}
