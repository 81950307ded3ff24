//! Phase two: a host for every missing member within one domain.
//!
//! Finding out whether things of different sizes fit into boxes is hard in general. Here most members are alike, and for
//! members that are alike counting is exact. For a few different ones several orders are tried. What comes out is always a
//! host for everybody or nothing; now and then, for very mixed groups in very tight domains, it may be nothing although
//! a cleverer search would have found a way.
//!
//! One packing is filled and emptied again for every order that is tried: what its nodes and the pods in place say is found
//! out once. When the budget is spent no node takes anybody, and so every way through here ends.

mod evictions;
mod reserved_slots;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

pub use self::reserved_slots::Kept;
use super::class::ClassId;
use super::conflicts::KeyId;
use super::node_order::{FreeNode, NodeOrder};
use super::problem::Problem;
use crate::config::Packing;
use crate::model::{Node, Used};
use crate::view::{DomainId, Host, HostId};

/// How many hosts are tried for the member that asks, if it does not get one of its own accord.
const MOST_PINS: usize = 16;

/// The position of a node among those of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(usize);

impl Position {
    /// The first one.
    pub const FIRST: Self = Self(0);

    /// The one at a place in the list of nodes.
    #[cfg(test)]
    pub const fn at(index: usize) -> Self {
        Self(index)
    }

    /// Its place in the list of nodes.
    #[cfg(test)]
    pub const fn index(self) -> usize {
        self.0
    }
}

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
    /// In the order of their numbers.
    nodes: Vec<NodeCapacity<'a>>,
    /// Class and node of each member that has been assigned, in their order.
    assigned: Vec<(ClassId, Position)>,
    /// By class and node: what node and pods in place say, which no assignment changes. Found out when first asked for.
    suitable: Vec<Cell<Option<bool>>>,
    closed: ClosedDomains,
}

/// A domain that is closed to a class.
type ClosedDomain = (ClassId, KeyId, DomainId);

/// How many of those who have been assigned keep a class out of a domain.
type ClosedDomains = HashMap<ClosedDomain, usize, ahash::RandomState>;

impl<'a, 's> DomainPacking<'a, 's> {
    /// Nobody assigned yet, over some hosts, which come in the order of their numbers.
    pub fn over(hosts: &[HostId], problem: Problem<'a, 's>) -> Self {
        let node = |id: HostId| {
            let (host, node) = problem.host(id)?;
            let own = problem.own_hosts.on(id);
            Some(NodeCapacity {
                id,
                host,
                node,
                used: problem.availability.used(host),
                reserved: own.reserved,
                members: own.placed,
                open: problem.is_open(id),
            })
        };
        let nodes: Vec<_> =
            hosts.iter().copied().take_while(|_| problem.budget.spend(1)).filter_map(node).collect();
        let suitable = vec![Cell::new(None); nodes.len() * problem.members.missing.len()];
        Self { problem, nodes, assigned: Vec::new(), suitable, closed: HashMap::default() }
    }

