//! How many members of groups are bound in a second on 5,000 nodes: Berth against kube-scheduler's own pod affinity, in
//! turns on the same cluster. `make rate` measures the release build.

mod bound;
mod round;

use std::time::Duration;

use anyhow::{Result, ensure};

use self::round::{Round, When, Who};
use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{create_all, nodes};
use crate::progress::report;

const NODES: usize = 5_000;
const RACKS: usize = 250;
/// How many times as fast as kube-scheduler alone Berth has to be.
const WANTED: f64 = 5.0;

fn from_environment(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::test]
#[ignore = "takes minutes of an idle machine; run it with `make rate`"]
async fn groups_are_placed_faster_than_by_pod_affinity() -> Result<()> {
    let groups = from_environment("BERTH_RATE_GROUPS", RACKS);
    let rounds = from_environment("BERTH_RATE_ROUNDS", 3);
    let options =
        Options { controllers: false, kubelets: false, limit: Duration::from_hours(1), ..Options::default() };
    ControlPlane::run(options, async |plane| {
        create_all(&plane.client(), &nodes(NODES).racks(RACKS).build()).await?;
        let mut best: f64 = 0.0;
        for when in [When::AsTheyCome, When::AllAtOnce] {
            let (mut alone, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                for (who, rounds) in [(Who::InTree, &mut alone), (Who::Berth, &mut ours)] {
                    let round = Round::play(plane, who, when, groups).await?;
                    report(&round.to_string());
                    rounds.push(round);
                }
            }
            let ratio = summary("Berth", &ours) / summary("in-tree", &alone);
            // All share the same cores: what the API server does for a pod, whoever places it, is the bound for anybody.
            let ((all, _), (_, control_plane)) = (cpu(&alone), cpu(&ours));
            report(&format!(
                "{when:?}: Berth is {ratio:.1} times as fast. CPU per pod in-tree {all:.1} ms, of which API server and etcd need \
                 {control_plane:.1} ms beside Berth too: placing that costs nothing would be {:.1} times as fast",
                all / control_plane
            ));
            best = best.max(ratio);
            for round in &ours {
                ensure!(round.whole == groups, "of {groups} groups {} are whole", round.whole);
            }
        }
        ensure!(best >= WANTED, "{best:.1} times as fast, {WANTED} times is wanted");
        Ok(())
    })
    .await
}

/// The mean of what each pod costs.
fn cpu(rounds: &[Round]) -> (f64, f64) {
    let sums =
        rounds.iter().map(Round::cpu_per_pod).fold((0.0, 0.0), |sum, cpu| (sum.0 + cpu.0, sum.1 + cpu.1));
    let count = rounds.len().max(1) as f64;
    (sums.0 / count, sums.1 / count)
}

/// The median of the rates, which is reported with their spread.
fn summary(who: &str, rounds: &[Round]) -> f64 {
    let mut rates: Vec<f64> = rounds.iter().map(Round::rate).collect();
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    let whole: usize = rounds.iter().map(|round| round.whole).sum();
    let broken: usize = rounds.iter().map(|round| round.broken).sum();
    report(&format!(
        "{who:<8} median {median:.0} pods/s ({:.0} to {:.0}), {whole} groups whole, {broken} in pieces",
        rates[0],
        rates[rates.len() - 1]
    ));
    median
}
