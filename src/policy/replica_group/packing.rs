//! Phase two: a host for every missing member within one domain.
//!
//! Finding out whether things of different sizes fit into boxes is hard in general. Here most members are alike, and for
//! members that are alike counting is exact. For a few different ones several orders are tried. What comes out is always a
//! host for everybody or nothing; now and then, for very mixed groups in very tight domains, it may be nothing although
//! a cleverer search would have found a way.

use std::borrow::Cow;

use super::class::{Class, ClassId};
use super::conflicts::is_per_host;
use super::problem::Problem;
use crate::config::Packing;
use crate::ledger::Slot;
use crate::model::{Node, Pod, Used};
use crate::view::{Host, HostId};

/// How many hosts are tried for the member that asks, if it does not get one of its own accord.
const MOST_PINS: usize = 16;

/// The position of a node among those of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(usize);

/// A node on which members may be put, and what is left of it.
#[derive(Clone)]
pub struct NodeCapacity<'a> {
    /// The host.
    pub id: HostId,
    host: &'a Host,
    node: &'a Node,
    used: Cow<'a, Used>,
    /// Slots of the group are reserved on it.
    reserved: bool,
    /// How many members are on it: in place, or assigned here.
    members: usize,
    /// The member that asks may go there.
    open: bool,
}

/// The nodes of a domain, and who has been assigned to them.
#[derive(Clone)]
pub struct DomainPacking<'a, 's> {
    problem: Problem<'a, 's>,
    nodes: Vec<NodeCapacity<'a>>,
    /// Class and node of each member that has been assigned.
    assigned: Vec<(ClassId, Position)>,
    /// By class and node: what node and pods in place say, which no assignment changes.
    suitable: Vec<bool>,
    /// Whether no member minds any other.
    without_conflicts: bool,
}

impl<'a, 's> DomainPacking<'a, 's> {
    /// Nobody assigned yet, over some hosts.
    pub fn over(hosts: &[HostId], problem: Problem<'a, 's>) -> Self {
        let members = problem.members;
        let reservations = problem.availability.view.ledger().reservations();
        let reserved = reservations.of(&members.membership.group);
        let node = |id: HostId| {
            let (host, node) = problem.host(id)?;
            let slots = reserved.iter().flat_map(|reservation| &reservation.slots);
            Some(NodeCapacity {
                id,
                host,
                node,
                used: problem.availability.used(host),
                reserved: slots.into_iter().any(|slot| slot.host == host.name),
                members: members.placed.iter().filter(|placed| placed.host == id).count(),
                open: problem.is_open(id),
            })
        };
        let nodes: Vec<_> = hosts.iter().copied().filter_map(node).collect();
        let suits = |class| nodes.iter().map(move |node| problem.suits(class, node.host, node.node));
        let suitable = members.classes().flat_map(suits).collect();
        let without_conflicts = problem.conflicts.are_none_between_members();
        Self { problem, nodes, assigned: Vec::new(), suitable, without_conflicts }
    }

