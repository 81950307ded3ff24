//! Required affinity to other pods: where members may be for the sake of those that they have to be near.
//!
//! As in kube-scheduler a pod counts as one to be near if all terms match it, each term wants such a pod in the node's domain
//! of its key, and a pod that matches its own terms may begin where there is no such pod anywhere.
//!
//! ```text
//!   pods in place that match         their domains are open                              exact
//!   members of the plan that match   everybody concerned is put into one domain of       one domain, where kube-scheduler
//!                                    the key, unless the hosts lie in one anyway         would allow several
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use imbl::Vector;

use super::class::{Class, ClassId};
use super::conflicts::Neighbour;
use super::count::count;
use super::host_set::HostSet;
use super::members::Members;
use super::packing::DomainPacking;
use super::problem::Problem;
use crate::model::{AffinityTerm, Name, Pod, Selector};
use crate::view::{CounterKey, DomainId, Domains, Host, HostDomain, HostId, Needs, View};

/// Terms that look into more namespaces than this are not judged: every namespace costs an index.
const MOST_NAMESPACES: usize = 64;
/// How many domains are tried for members that have to be near each other.
const MOST_TRIED: usize = 16;

/// What the affinity of a group's missing members allows.
pub struct Affinity<'a> {
    view: &'a View,
    /// By class; absent for those that have no terms, or none that can be judged.
    by_class: Vec<Option<ClassAffinity<'a>>>,
}

struct ClassAffinity<'a> {
    terms: Vec<Term<'a>>,
    /// Classes of which a member will be one to be near, and will find a place by itself.
    begins_with: Vec<ClassId>,
}

struct Term<'a> {
    domains: &'a Arc<Domains>,
    /// How many pods in place match, by domain, namespace by namespace.
    in_place: Vec<&'a Vector<i64>>,
    /// Where an earlier attempt put the member that asks, if it matches: it is not there.
    asking: Option<DomainId>,
}

/// Members that have to be in one domain of a key.
struct Bond<'a> {
    domains: &'a Arc<Domains>,
    classes: Vec<ClassId>,
}

/// What the view must provide for it.
pub fn needs(members: &Members<'_>) -> Needs {
    let mut needs = Needs::default();
    for class in members.missing.iter().filter(|class| !class.affinity_terms().is_empty()) {
        let counters = counted(class.affinity_terms(), members.view).unwrap_or_default();
        for term in class.affinity_terms() {
            needs.topology_keys.push(term.topology_key.clone());
            needs.sums.extend(counters.iter().map(|counter| (counter.clone(), term.topology_key.clone())));
        }
        needs.counters.extend(counters);
    }
    needs
}

/// The counters of pods that all terms match, one for each namespace; `None` if there are too many.
fn counted(terms: &[AffinityTerm], view: &View) -> Option<Vec<CounterKey>> {
    // A term without a selector selects nobody.
    let selectors: Option<Vec<&Selector>> = terms.iter().map(|term| term.selector.as_ref()).collect();
    let Some(selectors) = selectors else { return Some(Vec::new()) };
    let selector: Selector = selectors.into_iter().flat_map(Selector::requirements).cloned().collect();
    let (first, others) = terms.split_first()?;
    let mut namespaces: Vec<Name> = first.namespaces.to_vec();
    if let Some(selector) = &first.namespace_selector {
        let selected = view.namespaces().filter(|namespace| selector.matches(&namespace.labels));
        namespaces.extend(selected.map(|namespace| namespace.key.name.clone()));
    }
    namespaces.sort_unstable();
    namespaces.dedup();
    namespaces.retain(|name| others.iter().all(|term| looks_into(term, name, view)));
    let keys = namespaces.into_iter().map(|namespace| CounterKey { namespace, selector: selector.clone() });
    let keys: Vec<_> = keys.take(MOST_NAMESPACES + 1).collect();
    (keys.len() <= MOST_NAMESPACES).then_some(keys)
}

fn looks_into(term: &AffinityTerm, namespace: &Name, view: &View) -> bool {
    let labels = view.namespace(namespace).map(|namespace| &namespace.labels);
    let selected = || Some(term.namespace_selector.as_ref()?.matches(labels?));
    term.namespaces.contains(namespace) || selected().unwrap_or_default()
}

