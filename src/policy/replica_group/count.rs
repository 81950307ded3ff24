//! Phase one: how many members of each class a set of hosts takes, each class by itself.
//!
//! For members that are all alike the count is exact. For different ones it is an upper bound: whoever does not fit by
//! it does not fit, and whoever does is tried in phase two.

use super::host_set::HostSet;
use super::members::Members;
use super::problem::Problem;
use crate::model::Dimension;

/// What a set of hosts takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// How many of each class, if they came alone.
    pub by_class: Vec<usize>,
    /// Whether the member that asks may go to one of the hosts and finds room there.
    pub has_room_for_asking: bool,
}

/// Counts what a set of hosts takes.
pub fn count(set: &HostSet<'_>, problem: &Problem<'_, '_>) -> Capacity {
    let members = problem.members;
    let mut by_class = vec![0_usize; members.missing.len()];
    let mut has_room_for_asking = members.asking.is_none();
    for id in &*set.hosts {
        let Some((host, node)) = problem.host(*id) else { continue };
        if !problem.budget.spend(members.missing.len()) {
            break;
        }
        let used = problem.availability.used(host);
        for class in members.classes() {
            // Room first: it is what most hosts of a busy cluster lack, and the cheapest to look at.
            let room = problem.room(class, node, &used);
            if room == 0 || !problem.suits(class, *id, host, node) {
                continue;
            }
            let sum = &mut by_class[class.index()];
            *sum = sum.saturating_add(room);
            has_room_for_asking |= members.asking == Some(class) && problem.is_open(*id);
        }
    }
    Capacity { by_class, has_room_for_asking }
}

impl Capacity {
    /// Whether every class finds room by itself.
    pub fn fits(&self, members: &Members<'_>) -> bool {
        self.by_class.iter().zip(&members.missing).all(|(capacity, class)| *capacity >= class.count)
    }

    /// How many of the missing members find room, each class by itself.
    pub fn fitting(&self, members: &Members<'_>) -> usize {
        self.by_class.iter().zip(&members.missing).map(|(capacity, class)| (*capacity).min(class.count)).sum()
    }

    /// How many more of the class that most are of would find room beside everybody. What the other classes need is
    /// converted into members of that class, by the resource of which they need most.
    pub fn left_over(&self, members: &Members<'_>) -> usize {
        let Some(main) = members.main_class() else { return 0 };
        let class = members.class(main);
        let others = members.classes().filter(|other| *other != main).map(|other| members.class(other));
        let converted = others.map(|other| {
            let requested = |dimension: Dimension<'_>| i128::from(other.requests.amount(dimension).max(0));
            let times =
                class.requests.dimensions().filter(|(_, amount)| *amount > 0).map(|(dimension, amount)| {
                    let all = requested(dimension) * i128::try_from(other.count).unwrap_or(i128::MAX);
                    all.div_euclid(i128::from(amount)) + i128::from(all % i128::from(amount) > 0)
                });
            usize::try_from(times.max().unwrap_or(0)).unwrap_or(usize::MAX)
        });
        let taken = converted.fold(class.count, usize::saturating_add);
        self.by_class[main.index()].saturating_sub(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::availability::Assumption;
    use super::super::situation::{RACK, Situation, apart, cpus, member};
    use super::count;
    use crate::fixtures::pod;

    #[test]
    fn a_rack_takes_as_many_as_its_nodes_together() {
        let asking = member("g", 0, 4, 2).build();
        let plain = || Situation::racks(&[("a", &[3, 4])]);
        let lower = || pod("low").requests(cpus(2)).priority(-1).on("a1").build();
        for (name, situation, asking, assumption, expected) in [
            ("two CPUs each on nodes of 3 and 4", plain(), asking.clone(), Assumption::Nothing, 3_usize),
            ("beside a pod of 2", plain().with(lower()), asking.clone(), Assumption::Nothing, 2),
            ("which may be evicted", plain().with(lower()), asking.clone(), Assumption::LowerPriorityGone, 3),
            (
                "beside slots of another group",
                plain().with_reserved("other", &[("a0", 3)]),
                asking.clone(),
                Assumption::Nothing,
                2,
            ),
            (
                "but for those slots",
                plain().with_reserved("other", &[("a0", 3)]),
                asking.clone(),
                Assumption::ReservationsGone,
                3,
            ),
            (
                "one to a host",
                plain(),
                apart("kubernetes.io/hostname", member("g", 0, 4, 2)),
                Assumption::Nothing,
                2,
            ),
            (
                "one to a rack, by the upper bound",
                plain(),
                apart(RACK, member("g", 0, 4, 2)),
                Assumption::Nothing,
                2,
            ),
        ] {
            let counted = situation.problem(&asking, assumption, |search, problem| {
                let domain = search.required.and_then(|domains| domains.find("a"));
                let set = search.host_set(domain).expect("rack a");
                let capacity = count(&set, &problem);
                (capacity.by_class.clone(), capacity.fits(search.members), capacity.left_over(search.members))
            });
            assert_eq!(counted, (vec![expected], expected >= 4, expected.saturating_sub(4)), "{name}");
        }
    }

    #[test]
    fn what_other_classes_need_is_not_left_over() {
        // A leader of 3 CPUs that runs elsewhere would not count; here it waits, as do two workers of 2.
        let situation = Situation::racks(&[("a", &[8, 8])])
            .with(member("g", 1, 3, 2).build())
            .with(member("g", 2, 3, 2).build());
        let leader = member("g", 0, 3, 3).build();
        let left_over = situation.problem(&leader, Assumption::Nothing, |search, problem| {
            let domain = search.required.and_then(|domains| domains.find("a"));
            let capacity = count(&search.host_set(domain).expect("rack a"), &problem);
            assert_eq!(capacity.by_class, [4, 8], "leaders, workers");
            capacity.left_over(search.members)
        });
        assert_eq!(left_over, 4, "eight workers fit, two are there, and a leader is worth two");
    }
}