    /// Assigns everybody who is missing and wanted, or says that it cannot be done. The member that asks gets a host
    /// where it may go.
    pub fn assign_all(&mut self, wanted: impl Fn(&Class<'_>) -> bool) -> bool {
        let members = self.problem.members;
        let classes: Vec<ClassId> = members.classes().filter(|class| wanted(members.class(*class))).collect();
        let spare = |class: ClassId| self.capacity_of(class).checked_sub(members.class(class).count);
        let Some(spare) = classes.iter().map(|class| spare(*class)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let orders = orders(&classes, &spare);
        let asking = members.asking.filter(|class| classes.contains(class));
        let begin = self.clone();
        for order in &orders {
            if self.assign_in(order, None) && (asking.is_none() || self.asking_is_assigned()) {
                return true;
            }
            self.clone_from(&begin);
        }
        let Some(asking) = asking.filter(|_| self.nodes.iter().any(|node| !node.open)) else { return false };
        // Somebody else would have got the last host to which the one who asks may go.
        let pins = self.positions().filter(|at| self.node(*at).open).take(MOST_PINS);
        for pin in pins.collect::<Vec<_>>() {
            for order in &orders {
                if self.assign_in(order, Some((asking, pin))) {
                    return true;
                }
                self.clone_from(&begin);
            }
        }
        false
    }

    /// Assigns one member to a certain node if asked to, then everybody else that is wanted.
    fn assign_in(&mut self, order: &[ClassId], pin: Option<(ClassId, Position)>) -> bool {
        if let Some((class, at)) = pin {
            if self.capacity(class, at) == 0 {
                return false;
            }
            self.assign(class, at);
        }
        order.iter().all(|class| {
            let pinned = usize::from(pin.is_some_and(|(pinned, _)| pinned == *class));
            let count = self.problem.members.class(*class).count - pinned;
            self.fill(*class, count)
        })
    }

    fn asking_is_assigned(&self) -> bool {
        let asking = self.problem.members.asking;
        self.assigned.iter().any(|(class, at)| Some(*class) == asking && self.node(*at).open)
    }

    fn fill(&mut self, class: ClassId, mut count: usize) -> bool {
        let among_themselves = self.problem.conflicts.between(class, class);
        let reaching_further = among_themselves.iter().any(|key| !is_per_host(key));
        let mut capacities: Vec<usize> = self.positions().map(|at| self.capacity(class, at)).collect();
        while count > 0 {
            let Some(at) = self.next_node(&capacities, count) else { return false };
            let times = match self.problem.packing {
                Packing::FewestHosts => capacities[at.0].min(count),
                Packing::MostHosts => 1,
            };
            for _ in 0..times {
                self.assign(class, at);
            }
            count -= times;
            // Whom one member keeps away from more than its own host is seen only now.
            if reaching_further {
                capacities = self.positions().map(|at| self.capacity(class, at)).collect();
            } else {
                capacities[at.0] = self.capacity(class, at);
            }
        }
        true
    }

    /// Where the next members go. With fewest hosts: those that the group is on, the one that takes all that are left
    /// most exactly, else the one that takes most. With most hosts: the one with fewest members.
    fn next_node(&self, capacities: &[usize], count: usize) -> Option<Position> {
        let free = self.positions().filter(|at| capacities[at.0] > 0);
        match self.problem.packing {
            Packing::FewestHosts => free.min_by_key(|at| {
                let capacity = capacities[at.0];
                let ours = self.node(*at).reserved || self.node(*at).members > 0;
                let takes_all = capacity >= count;
                let exactness = if takes_all { capacity } else { usize::MAX - capacity };
                (!ours, !takes_all, exactness)
            }),
            Packing::MostHosts => {
                free.min_by_key(|at| (self.node(*at).members, usize::MAX - capacities[at.0]))
            }
        }
    }

    fn assign(&mut self, class: ClassId, at: Position) {
        let requests = self.problem.members.class(class).requests;
        let node = &mut self.nodes[at.0];
        node.used.to_mut().arrive(requests);
        node.members += 1;
        self.assigned.push((class, at));
    }

    /// How many more of a class the node would take.
    fn capacity(&self, class: ClassId, at: Position) -> usize {
        let suitable = self.suitable[class.index() * self.nodes.len() + at.0];
        if !suitable || (!self.without_conflicts && self.conflicts(class, at)) {
            return 0;
        }
        let NodeCapacity { node, used, .. } = self.node(at);
        self.problem.room(class, node, used)
    }

    /// The most that one node would take of a class.
    pub fn largest_capacity(&self, class: ClassId) -> usize {
        self.positions().map(|at| self.capacity(class, at)).max().unwrap_or_default()
    }

    /// How many more of a class would find room, if they came alone.
    pub fn capacity_of(&self, class: ClassId) -> usize {
        let per_host = self.problem.conflicts.between(class, class).iter().all(|key| is_per_host(key));
        if per_host {
            self.positions().map(|at| self.capacity(class, at)).fold(0, usize::saturating_add)
        } else {
            self.one_by_one(class)
        }
    }

    /// Members that keep apart by more than the host: the first takes places away from the next.
    fn one_by_one(&self, class: ClassId) -> usize {
        let mut packing = self.clone();
        let mut count = 0;
        while let Some(at) = packing.positions().find(|at| packing.capacity(class, *at) > 0) {
            packing.assign(class, at);
            count += 1;
        }
        count
    }

    /// Whether somebody who has been assigned keeps the class away from the node.
    fn conflicts(&self, class: ClassId, at: Position) -> bool {
        self.assigned.iter().any(|(other, there)| {
            let keys = self.problem.conflicts.between(class, *other);
            let (here, there) = (self.node(at), self.node(*there));
            let shared = |key: &str| {
                let value = here.node.labels.get(key);
                value.is_some() && value == there.node.labels.get(key)
            };
            keys.iter().any(|key| shared(key))
        })
    }

    /// The hosts to which the member that asks could go, all others keeping theirs. Its own is one of those of its
    /// class: it may have any of them. kube-scheduler knows who is in flight to the host, but not what is reserved there:
    /// where it sees more room than there is, those in flight, who can take `lost` places, must leave some.
    pub fn hosts_for_asking(&self, lost: usize) -> Vec<HostId> {
        let Some(asking) = self.problem.members.asking else { return Vec::new() };
        let takes = |at: &Position| {
            let NodeCapacity { host, node, open, .. } = self.node(*at);
            if !open {
                return false;
            }
            let here = self.assigned.iter().filter(|(class, there)| *class == asking && there == at).count();
            let room = here + self.capacity(asking, *at);
            let seen = self.problem.members.class(asking).demand().capacity(node, &host.used);
            let all_is_seen = usize::try_from(seen).unwrap_or_default() <= room;
            room > 0 && (all_is_seen || room > lost)
        };
        self.positions().filter(takes).map(|at| self.node(at).id).collect()
    }

    /// Takes over the assignments of a packing over some of these nodes.
    pub fn adopt(&mut self, part: &Self) {
        for (class, there) in &part.assigned {
            let id = part.node(*there).id;
            if let Some(at) = self.positions().find(|at| self.node(*at).id == id) {
                self.assign(*class, at);
            }
        }
    }

    /// Lets the member that asks go nowhere but to the nodes of another packing.
    pub fn restrict_asking_to(&mut self, part: &Self) {
        for node in &mut self.nodes {
            node.open &= part.nodes.iter().any(|other| other.id == node.id);
        }
    }

    /// Assigns so many more of each class than there are, if that can be.
    pub fn assign_spare(&mut self, spare: &[usize]) -> bool {
        self.problem.members.classes().zip(spare).all(|(class, more)| self.fill(class, *more))
    }

    /// Takes the slots that are reserved as far as they still hold, those that are needed first. Whether there is one for
    /// everybody, and one of them is where the member that asks may go. With `spare`, slots beyond that are kept too.
    pub fn take_reserved(&mut self, slots: &[Slot], spare: bool) -> bool {
        let members = self.problem.members;
        let mut needed: Vec<usize> = members.missing.iter().map(|class| class.count).collect();
        let mut left = Vec::new();
        for slot in slots {
            let at = self.position_of(slot);
            let takes = |class: &ClassId| {
                let Class { requests, requirements, .. } = members.class(*class);
                slot.suits(requests, requirements) && at.is_some_and(|at| self.capacity(*class, at) > 0)
            };
            let wanted = members.classes().filter(|class| needed[class.index()] > 0).find(takes);
            match (wanted, at) {
                (Some(class), Some(at)) => {
                    needed[class.index()] -= 1;
                    self.assign(class, at);
                }
                _ => left.push(slot),
            }
        }
        if needed.iter().any(|needed| *needed > 0) || !self.asking_is_assigned() {
            return false;
        }
        for slot in left.into_iter().filter(|_| spare) {
            let Some(at) = self.position_of(slot) else { continue };
            let takes = |class: &ClassId| {
                *members.class(*class).requests == slot.requests && self.capacity(*class, at) > 0
            };
            if let Some(class) = members.classes().find(takes) {
                self.assign(class, at);
            }
        }
        true
    }

    /// Who has been assigned to which host.
    pub fn assignments(&self) -> impl Iterator<Item = (ClassId, HostId)> {
        self.assigned.iter().map(|(class, at)| (*class, self.node(*at).id))
    }

    /// Pods in place on nodes where not everybody who is assigned there would fit beside them.
    pub fn pods_in_the_way(&self) -> impl Iterator<Item = &'a Pod> {
        let crowded = self.positions().filter(|at| self.is_overfull(*at));
        crowded.flat_map(|at| self.node(at).host.pods.iter().map(|pod| &**pod))
    }

    /// Whether those assigned to a node would not all fit there if nothing were taken for granted.
    fn is_overfull(&self, at: Position) -> bool {
        let NodeCapacity { host, node, .. } = self.node(at);
        let availability = self.problem.availability.assuming(super::availability::Assumption::Nothing);
        let mut used = availability.used(host).into_owned();
        let here = self.assigned.iter().filter(|(_, there)| *there == at);
        let mut overfull = false;
        for class in here.map(|(class, _)| self.problem.members.class(*class)) {
            overfull |= class.demand().capacity(node, &used) == 0;
            used.arrive(class.requests);
        }
        overfull
    }

    fn node(&self, at: Position) -> &NodeCapacity<'a> {
        &self.nodes[at.0]
    }

