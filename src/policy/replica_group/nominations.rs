//! Which waiting member is to have which slot: what is written to the members as their nominated node, so that
//! kube-scheduler tries it first, shows it, and keeps others away from it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ledger::Slot;
use crate::model::{GroupKey, Name, Pod};
use crate::view::View;

/// The node for each member of a group that waits and is not under way; none for those without a slot. No two of them have the
/// same slot, for kube-scheduler counts everybody where it is nominated to. Members stay where they are nominated to already,
/// or where they were `last` to be, if there is a slot. `None` while a member chooses among several nodes: nobody can tell
/// which slots are left.
pub fn of_group<'a>(
    group: &GroupKey,
    view: &'a View,
    last: impl Fn(&Pod) -> Option<Name>,
) -> Option<Vec<(&'a Arc<Pod>, Option<&'a Name>)>> {
    let mut waiting: Vec<_> = view.waiting_members(group).collect();
    let under_way = |pod: &Pod| view.ledger().get(&pod.uid).is_some();
    let Some(reservation) = view.ledger().reservations().of(group) else {
        waiting.retain(|pod| !under_way(pod));
        return Some(waiting.into_iter().map(|pod| (pod, None)).collect());
    };
    if waiting.iter().any(|pod| under_way(pod)) {
        return None;
    }
    waiting.sort_by(|a, b| a.key.cmp(&b.key));
    let mut free = FreeSlots::of(&reservation.slots);
    let nodes: Vec<Option<&Name>> = waiting
        .iter()
        .map(|pod| {
            let member = view.slot_of(pod, &Name::from(""));
            let mut stays = pod.nominated_node.iter().cloned().chain(last(pod));
            stays.find_map(|host| free.take_on(&host, &member))
        })
        .collect();
    let nodes = waiting.iter().zip(nodes).map(|(pod, stays)| {
        let node = stays.or_else(|| free.take_any(&view.slot_of(pod, &Name::from(""))));
        (*pod, node)
    });
    Some(nodes.collect())
}

/// The slots that nobody has been given yet.
struct FreeSlots<'a> {
    slots: Vec<Option<&'a Slot>>,
    by_host: HashMap<&'a Name, Vec<usize>>,
    /// Everybody before it has been given to somebody.
    first: usize,
}

impl<'a> FreeSlots<'a> {
    fn of(slots: &'a [Slot]) -> Self {
        let mut by_host: HashMap<&Name, Vec<usize>> = HashMap::new();
        for (at, slot) in slots.iter().enumerate() {
            by_host.entry(&slot.host).or_default().push(at);
        }
        Self { slots: slots.iter().map(Some).collect(), by_host, first: 0 }
    }

    /// Takes a slot for such a member on a host.
    fn take_on(&mut self, host: &Name, member: &Slot) -> Option<&'a Name> {
        let here = self.by_host.get(host)?;
        let suits = |at: &&usize| self.slots[**at].is_some_and(|slot| slot.suits_member_of(member));
        let at = *here.iter().find(suits)?;
        self.slots[at].take().map(|slot| &slot.host)
    }

    /// Takes the first slot for such a member.
    fn take_any(&mut self, member: &Slot) -> Option<&'a Name> {
        while self.slots.get(self.first).is_some_and(Option::is_none) {
            self.first += 1;
        }
        let suits = |slot: Option<&Slot>| slot.is_some_and(|slot| slot.suits_member_of(member));
        let at = self.first + self.slots[self.first..].iter().position(|slot| suits(*slot))?;
        self.slots[at].take().map(|slot| &slot.host)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ahead;
    use super::super::situation::{Situation, member};
    use super::of_group;
    use crate::ledger::Life;
    use crate::model::{Name, Pod};

    fn nominated(mut pod: Pod, node: &str) -> Pod {
        pod.nominated_node = Some(node.into());
        pod
    }

    #[test]
    fn each_waiting_member_gets_a_slot_like_it() {
        let small = |index: usize| member("g", index, 3, 1).build();
        let large = || member("g", 0, 3, 3).build();
        let racks = || Situation::racks(&[("a", &[3, 2])]);
        let last = |pod: &Pod| (&*pod.key.name == "g-2").then(|| Name::from("a2"));
        for (name, mut situation, expected) in [
            (
                "in the order of their names",
                racks().with(large()).with(small(1)).with(small(2)),
                "g-0:a0 g-1:a1 g-2:a1",
            ),
            (
                "who is nominated to one stays there, and another goes elsewhere",
                Situation::racks(&[("a", &[3, 1, 1])])
                    .with(large())
                    .with(nominated(small(1), "a2"))
                    .with(small(2)),
                "g-0:a0 g-1:a2 g-2:a1",
            ),
            (
                "who was to have one stays there",
                Situation::racks(&[("a", &[3, 1, 1])]).with(large()).with(small(1)).with(small(2)),
                "g-0:a0 g-1:a1 g-2:a2",
            ),
        ] {
            let group = large().group.expect("a member").group.clone();
            let plan = ahead::plan(&situation.with_domains(), &situation.settings, &group).expect("room");
            situation.view.reserve(plan, Life::of(Duration::from_mins(1)));
            let found = of_group(&group, &situation.view, last).expect("nobody chooses");
            let mut found: Vec<_> = found
                .into_iter()
                .map(|(pod, node)| format!("{}:{}", pod.key.name, node.map_or("nowhere", |node| node)))
                .collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{name}");
            let asked = situation.with_offered(small(1));
            assert!(of_group(&group, &asked.view, last).is_none(), "{name}: somebody chooses");
        }
    }
}
