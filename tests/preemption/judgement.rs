//! What should become of each candidate, found out the slow way.

use std::collections::BTreeSet;

use crate::case::{Candidate, Case};
use crate::cluster::{Group, Pod, SET_SIZE};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Kept,
    Refused,
    Outranked,
    Undecided,
    Empty,
}

/// One fate per candidate, in their order.
pub fn judge(case: &Case) -> Vec<Fate> {
    let weighed: Vec<Result<[i64; 5], Fate>> =
        case.candidates.iter().map(|candidate| weigh(case, candidate)).collect();
    // A candidate is kept if no other one is better by the criteria that are looked at.
    let better = |a: &[i64; 5], b: &[i64; 5]| a[..depth(case)] < b[..depth(case)];
    let fate = |weighed: &Result<[i64; 5], Fate>, all: &[Result<[i64; 5], Fate>]| match weighed {
        Ok(cost) if all.iter().flatten().any(|other| better(other, cost)) => Fate::Outranked,
        Ok(_) => Fate::Kept,
        Err(fate) => *fate,
    };
    weighed.iter().map(|one| fate(one, &weighed)).collect()
}

/// How many of the criteria are looked at.
fn depth(case: &Case) -> usize {
    let names = ["Nothing", "BudgetViolations", "GroupsLost", "HighestPriority", "PodsLost", "Node"];
    names.iter().position(|name| *name == case.decide_up_to).expect("a criterion")
}

fn weigh(case: &Case, candidate: &Candidate) -> Result<[i64; 5], Fate> {
    if candidate.uids.is_empty() {
        return Err(Fate::Empty);
    }
    let here = |uid: &&String| {
        case.pods
            .iter()
            .any(|pod| pod.uid() == **uid && crate::cluster::node_name(pod.node) == candidate.node)
    };
    if candidate.node == "ghost" || !candidate.uids.iter().all(|uid| here(&uid)) {
        return Err(Fate::Undecided);
    }
    if case.is_refused(&candidate.node, &candidate.uids) {
        return Err(Fate::Refused);
    }
    // Who is leaving already is no loss.
    let staying = || case.pods.iter().filter(|pod| !pod.leaving);
    let victims: Vec<&Pod> = staying().filter(|pod| candidate.uids.contains(&pod.uid())).collect();
    let groups: BTreeSet<String> = victims.iter().filter_map(|pod| restarting_group(pod)).collect();
    let lost = staying().filter(|pod| {
        let dragged = restarting_group(pod).is_some_and(|group| groups.contains(&group));
        dragged || candidate.uids.contains(&pod.uid())
    });
    let count = |number: usize| i64::try_from(number).expect("small");
    let highest = victims.iter().map(|pod| i64::from(pod.priority)).max().unwrap_or(i64::MIN);
    // The node's number stands for its name.
    let name = i64::from(candidate.node.as_bytes()[1]);
    let violations = candidate.budget_violations.min(count(victims.len()));
    // A replica of a set that lacks members does not run, so nothing is lost with it.
    let members =
        |group: &String| staying().filter(|pod| restarting_group(pod).as_ref() == Some(group)).count();
    let whole = groups.iter().filter(|group| !group.starts_with("set") || members(group) >= SET_SIZE).count();
    Ok([violations, count(whole), highest, count(lost.count()), name])
}

fn restarting_group(pod: &Pod) -> Option<String> {
    match pod.group? {
        Group::Labelled(index) => Some(format!("set {index}")),
        Group::Annotated(index) => Some(format!("annotation {index}")),
        Group::Loose(_) => None,
    }
}