    fn positions(&self) -> impl Iterator<Item = Position> + use<> {
        (0..self.nodes.len()).map(Position)
    }

    fn position_of(&self, slot: &Slot) -> Option<Position> {
        self.nodes.iter().position(|node| node.host.name == slot.host).map(Position)
    }
}

/// Classes in the orders in which they are to be tried. Who is hardest to place comes first; other orders follow if there
/// are few.
fn orders(classes: &[ClassId], spare: &[usize]) -> Vec<Vec<ClassId>> {
    let mut first: Vec<(usize, ClassId)> = spare.iter().copied().zip(classes.iter().copied()).collect();
    first.sort_unstable();
    let first: Vec<ClassId> = first.into_iter().map(|(_, class)| class).collect();
    match first[..] {
        [a, b] => vec![vec![a, b], vec![b, a]],
        [a, b, c] => {
            vec![vec![a, b, c], vec![a, c, b], vec![b, a, c], vec![b, c, a], vec![c, a, b], vec![c, b, a]]
        }
        _ => vec![first],
    }
}

#[cfg(test)]
mod tests {
    use super::super::availability::Assumption;
    use super::super::search::Outcome;
    use super::super::situation::{Situation, apart, hosts, member};
    use crate::model::Pod;

    fn plan(situation: &Situation, asking: &Pod) -> String {
        situation.search(asking, |search| match search.run(Assumption::Nothing, None) {
            Outcome::Found(plan) => hosts(&plan),
            Outcome::Undecided(_) => "undecided".to_owned(),
            Outcome::None => "none".to_owned(),
        })
    }