impl<'a> Affinity<'a> {
    /// That of a group's missing members, while one of them asks.
    pub fn of(members: &Members<'a>, asking: Option<&Pod>) -> Self {
        let view = members.view;
        if members.missing.iter().all(|class| class.affinity_terms().is_empty()) {
            return Self { view, by_class: Vec::new() };
        }
        let mut by_class: Vec<_> =
            members.missing.iter().map(|class| of_class(class, asking, view)).collect();
        let beginning = beginning(members, &by_class);
        for (class, begins_with) in by_class.iter_mut().zip(beginning) {
            if let Some(class) = class {
                class.begins_with = begins_with;
            }
        }
        Self { view, by_class }
    }

    /// Whether a member of a class may be on a host, for the sake of pods in place, or of members that may be near there.
    pub fn admits(&self, class: ClassId, host: &Host) -> bool {
        let Some(Some(class)) = self.by_class.get(class.index()) else { return true };
        let Some(host) = self.view.host_id(&host.name) else { return false };
        class.reach(host).is_some_and(|met| met || !class.begins_with.is_empty())
    }

    /// Whether some members have to be near others of the plan, so that it matters where those are put.
    pub fn is_between_members(&self) -> bool {
        self.by_class.iter().flatten().any(|class| !class.begins_with.is_empty())
    }

    /// Whether such members could be put into different domains of one of their keys.
    pub fn divides(&self, set: &HostSet<'_>) -> bool {
        !self.bonds(set).is_empty()
    }

    /// Who has to be in one domain, for each key of which the hosts lie in several.
    fn bonds(&self, set: &HostSet<'_>) -> Vec<Bond<'a>> {
        let mut bonds: Vec<Bond<'a>> = Vec::new();
        for (at, class) in self.by_class.iter().enumerate() {
            let Some(class) = class.as_ref().filter(|class| !class.begins_with.is_empty()) else { continue };
            for term in class.terms.iter().filter(|term| spans_several(set, term.domains)) {
                let known = bonds.iter().position(|bond| Arc::ptr_eq(bond.domains, term.domains));
                let at_bond = known.unwrap_or(bonds.len());
                if known.is_none() {
                    bonds.push(Bond { domains: term.domains, classes: Vec::new() });
                }
                let concerned = &mut bonds[at_bond].classes;
                concerned.extend([ClassId::at(at)].iter().chain(&class.begins_with));
                concerned.sort_unstable();
                concerned.dedup();
            }
        }
        bonds
    }

    /// Whether a pod in place is near enough to a host.
    fn is_met(&self, class: ClassId, host: HostId) -> bool {
        let class = self.by_class.get(class.index()).and_then(Option::as_ref);
        class.is_none_or(|class| class.reach(host) == Some(true))
    }
}

impl ClassAffinity<'_> {
    /// Whether pods in place that match are near a host; `None` if it lacks a label, so that none can be.
    fn reach(&self, host: HostId) -> Option<bool> {
        let mut met = true;
        for term in &self.terms {
            met &= term.has_pods_in(domain_of(host, term.domains)?);
        }
        Some(met)
    }

    /// Whether a pod in place matches, anywhere.
    fn is_reached(&self) -> bool {
        self.terms.iter().any(|term| term.domains.ids().any(|domain| term.has_pods_in(domain)))
    }
}

impl Term<'_> {
    fn has_pods_in(&self, domain: DomainId) -> bool {
        let counts = self.in_place.iter().filter_map(|counts| counts.get(domain.index()));
        counts.sum::<i64>() > i64::from(self.asking == Some(domain))
    }
}

fn of_class<'a>(class: &Class<'a>, asking: Option<&Pod>, view: &'a View) -> Option<ClassAffinity<'a>> {
    let terms = class.affinity_terms();
    if terms.is_empty() {
        return None;
    }
    let counters = counted(terms, view)?;
    let asking = asking.filter(|pod| terms.iter().all(|term| term.matches(Neighbour::pod(pod), view)));
    let asking = asking.and_then(|pod| view.host_id(view.place_of(&pod.uid)?));
    let term = |term: &AffinityTerm| {
        let domains = view.domains(&term.topology_key)?;
        let counts = counters.iter().map(|key| view.counter(key)?.per_domain(&term.topology_key, domains));
        let asking = asking.and_then(|host| domain_of(host, domains));
        Some(Term { domains, in_place: counts.collect::<Option<_>>()?, asking })
    };
    let terms = terms.iter().map(term).collect::<Option<_>>()?;
    Some(ClassAffinity { terms, begins_with: Vec::new() })
}

