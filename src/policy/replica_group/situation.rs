//! Situations for the tests of this folder: racks of nodes, pods on them, and a group that looks for room.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::availability::Assumption;
use super::member::Member;
use super::members::Members;
use super::needs_of;
use super::problem::Problem;
use super::search::{Plan, Search, Settings};
use crate::config::Packing;
use crate::decision::{Decision, Detail};
use crate::fixtures::{PodBuilder, node, object, pod};
use crate::ledger::{Life, Reservation};
use crate::model::selector::Requirement;
use crate::model::{AffinityTerm, AntiAffinityTerm, Name, Object, Pod, PodConstraints, Resources, Selector};
use crate::policy::fit::Demand;
use crate::policy::{Budget, Purpose, Question};
use crate::view::change::Change;
use crate::view::{Host, Needs, View};

pub const RACK: &str = "example.com/rack";

/// A cluster, and how groups are placed in it.
pub struct Situation {
    pub view: View,
    pub settings: Settings,
}

pub fn cpus(amount: i64) -> Resources {
    Resources::new(amount * 1_000, 0, 0, [])
}

/// A member of a group of so many that requires one rack, requesting so many CPUs.
pub fn member(group: &str, at: usize, size: usize, requested: i64) -> PodBuilder {
    pod(&format!("{group}-{at}"))
        .annotation("berth.dev/group", group)
        .annotation("berth.dev/group-size", &size.to_string())
        .annotation("berth.dev/required-topology", RACK)
        .label("group", group)
        .requests(cpus(requested))
}

/// The same, one to a domain of the key.
pub fn apart(key: &str, pod: PodBuilder) -> Pod {
    let mut pod = pod.build();
    let selector = Selector::default();
    let namespaces = [pod.key.namespace.clone()].into();
    let term = AntiAffinityTerm {
        topology_key: Name::from(key),
        selector: Some(selector),
        namespaces,
        namespace_selector: None,
    };
    pod.anti_affinity = Some([term].into());
    pod
}

/// The same, near pods with this label in one domain of the key.
pub fn near(key: &str, (label, value): (&str, &str), pod: PodBuilder) -> Pod {
    let mut pod = pod.build();
    let requirement = Requirement::In(label.into(), [Name::from(value)].into());
    let term = AffinityTerm {
        topology_key: Name::from(key),
        selector: Some([requirement].into_iter().collect()),
        namespaces: [pod.key.namespace.clone()].into(),
        namespace_selector: None,
    };
    pod.constraints = Some(Arc::new(PodConstraints { affinity: [term].into(), ..PodConstraints::default() }));
    pod
}

impl Situation {
    /// Racks with nodes of so many CPUs each; the nodes of rack `a` are `a0`, `a1`, ...
    pub fn racks(racks: &[(&str, &[i64])]) -> Self {
        let settings = Settings {
            spread_key: None,
            packing: Packing::FewestHosts,
            count_on_preemption: true,
            most_members: 1_000,
            most_slots: 1_000,
        };
        let mut situation = Self { view: View::default(), settings };
        for (rack, nodes) in racks {
            for (at, amount) in nodes.iter().enumerate() {
                let name = format!("{rack}{at}");
                let node = node(&name).label(RACK, rack).label("kubernetes.io/hostname", &name);
                situation.apply(Object::Node(Arc::new(node.allocatable(cpus(*amount)).build())));
            }
        }
        situation
    }

    /// With a pod as the watch shows it.
    pub fn with(mut self, pod: Pod) -> Self {
        self.apply(Object::Pod(Arc::new(pod)));
        self
    }

    /// With any object, read from JSON.
    pub fn with_object(mut self, text: &str) -> Self {
        self.apply(object(text));
        self
    }

    /// With a pod that was offered several nodes.
    pub fn with_offered(mut self, pod: Pod) -> Self {
        let pod = Arc::new(pod);
        self.view.apply(Change::Upsert(Object::Pod(pod.clone())));
        self.view.offer(&pod, crate::view::change::Offer::Several, Duration::from_mins(1));
        self
    }