    #[test]
    fn members_go_to_few_hosts_or_to_many() {
        let racks = || Situation::racks(&[("a", &[2, 4, 6])]);
        let per_host = |pod| apart("kubernetes.io/hostname", pod);
        for (name, situation, asking, expected) in [
            ("the host that takes all most exactly", racks(), member("g", 0, 2, 2).build(), "a1 a1"),
            ("the largest first if none takes all", racks(), member("g", 0, 4, 2).build(), "a0 a2 a2 a2"),
            ("one to a host", racks(), per_host(member("g", 0, 3, 2)), "a0 a1 a2"),
            ("a fourth host would be needed", racks(), per_host(member("g", 0, 4, 1)), "none"),
            ("as many hosts as there are", racks().most_hosts(), member("g", 0, 3, 2).build(), "a0 a1 a2"),
            (
                "beside a member in place",
                racks().with(member("g", 1, 2, 2).on("a2").build()),
                member("g", 0, 2, 2).build(),
                "a2",
            ),
            (
                "away from members in place",
                racks().most_hosts().with(member("g", 1, 2, 2).on("a2").build()),
                member("g", 0, 2, 2).build(),
                "a1",
            ),
        ] {
            assert_eq!(plan(&situation, &asking), expected, "{name}");
        }
    }

    #[test]
    fn different_members_are_tried_in_several_orders() {
        // Workers of 2 first would fill the node of 3 and leave no place for the leader of 3.
        let situation = Situation::racks(&[("a", &[3, 4])])
            .with(member("g", 1, 3, 2).build())
            .with(member("g", 2, 3, 2).build());
        assert_eq!(plan(&situation, &member("g", 0, 3, 3).build()), "a0 a1 a1");
    }

    #[test]
    fn the_member_that_asks_gets_a_host_where_it_may_go() {
        let situation = Situation::racks(&[("a", &[2, 4])]);
        let asking = member("g", 0, 2, 2).build();
        let found = situation.search(&asking, |search| {
            let mut open = vec![false; search.view.host_numbers()];
            open[search.view.host_id("a0").expect("a0").index()] = true;
            match search.run(Assumption::Nothing, Some(&open)) {
                Outcome::Found(plan) => {
                    let open: Vec<_> = plan.open.iter().map(|id| search.view.host_numbered(*id)).collect();
                    (hosts(&plan), open.iter().flatten().map(|host| host.name.to_string()).collect())
                }
                Outcome::Undecided(_) | Outcome::None => (String::new(), Vec::new()),
            }
        });
        assert_eq!(found, ("a0 a1".to_owned(), vec!["a0".to_owned()]));
    }
}