/// For each class, the classes whose members it can be near because they find a place without it. A class that matches
/// its own terms is one of them as long as no pod in place does.
fn beginning(members: &Members<'_>, by_class: &[Option<ClassAffinity<'_>>]) -> Vec<Vec<ClassId>> {
    let matches = |class: ClassId, other: ClassId| {
        let other = Neighbour::class(members.class(other), members.namespace);
        members.class(class).affinity_terms().iter().all(|term| term.matches(other, members.view))
    };
    let is_reached = |class: ClassId| by_class[class.index()].as_ref().is_none_or(ClassAffinity::is_reached);
    let is_first = |class: ClassId| !is_reached(class) && matches(class, class);
    let mut placeable: Vec<bool> =
        members.classes().map(|class| is_reached(class) || is_first(class)).collect();
    loop {
        let others = |class: ClassId| members.classes().filter(move |other| *other != class);
        let follows =
            |class: ClassId| others(class).any(|other| placeable[other.index()] && matches(class, other));
        let next = members.classes().find(|class| !placeable[class.index()] && follows(*class));
        match next {
            Some(class) => placeable[class.index()] = true,
            None => break,
        }
    }
    let begins = |class: ClassId, other: ClassId| {
        if other == class { is_first(class) } else { placeable[other.index()] && matches(class, other) }
    };
    let of = |class: ClassId| match by_class[class.index()] {
        Some(_) => members.classes().filter(|other| begins(class, *other)).collect(),
        None => Vec::new(),
    };
    members.classes().map(of).collect()
}

fn domain_of(host: HostId, domains: &Domains) -> Option<DomainId> {
    match domains.of(host) {
        HostDomain::In(domain) => Some(domain),
        HostDomain::MissingLabel | HostDomain::UnknownNode => None,
    }
}

fn spans_several(set: &HostSet<'_>, domains: &Domains) -> bool {
    let mut inside = set.hosts.iter().filter_map(|host| domain_of(*host, domains));
    let first = inside.next();
    inside.any(|domain| Some(domain) != first)
}

/// Assigns everybody, those that have to be near each other into one domain: where pods in place are near them, else in the
/// domain that takes them most exactly.
pub fn assign_all<'a, 's>(
    packing: DomainPacking<'a, 's>,
    set: &HostSet<'_>,
    problem: &Problem<'a, 's>,
) -> Option<DomainPacking<'a, 's>> {
    assign_within(packing, set, problem, &problem.affinity.bonds(set))
}

