//! Random histories: whatever happens to sets, Services and Berths, there are exactly the right Services in the end.
//!
//! `BERTH_SERVICES_SEED=N` plays another history.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::bed::Bed;
use super::exact::managed;
use super::rng::Rng;
use crate::berth_process::BerthProcess;
use crate::progress::report;

/// How long things happen.
const PLAYED: Duration = Duration::from_mins(1);
const SETS: [&str; 3] = ["a", "a-b", "b"];
/// More would be more pods than the machine creates in that time.
const MOST_GROUPS: usize = 4;

/// What there is to be.
struct World<'a, 'b> {
    bed: &'a Bed<'b>,
    rng: Rng,
    /// Groups of each set.
    sets: BTreeMap<&'static str, usize>,
    /// Versions of Services of others.
    foreign: BTreeMap<String, String>,
    berths: Vec<BerthProcess>,
}

#[tokio::test]
async fn any_history_leaves_exactly_the_right_services() -> Result<()> {
    let seed = std::env::var("BERTH_SERVICES_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    Bed::play(async |bed| {
        let berths = vec![bed.start_berth().await?];
        let (sets, foreign) = (BTreeMap::new(), BTreeMap::new());
        let mut world = World { bed, rng: Rng::of(seed, 0), sets, foreign, berths };
        let (started, mut steps) = (Instant::now(), 0);
        while started.elapsed() < PLAYED {
            let what = world.step().await.with_context(|| format!("seed {seed}, step {steps}"))?;
            report(&format!("step {steps}: {what}"));
            sleep(Duration::from_millis(world.rng.below(3000) as u64)).await;
            steps += 1;
        }
        if world.berths.is_empty() {
            world.berths.push(bed.start_berth().await?);
        }
        let groups = world.sets.values().sum();
        bed.until_exact(groups).await.with_context(|| format!("seed {seed}, {steps} steps"))?;
        for (name, version) in &world.foreign {
            let service = bed.services().get(name).await?;
            ensure!(service.resource_version().as_ref() == Some(version), "{name} was touched");
        }
        Ok(())
    })
    .await
}

impl World<'_, '_> {
    async fn step(&mut self) -> Result<String> {
        let set = self.rng.pick(&SETS);
        let known = self.sets.get(set).copied();
        match (self.rng.below(10), known) {
            (0..=3, None) => {
                let (groups, size) = (1 + self.rng.below(MOST_GROUPS), 1 + self.rng.below(3));
                // Its predecessor of that name may still be going.
                if self.bed.sets().get_opt(set).await?.is_some() {
                    return Ok(format!("{set} is still there"));
                }
                let (replicas, size) = (i32::try_from(groups)?, i32::try_from(size)?);
                self.bed.arrive(Bed::asking(set, replicas, size)).await?;
                self.sets.insert(set, groups);
                Ok(format!("{set} with {groups} groups of {size}"))
            }
            (0..=3, Some(_)) => {
                let groups = self.rng.below(MOST_GROUPS + 1);
                self.bed.scale(set, i32::try_from(groups)?).await?;
                self.sets.insert(set, groups);
                Ok(format!("{set} has {groups} groups"))
            }
            (4, Some(_)) => {
                self.bed.delete_set(set).await?;
                self.sets.remove(set);
                Ok(format!("{set} is deleted"))
            }
            (5, _) => self.meddle().await,
            (6, _) => {
                let name = format!("{set}-{}", self.rng.below(MOST_GROUPS));
                if self.bed.services().get_opt(&name).await?.is_some() {
                    return Ok(format!("there is a {name}"));
                }
                // Berth may have been faster.
                let Ok(version) = self.bed.foreign(&name).await else {
                    return Ok(format!("there is a {name}"));
                };
                self.foreign.insert(name.clone(), version);
                Ok(format!("somebody's {name}"))
            }
            (7, _) => {
                let leaders = ListParams::default().labels("leaderworkerset.sigs.k8s.io/worker-index=0");
                let leaders = self.bed.pods().list(&leaders).await?.items;
                let Some(leader) = leaders.get(self.rng.below(leaders.len().max(1))) else {
                    return Ok("no leader".to_owned());
                };
                let deleted = self.bed.pods().delete(&leader.name_any(), &DeleteParams::default()).await;
                Ok(format!("leader {} deleted: {}", leader.name_any(), deleted.is_ok()))
            }
            (8, _) if self.berths.len() < 3 => {
                self.berths.push(self.bed.start_berth().await?);
                Ok(format!("{} Berths", self.berths.len()))
            }
            (9, _) if !self.berths.is_empty() => {
                let at = self.rng.below(self.berths.len());
                let mut berth = self.berths.remove(at);
                if self.rng.chance(50) {
                    berth.kill9()?;
                    return Ok("a Berth is killed".to_owned());
                }
                berth.terminate(Duration::from_secs(20)).await?;
                Ok("a Berth ends".to_owned())
            }
            _ => Ok("nothing".to_owned()),
        }
    }

    /// Somebody changes one of the Services that Berth made, or deletes it.
    async fn meddle(&mut self) -> Result<String> {
        let services = managed(&self.bed.client).await?;
        let Some(service) = services.get(self.rng.below(services.len().max(1))) else {
            return Ok("no Service".to_owned());
        };
        let name = service.name_any();
        let api = self.bed.services();
        if self.rng.chance(40) {
            let deleted = api.delete(&name, &DeleteParams::default()).await;
            return Ok(format!("{name} deleted: {}", deleted.is_ok()));
        }
        let patch = self.rng.pick(&[
            r#"{"spec":{"selector":{"app":"x"}}}"#,
            r#"{"spec":{"publishNotReadyAddresses":false}}"#,
            r#"{"metadata":{"ownerReferences":null}}"#,
        ]);
        let patch: serde_json::Value = serde_json::from_str(patch)?;
        // It may be gone by now.
        let changed = api.patch(&name, &PatchParams::default(), &Patch::Merge(json!(patch))).await;
        Ok(format!("{name} changed: {}", changed.is_ok()))
    }
}
