//! Plays a history to its end.

use std::time::Duration;

use berth::model::Kind as ObjectKind;

use crate::api_server::ApiServer;
use crate::controllers::LARGEST;
use crate::promises::Violation;
use crate::scenario::{Choice, Ending, NodeSpec, Outcome, Scenario, Scope, Step, Then};
use crate::support::random::caught::caught;
use crate::tally::Seen;
use crate::world::World;

/// Rounds over all pods that wait, until nobody moves. A round takes half a second.
const CALM_ROUNDS: usize = 30;
/// The same when there is room for everybody, with time in between for everything to expire that may stand in
/// somebody's way.
const LAST_ROUNDS: usize = 40;
const IDLE_ROUNDS: u32 = 4;
/// So many subgroups a group may have.
const MOST_SUBGROUPS: usize = 3;

/// Plays a history without a log.
pub fn play(scenario: &Scenario, api: &ApiServer) -> Result<Seen, Violation> {
    let mut world = World::new(scenario, api, false);
    run_caught(&mut world, scenario).map(|()| world.seen)
}

/// What happened in it, line by line.
pub fn tell(scenario: &Scenario, api: &ApiServer) -> Vec<String> {
    let mut world = World::new(scenario, api, true);
    let end = match run_caught(&mut world, scenario) {
        Ok(()) => "all is well".to_owned(),
        Err(violation) => violation.to_string(),
    };
    let mut lines = world.log.unwrap_or_default();
    lines.push(end);
    lines
}

/// A panic breaks a promise like any other, so that its history is known and made small.
fn run_caught(world: &mut World<'_>, scenario: &Scenario) -> Result<(), Violation> {
    caught(|| run(world, scenario)).unwrap_or_else(|panic| Err(Violation::new("nothing panics", panic)))
}

fn run(world: &mut World<'_>, scenario: &Scenario) -> Result<(), Violation> {
    for step in &scenario.steps {
        take(world, *step)?;
        world.check_limits()?;
    }
    come_to_rest(world)?;
    world.check_no_pieces()?;
    world.check_takeover()?;
    if scenario.ending == Ending::Standstill {
        return Ok(());
    }
    if scenario.steps.len().is_multiple_of(3) {
        world.check_expiry()?;
    }
    if world.truth.sets.iter().any(|set| set.exclusive == Some(Scope::Cluster)) {
        world.evict_hostile_tenant();
    }
    make_room(world);
    let mut idle = 0;
    for round in 0..LAST_ROUNDS {
        idle = if schedule_everybody(world, round)? == 0 { idle + 1 } else { 0 };
        if idle > IDLE_ROUNDS || (idle > 0 && world.pending().is_empty()) {
            break;
        }
        world.pass(if idle == 0 {
            Duration::from_secs(1)
        } else {
            world.times.longest() / (IDLE_ROUNDS - 1)
        });
        world.check_limits()?;
    }
    world.check_everybody_runs()
}

