//! Random histories.

use std::time::Duration;

use crate::scenario::{
    Choice, Ending, Kind, Level, Needs, NodeSpec, Outcome, Priorities, Provocation, Reach, Scenario, Scope,
    SetSpec, Sharing, Step, Storage, Subgroups, Then, Times, Whose,
};
use crate::support::random::Rng;

const NAMESPACES: [&str; 2] = ["red", "blue"];

/// Attempts are remembered for longer than room is kept. Both for longer than news take.
const QUICK_ROOM: Times = Times { reservation: Duration::from_secs(15), ..Times::DEFAULT };
/// Room is kept for longer than attempts are remembered.
const QUICK_LEDGER: Times = Times { ledger: Duration::from_secs(20), ..Times::DEFAULT };

/// Everything may happen.
pub fn history(rng: &mut Rng) -> Scenario {
    let nodes = nodes(rng);
    let sets = (0..=rng.below(3)).map(|at| set(rng, at)).collect();
    let mood = rng.weighted(&[(45, Mood::Calm), (45, Mood::Any), (10, Mood::Slow)]);
    let (count, is_hostile) = (30 + rng.below(45), rng.chance(15));
    let has_standby = rng.chance(20);
    let times = rng.weighted(&[(70, Times::DEFAULT), (20, QUICK_ROOM), (10, QUICK_LEDGER)]);
    let mood = if times == QUICK_ROOM && rng.chance(75) { Mood::Waiting } else { mood };
    let mut steps = vec![Step::NewGroup(rng.below(8)), Step::NewGroup(rng.below(8))];
    steps.extend((0..count).map(|_| match mood {
        _ if is_hostile && rng.chance(25) => hostile_step(rng),
        _ if has_standby && rng.chance(6) => Step::Takeover(rng.chance(75)),
        Mood::Calm => calm_step(rng),
        Mood::Any => any_step(rng),
        Mood::Slow => slow_step(rng),
        Mood::Waiting => waiting_step(rng),
    }));
    let follows_scores = rng.chance(50);
    Scenario { nodes, sets, steps, times, follows_scores, has_standby, ending: Ending::Room }
}

#[derive(Clone, Copy)]
enum Mood {
    Calm,
    Any,
    /// Volumes take their time.
    Slow,
    /// Not so much that attempts are forgotten, but more than room is kept.
    Waiting,
}

/// Groups and nothing else, more of them than there is room for.
pub fn contest(rng: &mut Rng) -> Scenario {
    let nodes = nodes(rng);
    let sets = (0..=1 + rng.below(3)).map(|at| set(rng, at)).collect();
    let mut steps: Vec<Step> = (0..4 + rng.below(4)).map(|_| Step::NewGroup(rng.below(64))).collect();
    for _ in 0..40 + rng.below(40) {
        steps.push(match rng.below(20) {
            0..=5 => Step::Reconcile(rng.below(64), 1 + rng.below(3)),
            6..=12 => Step::Try(rng.below(64), choice(rng)),
            13..=15 => Step::Bind(rng.below(8), Outcome::Done),
            16..=18 => Step::DeliverPods(1 + rng.below(6)),
            _ => Step::Pass(100 * rng.below(10) as u64),
        });
    }
    let (follows_scores, ending) = (rng.chance(50), Ending::Standstill);
    let times = Times::DEFAULT;
    Scenario { nodes, sets, steps, times, follows_scores, has_standby: false, ending }
}

fn nodes(rng: &mut Rng) -> Vec<NodeSpec> {
    let blocks = 1 + rng.below(2);
    let mut nodes = Vec::new();
    for rack in 0..2 + rng.below(4) {
        // Machines of a rack are alike, mostly.
        let (cpu, gpus) = (rng.pick(&[2, 3, 4, 4, 6]), rng.pick(&[0, 0, 2, 4]));
        let (ssd, tainted) = (rng.chance(60), rng.chance(12));
        let block = rng.below(blocks);
        for _ in 0..=rng.below(4) {
            let odd = rng.chance(15);
            nodes.push(NodeSpec {
                name: format!("n{}", nodes.len()),
                rack: (!rng.chance(3)).then(|| format!("r{rack}")),
                block: format!("b{block}"),
                cpu: if odd { rng.pick(&[1, 2, 4, 8]) } else { cpu },
                gpus,
                places: if rng.chance(10) { rng.pick(&[1, 2, 3]) } else { 110 },
                ssd: ssd ^ (odd && rng.chance(50)),
                tainted: tainted ^ rng.chance(5),
            });
        }
    }
    nodes
}

