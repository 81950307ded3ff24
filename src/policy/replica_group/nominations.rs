//! Which waiting member is to have which slot: what is written to the members as their nominated node, so that
//! kube-scheduler tries it first, shows it, and keeps others away from it.

use std::sync::Arc;

use crate::model::{GroupKey, Name, Pod};
use crate::view::View;

/// The node for each member of a group that waits and is not under way. Members that are nominated to one of their
/// group's hosts already stay there.
pub fn of_group<'a>(group: &GroupKey, view: &'a View) -> Vec<(&'a Arc<Pod>, &'a Name)> {
    let Some(reservation) = view.ledger().reservations().of(group) else { return Vec::new() };
    let under_way = |pod: &Pod| view.ledger().get(&pod.uid).is_some();
    // Somebody may still choose among the slots: nobody can tell yet which are left.
    if view.waiting_members(group).any(|pod| under_way(pod)) {
        return Vec::new();
    }
    let mut waiting: Vec<_> = view.waiting_members(group).collect();
    waiting.sort_by(|a, b| a.key.cmp(&b.key));
    let mut free: Vec<_> = reservation.slots.iter().collect();
    let mut nominated = Vec::new();
    for stays in [true, false] {
        waiting.retain(|pod| {
            let here = |host: &Name| !stays || pod.nominated_node.as_ref() == Some(host);
            let member = view.slot_of(pod, &Name::from(""));
            let at = free.iter().position(|slot| slot.suits_member_of(&member) && here(&slot.host));
            nominated.extend(at.map(|at| (*pod, &free.remove(at).host)));
            at.is_none()
        });
    }
    nominated
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ahead;
    use super::super::situation::{Situation, member};
    use super::of_group;
    use crate::ledger::Life;
    use crate::model::Pod;

    fn nominated(mut pod: Pod, node: &str) -> Pod {
        pod.nominated_node = Some(node.into());
        pod
    }

    #[test]
    fn each_waiting_member_gets_a_slot_like_it() {
        let small = |index: usize| member("g", index, 3, 1).build();
        let large = || member("g", 0, 3, 3).build();
        let racks = || Situation::racks(&[("a", &[3, 2])]);
        for (name, mut situation, expected) in [
            (
                "in the order of their names",
                racks().with(large()).with(small(1)).with(small(2)),
                "g-0:a0 g-1:a1 g-2:a1",
            ),
            (
                "who is nominated to one stays there",
                Situation::racks(&[("a", &[3, 1, 1])])
                    .with(large())
                    .with(nominated(small(1), "a2"))
                    .with(small(2)),
                "g-0:a0 g-1:a2 g-2:a1",
            ),
        ] {
            let group = large().group.expect("a member").group.clone();
            let plan = ahead::plan(&situation.with_domains(), &situation.settings, &group).expect("room");
            situation.view.reserve(plan, Life::of(Duration::from_mins(1)));
            let mut found: Vec<_> = of_group(&group, &situation.view)
                .into_iter()
                .map(|(pod, node)| format!("{}:{node}", pod.key.name))
                .collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{name}");
            let asked = situation.with_offered(small(1));
            assert!(of_group(&group, &asked.view).is_empty(), "{name}: somebody chooses");
        }
    }
}