fn take(world: &mut World<'_>, step: Step) -> Result<(), Violation> {
    match step {
        Step::NewGroup(set) => world.new_group(set),
        Step::Reconcile(first, count) => {
            world.reconcile(first, count);
        }
        Step::NewSingle(needs, priority) => world.new_single(needs, priority),
        Step::Finish(which) => world.finish(which),
        Step::EndSingle(which) => world.end_single(which),
        Step::DeleteMember(which, graceful) => world.delete_member(which, graceful),
        Step::Vanish(which) => world.vanish(which),
        Step::DeleteGroup(which) => world.delete_group(which),
        Step::Recreate(which, revised) => world.recreate_group(which, revised),
        Step::Resize(which, up) => world.resize_group(which, up),
        Step::Provoke(provocation, needs, priority) => world.provoke(provocation, needs, priority),
        Step::Rewrite(which, provocation) => world.rewrite(which, provocation),
        Step::Try(which, choice) => {
            let pending = world.pending();
            if let Some(at) = which.checked_rem(pending.len()) {
                world.try_pod(&pending[at], choice)?;
                world.pass(Duration::from_millis(100));
            }
        }
        Step::Bind(which, outcome) => {
            if let Some(at) = which.checked_rem(world.attempts.len()) {
                world.bind(at, outcome)?;
            }
        }
        Step::Abandon(which, told) => {
            if let Some(at) = which.checked_rem(world.attempts.len()) {
                world.abandon(at, told);
            }
        }
        Step::DeliverPods(count) => world.deliver(ObjectKind::Pod, count),
        Step::DeliverNodes(count) => world.deliver(ObjectKind::Node, count),
        Step::DeliverVolumes(count) => {
            world.deliver(ObjectKind::PersistentVolume, count);
            world.deliver(ObjectKind::PersistentVolumeClaim, count);
        }
        Step::DeliverAll => world.deliver_all(),
        Step::Pass(milliseconds) => world.pass(Duration::from_millis(milliseconds)),
        Step::PassLong => world.pass_long(),
        Step::LoseNode(which) => world.lose_node(which),
        Step::ReturnNode(which) => world.return_node(which),
        Step::CollectLost => world.collect_lost(),
        Step::Relabel(which, like) => world.relabel_node(which, like),
        Step::Restart => {
            world.deliver_all();
            world.check_takeover()?;
            world.note(|| "Berth starts anew".to_owned());
            world.restart();
        }
        Step::Takeover(is_up_to_date) => world.take_over(is_up_to_date),
        Step::Probe => world.check_expiry()?,
    }
    Ok(())
}

/// Everything under way arrives, and everybody is tried until nobody moves.
fn come_to_rest(world: &mut World<'_>) -> Result<(), Violation> {
    world.note(|| "from now on nothing happens".to_owned());
    while !world.attempts.is_empty() {
        world.bind(0, Outcome::Done)?;
    }
    world.vanish_all();
    world.collect_lost();
    // The first round may clear up what the second one needs to know.
    let mut idle = 0;
    for round in 0..CALM_ROUNDS {
        idle = if schedule_everybody(world, round)? == 0 { idle + 1 } else { 0 };
        if idle == 2 {
            break;
        }
        world.pass(Duration::from_millis(500));
    }
    Ok(())
}

/// One round over all pods that wait; tells how many moved.
fn schedule_everybody(world: &mut World<'_>, round: usize) -> Result<usize, Violation> {
    let mut moved = world.reconcile(round, usize::MAX);
    world.deliver_all();
    for uid in world.pending() {
        let choice = Choice { pick: round, then: Then::BindNow };
        moved += usize::from(world.try_pod(&uid, choice)?);
        world.deliver_all();
    }
    Ok(moved)
}

/// For each group that waits an empty rack, or several, in a block of its own, that could take it many times.
fn make_room(world: &mut World<'_>) {
    let waits = |at: &usize| world.truth.groups[*at].wanted && !world.truth.is_whole(*at);
    let waiting = (0..world.truth.groups.len()).filter(waits).count();
    world.seen.waited_for_room |= waiting > 0;
    world.note(|| format!("room for {waiting} groups"));
    // Each subgroup wants a rack to itself.
    let has_subgroups = world.truth.sets.iter().any(|set| set.subgroups.is_some());
    let racks = if has_subgroups { MOST_SUBGROUPS } else { 1 };
    for block in 0..waiting.max(usize::from(!world.pending().is_empty())) {
        for at in 0..racks * LARGEST {
            let (rack, at) = (format!("{block}-{}", at % racks), at / racks);
            let node = NodeSpec {
                name: format!("big{rack}-{at}"),
                rack: Some(format!("big{rack}")),
                block: format!("big-block{block}"),
                cpu: 64,
                gpus: 64,
                places: 110,
                ssd: true,
                tainted: false,
            };
            world.show_node(&node);
            world.truth.nodes.insert(node.name.clone(), node);
        }
    }
    world.deliver_all();
}