    /// With slots of so many CPUs reserved for another group, by host.
    pub fn with_reserved(mut self, group: &str, slots: &[(&str, i64)]) -> Self {
        let membership = member(group, 0, slots.len(), 0).build().group.expect("a member");
        let slots: Vec<_> = slots
            .iter()
            .map(|(host, amount)| {
                crate::ledger::Slot::of(&pod("m").requests(cpus(*amount)).build(), &Name::from(*host))
            })
            .collect();
        let reservation =
            Reservation { missing: slots.len(), slots, ..Reservation::nothing(membership.group.clone()) };
        self.view.reserve(reservation, Life::of(Duration::from_mins(1)));
        self
    }

    /// With the racks at hand.
    pub fn with_domains(&self) -> View {
        let mut view = self.view.clone();
        view.provide(&Needs { topology_keys: vec![RACK.into()], ..Needs::default() });
        view
    }

    pub fn most_hosts(mut self) -> Self {
        self.settings.packing = Packing::MostHosts;
        self
    }

    fn apply(&mut self, object: Object) {
        drop(self.view.apply(Change::Upsert(object)));
    }

    /// Lets a member look for room.
    pub fn search<R>(&self, asking: &Pod, look: impl FnOnce(&Search<'_>) -> R) -> R {
        let members = Members::of(asking, &self.view, Budget::unlimited()).expect("a member");
        let mut view = self.view.clone();
        view.provide(&needs_of(&members, &self.settings));
        let budget = Budget::unlimited();
        let members = Members::of(asking, &view, budget).expect("a member");
        look(&Search::new(&members, Some(asking), &view, &self.settings, budget).expect("provided"))
    }

    /// What is decided about a member, with all nodes that have room for it as candidates in the order of their names.
    pub fn decide(&self, asking: &Pod, detail: Detail) -> Decision {
        let view = self.with_domains();
        let demand = Demand::of(asking);
        let has_room =
            |host: &&Host| host.node.as_ref().is_some_and(|node| demand.capacity(node, &host.used) > 0);
        let mut names: Vec<Cow<'_, str>> =
            view.hosts().filter(has_room).map(|host| Cow::Owned(host.name.to_string())).collect();
        names.sort_unstable();
        let question = Question { detail, ..Question::about(Purpose::Filter, asking, &names, &view) };
        self.answer(asking, &question)
    }

    /// What is decided about a member that is asked about with these candidates.
    pub fn decide_among(&self, asking: &Pod, candidates: &[&str], may_nominate: bool) -> Decision {
        let view = self.with_domains();
        let names: Vec<Cow<'_, str>> = candidates.iter().map(|name| Cow::Borrowed(*name)).collect();
        let question = Question::about(Purpose::Filter, asking, &names, &view);
        self.answer(asking, &Question { may_nominate, ..question })
    }

    fn answer(&self, asking: &Pod, question: &Question<'_>) -> Decision {
        let view = question.view;
        let members = Members::of(asking, view, Budget::unlimited()).expect("a member");
        let budget = Budget::unlimited();
        let search = Search::new(&members, Some(asking), view, &self.settings, budget).expect("provided");
        let mut decision = Decision::all_pass(question.candidates.len());
        Member { search, question }.filter(&mut decision);
        decision
    }

    /// The problem of a member's group, nothing being taken for granted.
    pub fn problem<R>(
        &self,
        asking: &Pod,
        assumption: Assumption,
        look: impl FnOnce(&Search<'_>, Problem<'_, '_>) -> R,
    ) -> R {
        self.search(asking, |search| look(search, search.problem(assumption, None)))
    }
}

/// A plan as text: the hosts of its slots in order.
pub fn hosts(plan: &Plan) -> String {
    let mut hosts: Vec<&str> = plan.reservation.slots.iter().map(|slot| &*slot.host).collect();
    hosts.sort_unstable();
    hosts.join(" ")
}