fn set(rng: &mut Rng, at: usize) -> SetSpec {
    let kind = rng.pick(&[Kind::Annotated, Kind::LeaderWorker]);
    let apart = rng.chance(35);
    let worker = Needs { apart, port: port(rng, 15), ..needs(rng) };
    let leader_differs = rng.chance(if kind == Kind::LeaderWorker { 50 } else { 15 });
    let leader = if leader_differs {
        let port = if rng.chance(50) { worker.port } else { port(rng, 10) };
        Needs { apart: apart && rng.chance(70), port, ..needs(rng) }
    } else {
        worker
    };
    let size = rng.weighted(&[(5, 1), (30, 2), (30, 3), (25, 4), (10, 5)]);
    let subgroups = (kind == Kind::LeaderWorker && rng.chance(25)).then(|| subgroups(rng, size));
    let (required, preferred) = rng.weighted(&[
        (45, (Some(Level::Rack), None)),
        (15, (Some(Level::Block), None)),
        (30, (Some(Level::Block), Some(Level::Rack))),
        (10, (None, Some(Level::Rack))),
    ]);
    let (required, preferred) = match subgroups {
        // A rack to each part, in one block, or anywhere.
        Some(_) => (required.map(|_| Level::Block).filter(|_| rng.chance(60)), None),
        None => (required, preferred),
    };
    let exclusive = rng.weighted(&[
        (65, None),
        (15, Some(Scope::Set)),
        (10, Some(Scope::Namespace)),
        (10, Some(Scope::Cluster)),
    ]);
    let exclusive = exclusive.filter(|_| required.is_some());
    SetSpec {
        name: format!("s{at}"),
        kind,
        namespace: rng.pick(&NAMESPACES),
        size,
        leader,
        worker,
        required,
        preferred,
        exclusive,
        native_exclusive: kind == Kind::LeaderWorker
            && exclusive == Some(Scope::Namespace)
            && preferred.is_none()
            && rng.chance(50),
        priority: priorities(rng),
        storage: rng.chance(25).then(|| storage(rng, kind)).filter(|_| subgroups.is_none()),
        subgroups,
    }
}

/// Parts are even, but for the leader.
fn subgroups(rng: &mut Rng, size: usize) -> Subgroups {
    let is_even = |parts: &usize| size.is_multiple_of(*parts) || (size - 1).is_multiple_of(*parts);
    let parts = Some(rng.pick(&[2, 2, 3])).filter(is_even).unwrap_or(2);
    let may_exclude = size > 1 && (size - 1).is_multiple_of(parts);
    Subgroups { size: parts, leader_excluded: may_exclude && rng.chance(30) }
}

fn priorities(rng: &mut Rng) -> Priorities {
    let (worker, other) = (rng.pick(&[0, 0, 10]), rng.pick(&[-10, 0, 10]));
    Priorities { leader: if rng.chance(20) { other } else { worker }, worker }
}

fn storage(rng: &mut Rng, kind: Kind) -> Storage {
    let at = rng.below(64);
    let sharing = rng.pick(&[Sharing::Shared(at), Sharing::OwnBefore(at), Sharing::OwnAtFirstUse]);
    // Templates of claims of a LeaderWorkerSet are for everybody.
    let for_everybody = kind == Kind::LeaderWorker && !matches!(sharing, Sharing::Shared(_));
    let whose = rng.pick(&[Whose::Everybody, Whose::Leader, Whose::Workers]);
    Storage {
        whose: if for_everybody { Whose::Everybody } else { whose },
        sharing,
        reach: rng.pick(&[Reach::Rack, Reach::Rack, Reach::Node]),
    }
}

fn needs(rng: &mut Rng) -> Needs {
    Needs {
        cpu: rng.pick(&[1, 1, 2, 2, 3]),
        gpus: rng.pick(&[0, 0, 0, 1, 2]),
        ssd: rng.chance(15),
        tolerates: rng.chance(30),
        apart: false,
        port: None,
    }
}