fn assign_within<'a, 's>(
    mut packing: DomainPacking<'a, 's>,
    set: &HostSet<'_>,
    problem: &Problem<'a, 's>,
    bonds: &[Bond<'_>],
) -> Option<DomainPacking<'a, 's>> {
    let Some((bond, others)) = bonds.split_first() else {
        let all: Vec<ClassId> = problem.members.classes().collect();
        return packing.assign_all(&all).then_some(packing);
    };
    let mut beside_pods_in_place = packing.clone();
    for class in &bond.classes {
        beside_pods_in_place.restrict(*class, |host| problem.affinity.is_met(*class, host));
    }
    if let Some(assigned) = assign_within(beside_pods_in_place, set, problem, others) {
        return Some(assigned);
    }
    let count_of = |class: &ClassId| problem.members.class(*class).count;
    let left_over = |part: &HostSet<'_>| {
        let capacity = count(part, problem).by_class;
        let left = bond.classes.iter().map(|class| capacity[class.index()].checked_sub(count_of(class)));
        left.sum::<Option<usize>>()
    };
    let parts = set.divided_by(bond.domains).into_iter();
    let mut parts: Vec<_> = parts.filter_map(|part| Some((left_over(&part)?, part))).collect();
    parts.sort_by_key(|(left_over, part)| (*left_over, part.domain));
    parts.into_iter().take(MOST_TRIED).find_map(|(_, part)| {
        let mut together = packing.clone();
        let hosts: HashSet<HostId> = part.hosts.iter().copied().collect();
        for class in &bond.classes {
            together.restrict(*class, |host| hosts.contains(&host));
        }
        assign_within(together, set, problem, others)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::availability::Assumption;
    use super::super::search::Outcome;
    use super::super::situation::{RACK, Situation, cpus, hosts, member, near};
    use crate::fixtures::{PodBuilder, pod};
    use crate::model::Pod;

    const HOST: &str = "kubernetes.io/hostname";
    const ZONE: &str = "zone";

    fn plan(situation: &Situation, asking: &Pod) -> String {
        situation.search(asking, |search| match search.run(Assumption::Nothing, None) {
            Outcome::Found(plan) => hosts(&plan),
            Outcome::Undecided(_) => "undecided".to_owned(),
            Outcome::None => "none".to_owned(),
        })
    }

    fn cache(host: &str) -> Pod {
        pod("cache").label("app", "cache").on(host).build()
    }

    #[test]
    fn members_are_put_near_pods_in_place() {
        let racks = || Situation::racks(&[("a", &[4]), ("b", &[8])]);
        let wants = |key: &str| near(key, ("app", "cache"), member("g", 0, 2, 2));
        for (name, situation, asking, expected) in [
            ("in the rack of a pod", racks().with(cache("b0")), wants(RACK), "b0 b0"),
            ("in another", racks().with(cache("a0")), wants(RACK), "a0 a0"),
            ("there is no such pod", racks(), wants(RACK), "none"),
            ("nodes lack the label", racks().with(cache("b0")), wants(ZONE), "none"),
        ] {
            assert_eq!(plan(&situation, &asking), expected, "{name}");
        }
    }

    #[test]
    fn who_matches_its_own_terms_may_begin_where_nobody_is_yet() {
        let own = |builder: PodBuilder| near(RACK, ("group", "g"), builder);
        let asking = own(member("g", 0, 2, 2));
        let racks = || Situation::racks(&[("a", &[4]), ("b", &[8])]);
        assert_eq!(plan(&racks(), &asking), "a0 a0", "the tightest rack");
        let elsewhere = pod("x").label("group", "g").on("b0").build();
        assert_eq!(plan(&racks().with(elsewhere), &asking), "b0 b0", "where one is");
    }

    #[test]
    fn a_member_that_asks_again_is_not_where_it_was_to_be() {
        let asking = near(RACK, ("group", "g"), member("g", 0, 1, 2));
        let mut racks = Situation::racks(&[("a", &[4]), ("b", &[8])]).with(asking.clone());
        racks.view.assume(&asking.uid, &asking.key, "b0".into(), Duration::from_mins(1));
        assert_eq!(plan(&racks, &asking), "a0");
    }

    #[test]
    fn members_that_want_to_be_near_others_of_their_group_are_put_into_one_domain() {
        // On the host of the leader: only the second host of the rack takes both.
        let situation = || {
            let worker = near(HOST, ("role", "leader"), member("g", 1, 2, 3));
            Situation::racks(&[("a", &[4, 6])]).with(worker)
        };
        let leader = || member("g", 0, 2, 3).label("role", "leader");
        assert_eq!(plan(&situation(), &leader().build()), "a1 a1");
        let full = situation().with(pod("x").requests(cpus(1)).on("a1").build());
        assert_eq!(plan(&full, &leader().build()), "none", "each would find a host by itself");
        let placed = situation().with(leader().uid("l").on("a0").build());
        let worker = near(HOST, ("role", "leader"), member("g", 1, 2, 1));
        assert_eq!(plan(&placed.with(worker.clone()), &worker), "a0", "the leader is there");
    }

    #[test]
    fn nobody_waits_for_a_pod_that_waits_for_it() {
        let leader = near(RACK, ("role", "worker"), member("g", 0, 2, 1).label("role", "leader"));
        let worker = near(RACK, ("role", "leader"), member("g", 1, 2, 1).label("role", "worker"));
        let racks = Situation::racks(&[("a", &[4])]).with(worker);
        assert_eq!(plan(&racks, &leader), "none");
    }
}
