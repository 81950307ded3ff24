//! Which constraints apply to a pod.

use crate::config::{self, DefaultingType, InclusionPolicy, WhenUnsatisfiable};
use crate::model::{Labels, Name, Pod, Requirements, Selector};
use crate::view::View;

/// The rules of one configuration, ready for use.
#[derive(Debug)]
pub struct Rules {
    default: RuleSet,
    overrides: Vec<Override>,
}

#[derive(Debug)]
struct Override {
    namespaces: Selector,
    pods: Selector,
    rules: RuleSet,
}

/// The constraints for a pod, by what they do.
#[derive(Debug, Default)]
pub struct RuleSet {
    pub hard: Vec<Constraint>,
    pub soft: Vec<Constraint>,
    /// Whether only nodes with every topology label are scored. The built-in constraints are lenient: nodes
    /// without a zone are still spread over by host.
    pub require_all_keys: bool,
}

/// One constraint.
#[derive(Debug)]
pub struct Constraint {
    pub max_skew: i64,
    pub topology_key: Name,
    pub min_domains: usize,
    pub honor_affinity: bool,
    pub honor_taints: bool,
}

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

impl Rules {
    /// Makes a configuration's rules ready for use.
    pub fn compile(config: &config::TopologySpread) -> Self {
        let default = match config.defaulting_type {
            DefaultingType::System => RuleSet::built_in(),
            DefaultingType::List => RuleSet::listed(&config.default_constraints),
        };
        let overrides = config.overrides.iter().map(|rule| Override {
            namespaces: rule.namespace_selector.as_ref().map(Selector::from).unwrap_or_default(),
            pods: rule.pod_selector.as_ref().map(Selector::from).unwrap_or_default(),
            rules: RuleSet::listed(&rule.default_constraints),
        });
        Self { default, overrides: overrides.collect() }
    }

    /// The constraints for a pod: those of the first override that matches, or the default ones.
    pub fn of(&self, pod: &Pod, view: &View) -> &RuleSet {
        if self.overrides.is_empty() {
            return &self.default;
        }
        let unlabelled = Labels::default();
        let namespace = view.namespace(&pod.key.namespace);
        let namespace = namespace.map_or(&unlabelled, |namespace| &namespace.labels);
        let matches = |rule: &&Override| rule.namespaces.matches(namespace) && rule.pods.matches(&pod.labels);
        self.overrides.iter().find(matches).map_or(&self.default, |rule| &rule.rules)
    }
}

impl RuleSet {
    fn built_in() -> Self {
        let soft = [(HOSTNAME, 3), (ZONE, 5)].map(|(key, max_skew)| Constraint {
            max_skew,
            topology_key: key.into(),
            min_domains: 1,
            honor_affinity: true,
            honor_taints: false,
        });
        Self { hard: Vec::new(), soft: soft.into(), require_all_keys: false }
    }

    fn listed(constraints: &[config::SpreadConstraint]) -> Self {
        let with = |action| {
            let chosen = constraints.iter().filter(move |c| c.when_unsatisfiable == action);
            chosen.map(Constraint::from).collect()
        };
        Self {
            hard: with(WhenUnsatisfiable::DoNotSchedule),
            soft: with(WhenUnsatisfiable::ScheduleAnyway),
            require_all_keys: true,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.hard.is_empty() && self.soft.is_empty()
    }

    pub fn topology_keys(&self) -> impl Iterator<Item = &Name> {
        self.hard.iter().chain(&self.soft).map(|constraint| &constraint.topology_key)
    }
}

impl Constraint {
    /// Whether it depends on more than labels whether a node counts for a pod with these requirements.
    pub fn looks_at_nodes(&self, requirements: &Requirements) -> bool {
        self.honor_taints || (self.honor_affinity && !requirements.fit_every_node())
    }

    /// Hosts are told apart by this very label: scoring takes their counts one by one.
    pub fn is_per_host(&self) -> bool {
        &*self.topology_key == HOSTNAME
    }
}

impl From<&config::SpreadConstraint> for Constraint {
    fn from(config: &config::SpreadConstraint) -> Self {
        Self {
            max_skew: config.max_skew.into(),
            topology_key: config.topology_key.as_str().into(),
            min_domains: config.min_domains.and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
            honor_affinity: config.node_affinity_policy != Some(InclusionPolicy::Ignore),
            honor_taints: config.node_taints_policy == Some(InclusionPolicy::Honor),
        }
    }
}