/// There are few ports, so that pods of different sets want the same ones.
fn port(rng: &mut Rng, percent: usize) -> Option<u8> {
    rng.chance(percent).then(|| rng.pick(&[0, 1, 2]))
}

/// What happens where nothing goes wrong.
fn calm_step(rng: &mut Rng) -> Step {
    match rng.below(100) {
        0..=5 => Step::NewGroup(rng.below(64)),
        6..=27 => Step::Reconcile(rng.below(64), 1 + rng.below(4)),
        28..=34 => {
            let needs = Needs { port: port(rng, 10), ..needs(rng) };
            Step::NewSingle(needs, rng.pick(&[0, 0, 10]))
        }
        35..=36 => Step::EndSingle(rng.below(64)),
        37 => Step::Finish(rng.below(64)),
        38..=70 => Step::Try(rng.below(64), choice(rng)),
        71..=82 => Step::Bind(rng.below(8), outcome(rng)),
        83..=84 => Step::Abandon(rng.below(8), rng.chance(50)),
        85..=93 => Step::DeliverPods(1 + rng.below(8)),
        94 => Step::DeliverVolumes(1 + rng.below(6)),
        95..=96 => Step::DeliverAll,
        _ => Step::Pass(200 * rng.below(20) as u64),
    }
}

fn hostile_step(rng: &mut Rng) -> Step {
    match rng.below(10) {
        0 => Step::Rewrite(rng.below(64), provocation(rng)),
        1 => Step::Pass(1000 * rng.below(40) as u64),
        _ => {
            let needs =
                if rng.chance(50) { Needs { cpu: 1, gpus: 0, ssd: false, ..needs(rng) } } else { needs(rng) };
            Step::Provoke(provocation(rng), needs, rng.pick(&[0, 0, 0, 10]))
        }
    }
}

fn provocation(rng: &mut Rng) -> Provocation {
    Provocation {
        source: if rng.chance(60) { 0 } else { rng.below(64) },
        group: rng.below(64),
        size: rng.below(64),
        index: rng.below(64),
        required: rng.below(64),
        preferred: rng.below(64),
        exclusive: rng.below(64),
    }
}

fn slow_step(rng: &mut Rng) -> Step {
    if rng.chance(10) {
        return Step::PassLong;
    }
    match any_step(rng) {
        Step::Try(which, choice) if rng.chance(60) => {
            Step::Try(which, Choice { then: Then::BindLate, ..choice })
        }
        step => step,
    }
}

fn waiting_step(rng: &mut Rng) -> Step {
    if rng.chance(8) {
        return Step::Pass(1_000 * (4 + rng.below(14) as u64));
    }
    match calm_step(rng) {
        Step::Try(which, choice) if rng.chance(50) => {
            Step::Try(which, Choice { then: Then::BindLate, ..choice })
        }
        step => step,
    }
}

fn any_step(rng: &mut Rng) -> Step {
    let some = |rng: &mut Rng| rng.below(64);
    match rng.below(400) {
        9..=16 => Step::Vanish(some(rng)),
        17..=20 => Step::DeleteGroup(some(rng)),
        21..=24 => Step::Recreate(some(rng), rng.chance(60)),
        25..=26 => Step::Resize(some(rng), rng.chance(50)),
        27..=30 => Step::PassLong,
        31..=34 => Step::LoseNode(some(rng)),
        35..=38 => Step::ReturnNode(some(rng)),
        39..=41 => Step::CollectLost,
        42..=43 => Step::Relabel(some(rng), some(rng)),
        44..=47 => Step::Restart,
        48..=49 => Step::Probe,
        50..=58 => Step::DeliverNodes(1 + rng.below(2)),
        0..=8 | 59..=72 => Step::DeleteMember(some(rng), rng.chance(50)),
        _ => calm_step(rng),
    }
}

fn choice(rng: &mut Rng) -> Choice {
    let then = match rng.below(100) {
        0..=44 => Then::BindNow,
        45..=84 => Then::BindLater,
        85..=89 => Then::BindLate,
        90..=95 => Then::Fail { told: true },
        _ => Then::Fail { told: false },
    };
    Choice { pick: rng.below(64), then }
}

fn outcome(rng: &mut Rng) -> Outcome {
    rng.weighted(&[(94, Outcome::Done), (3, Outcome::DoneUnheard), (3, Outcome::Unclear)])
}