    /// Assigns everybody of these classes, or says that it cannot be done. The member that asks gets a host where it may go.
    pub fn assign_all(&mut self, classes: &[ClassId]) -> bool {
        let members = self.problem.members;
        let spare = |class: ClassId| self.capacity_of(class).checked_sub(members.class(class).count);
        let Some(spare) = classes.iter().map(|class| spare(*class)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let orders = orders(classes, &spare);
        let asking = members.asking.filter(|class| classes.contains(class));
        let begin = self.assigned();
        for order in &orders {
            if self.assign_in(order, None) && (asking.is_none() || self.asking_is_assigned()) {
                return true;
            }
            self.undo(begin);
        }
        let Some(asking) = asking.filter(|_| self.nodes.iter().any(|node| !node.open)) else { return false };
        // Somebody else would have got the last host to which the one who asks may go.
        let pins = self.positions().filter(|at| self.node(*at).open).take(MOST_PINS);
        for pin in pins.collect::<Vec<_>>() {
            for order in orders.iter().filter(|_| !self.problem.budget.is_spent()) {
                if self.assign_in(order, Some((asking, pin))) {
                    return true;
                }
                self.undo(begin);
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
        if count == 0 {
            return true;
        }
        let free = |at: Position| self.free_node(class, at);
        let mut order = NodeOrder::of(self.positions().map(free), self.problem.packing);
        while count > 0 {
            let Some(node) = order.take(count) else { return false };
            // Whom one member keeps away from more than its own host is seen only now.
            let capacity = self.capacity(class, node.at);
            if capacity != node.capacity {
                order.put(FreeNode { capacity, ..node });
                continue;
            }
            let times = match self.problem.packing {
                Packing::FewestHosts => capacity.min(count),
                Packing::MostHosts => 1,
            };
            for _ in 0..times {
                self.assign(class, node.at);
            }
            count -= times;
            order.put(self.free_node(class, node.at));
        }
        true
    }

    fn free_node(&self, class: ClassId, at: Position) -> FreeNode {
        let NodeCapacity { reserved, members, .. } = *self.node(at);
        FreeNode { at, capacity: self.capacity(class, at), members, ours: reserved || members > 0 }
    }

    fn assign(&mut self, class: ClassId, at: Position) {
        let requests = self.problem.members.class(class).requests;
        let node = &mut self.nodes[at.0];
        node.used.to_mut().arrive(requests);
        node.members += 1;
        let id = node.id;
        self.assigned.push((class, at));
        self.for_each_closed(class, id, |closed, domain| *closed.entry(domain).or_default() += 1);
    }

    /// How many have been assigned: what [`Self::undo`] goes back to.
    pub fn assigned(&self) -> usize {
        self.assigned.len()
    }

    /// Takes back what was assigned since there were so many.
    pub fn undo(&mut self, assigned: usize) {
        while self.assigned.len() > assigned {
            let Some((class, at)) = self.assigned.pop() else { return };
            let requests = self.problem.members.class(class).requests;
            let node = &mut self.nodes[at.0];
            node.used.to_mut().leave(requests);
            node.members -= 1;
            let id = node.id;
            self.for_each_closed(class, id, |closed, domain| {
                if let Some(count) = closed.get_mut(&domain) {
                    *count -= 1;
                }
            });
        }
    }

    /// The domains that a member of a class on a host closes to each class.
    fn for_each_closed(
        &mut self,
        class: ClassId,
        host: HostId,
        change: impl Fn(&mut ClosedDomains, ClosedDomain),
    ) {
        let conflicts = self.problem.conflicts;
        if conflicts.with_any(class).is_empty() {
            return;
        }
        for other in self.problem.members.classes() {
            for (key, domain) in conflicts.domains_of(host, conflicts.between(other, class)) {
                change(&mut self.closed, (other, key, domain));
            }
        }
    }

    /// How many more of a class the node would take.
    fn capacity(&self, class: ClassId, at: Position) -> usize {
        let NodeCapacity { node, used, id, .. } = self.node(at);
        if !self.problem.budget.spend(1) {
            return 0;
        }
        // Room first: it is what most hosts of a busy cluster lack, and the cheapest to look at.
        let room = self.problem.room(class, node, used);
        if room == 0 || self.is_closed(class, *id) || !self.suits(class, at) { 0 } else { room }
    }

    /// Whether the node and the pods in place let the class onto it.
    fn suits(&self, class: ClassId, at: Position) -> bool {
        let known = &self.suitable[class.index() * self.nodes.len() + at.0];
        let NodeCapacity { id, host, node, .. } = self.node(at);
        let suits = known.get().unwrap_or_else(|| self.problem.suits(class, *id, host, node));
        known.set(Some(suits));
        suits
    }

    /// Whether somebody who has been assigned keeps the class away from the host.
    fn is_closed(&self, class: ClassId, host: HostId) -> bool {
        let keys = self.problem.conflicts.with_any(class);
        !keys.is_empty()
            && self.problem.conflicts.domains_of(host, keys).any(|(key, domain)| {
                self.closed.get(&(class, key, domain)).is_some_and(|members| *members > 0)
            })
    }

    /// The most that one node would take of a class.
    pub fn largest_capacity(&self, class: ClassId) -> usize {
        self.positions().map(|at| self.capacity(class, at)).max().unwrap_or_default()
    }

    /// How many more of a class would find room, if they came alone.
    pub fn capacity_of(&self, class: ClassId) -> usize {
        if self.problem.conflicts.are_per_host_within(class) {
            self.positions().map(|at| self.capacity(class, at)).fold(0, usize::saturating_add)
        } else {
            self.one_by_one(class)
        }
    }

    /// Members that keep apart by more than the host: the first takes places away from the next.
    fn one_by_one(&self, class: ClassId) -> usize {
        let conflicts = self.problem.conflicts;
        let keys = conflicts.between(class, class);
        let mut taken = HashSet::new();
        let mut count = 0_usize;
        for at in self.positions().filter(|at| self.capacity(class, *at) > 0) {
            let NodeCapacity { id, node, used, .. } = self.node(at);
            let mut domains = conflicts.domains_of(*id, keys).peekable();
            if domains.peek().is_none() {
                // Without the label nobody is kept away from anybody.
                count = count.saturating_add(self.problem.room_regardless_of_conflicts(class, node, used));
            } else if domains.all(|domain| !taken.contains(&domain)) {
                taken.extend(conflicts.domains_of(*id, keys));
                count += 1;
            }
        }
        count
    }

    /// The hosts to which the member that asks could go, all others keeping theirs. Its own is one of those of its
    /// class: it may have any of them. kube-scheduler knows who is in flight to the host, but not what is reserved there:
    /// where it sees more room than there is, or slots of others, those in flight, who can take `lost` places, must leave
    /// some.
    pub fn hosts_for_asking(&self, lost: usize) -> Vec<HostId> {
        let Some(asking) = self.problem.members.asking else { return Vec::new() };
        let (mut own, mut others) = (vec![0_usize; self.nodes.len()], vec![false; self.nodes.len()]);
        for (class, at) in &self.assigned {
            if *class == asking {
                own[at.0] += 1;
            } else {
                others[at.0] = true;
            }
        }
        let has_slots_of_others = |at: &Position, host: &Host| {
            others[at.0] || self.problem.availability.respected_slots(&host.name).next().is_some()
        };
        let takes = |at: &Position| {
            let NodeCapacity { host, node, open, .. } = self.node(*at);
            if !open {
                return false;
            }
            let room = own[at.0] + self.capacity(asking, *at);
            let seen = self.problem.members.class(asking).demand().capacity(node, &host.used);
            let all_is_seen = usize::try_from(seen).unwrap_or_default() <= room
                // Those in flight were let in beside the slots as they are.
                && (own[at.0] > 0 || lost == 0 || !has_slots_of_others(at, host));
            room > 0 && (all_is_seen || room > lost)
        };
        self.positions().filter(takes).map(|at| self.node(at).id).collect()
    }

    /// Takes over what a packing over some of these nodes has assigned since it had so many.
    pub fn adopt(&mut self, part: &Self, since: usize) {
        for (class, there) in &part.assigned[since..] {
            if let Some(at) = self.position_of(part.node(*there).id) {
                self.assign(*class, at);
            }
        }
    }

    /// Lets members of a class go nowhere but to these hosts.
    pub fn restrict(&mut self, class: ClassId, is_allowed: impl Fn(HostId) -> bool) {
        let row = class.index() * self.nodes.len();
        for (suitable, node) in self.suitable[row..].iter_mut().zip(&self.nodes) {
            if !is_allowed(node.id) {
                suitable.set(Some(false));
            }
        }
    }

    /// Lets the member that asks go nowhere but to the nodes of another packing.
    pub fn restrict_asking_to(&mut self, part: &Self) {
        for node in &mut self.nodes {
            node.open &= part.position_of(node.id).is_some();
        }
    }

    /// Assigns so many more of each class than there are, if that can be.
    pub fn assign_spare(&mut self, spare: &[usize]) -> bool {
        self.problem.members.classes().zip(spare).all(|(class, more)| self.fill(class, *more))
    }

    /// Who has been assigned to which host.
    pub fn assignments(&self) -> impl Iterator<Item = (ClassId, HostId)> {
        self.assigned.iter().map(|(class, at)| (*class, self.node(*at).id))
    }

    fn node(&self, at: Position) -> &NodeCapacity<'a> {
        &self.nodes[at.0]
    }

    fn positions(&self) -> impl Iterator<Item = Position> + use<> {
        (0..self.nodes.len()).map(Position)
    }

    fn position_of(&self, host: HostId) -> Option<Position> {
        self.nodes.binary_search_by_key(&host, |node| node.id).ok().map(Position)
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
