//! Nodes, and the labels on them that topologies ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Code, Finding};
use super::report::few;
use crate::config::{Config, DefaultingType, Mode, ReplicaGroups};
use crate::view::View;

/// What the cluster shows of nodes and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cluster {
    /// The labels of each node, by its name. Only keys are of interest.
    pub(super) nodes: BTreeMap<String, BTreeSet<String>>,
    /// How many groups ask for which topology key.
    pub(super) keys_of_groups: BTreeMap<String, usize>,
    /// How many groups have pods that name which scheduler.
    pub(super) schedulers_of_groups: BTreeMap<String, usize>,
}

impl Cluster {
    /// What a view shows.
    pub(super) fn of(view: &View) -> Self {
        let mut cluster = Self::default();
        for node in view.hosts().filter_map(|host| host.node.as_ref()) {
            let keys = node.labels.iter().map(|(key, _)| key.to_string()).collect();
            cluster.nodes.insert(node.name.to_string(), keys);
        }
        let mut groups: BTreeMap<_, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
        for pod in view.pods() {
            let Some(membership) = pod.group.as_ref().filter(|group| group.has_topology_request()) else {
                continue;
            };
            let (keys, schedulers) = groups.entry(membership.group.clone()).or_default();
            let request = &membership.topology;
            let asked = request.required.iter().chain(&request.preferred);
            let asked = asked.chain(membership.subgroup.iter().map(|subgroup| &subgroup.topology));
            keys.extend(asked.map(ToString::to_string));
            if pod.node.is_none() {
                schedulers.extend(pod.scheduler.iter().map(ToString::to_string));
            }
        }
        for (keys, schedulers) in groups.into_values() {
            for key in keys {
                *cluster.keys_of_groups.entry(key).or_default() += 1;
            }
            for scheduler in schedulers {
                *cluster.schedulers_of_groups.entry(scheduler).or_default() += 1;
            }
        }
        cluster
    }
}

/// Who asks for a key.
#[derive(Clone, Debug, Default)]
struct Asking {
    places: Vec<String>,
    /// Whether somebody asks who does not do so by default.
    is_meant: bool,
}

/// All keys that somebody asks for.
fn keys_asked_for(cluster: &Cluster, config: &Config) -> BTreeMap<String, Asking> {
    let mut keys: BTreeMap<String, Asking> = BTreeMap::new();
    let mut ask = |key: &str, place: String, is_meant: bool| {
        let asking = keys.entry(key.to_owned()).or_default();
        asking.is_meant |= is_meant;
        if !asking.places.contains(&place) {
            asking.places.push(place);
        }
    };
    let spread = &config.topology_spread;
    if spread.mode == Mode::Enforce {
        if spread.defaulting_type == DefaultingType::System {
            for key in ["kubernetes.io/hostname", "topology.kubernetes.io/zone"] {
                ask(key, "topologySpread.defaultingType: System".to_owned(), false);
            }
        }
        for (at, constraint) in spread.default_constraints.iter().enumerate() {
            ask(&constraint.topology_key, format!("topologySpread.defaultConstraints[{at}]"), true);
        }
        for (at, rule) in spread.overrides.iter().enumerate() {
            for constraint in &rule.default_constraints {
                ask(&constraint.topology_key, format!("topologySpread.overrides[{at}]"), true);
            }
        }
    }
    let groups = &config.replica_groups;
    let rules = groups.rules.iter().enumerate().map(|(at, rule)| (format!("rules[{at}]"), &rule.topology));
    let defaults = groups.default_topologies.iter().enumerate();
    let defaults = defaults.map(|(at, default)| (format!("defaultTopologies[{at}]"), &default.topology));
    for (place, topology) in rules.chain(defaults) {
        for key in topology.required.iter().chain(&topology.preferred) {
            ask(key, format!("replicaGroups.{place}"), true);
        }
    }
    if groups.recogniser().listens() && !groups.spread_topology.is_empty() {
        let is_meant = groups.spread_topology != ReplicaGroups::default().spread_topology;
        ask(&groups.spread_topology, "replicaGroups.spreadTopology".to_owned(), is_meant);
    }
    for (key, groups) in &cluster.keys_of_groups {
        ask(key, format!("{groups} groups in the cluster"), true);
    }
    keys
}

/// Nodes without the labels that somebody asks for.
pub(super) fn judge(cluster: &Cluster, config: &Config) -> Vec<Finding> {
    let asked = keys_asked_for(cluster, config);
    asked.iter().filter_map(|(key, asking)| missing(key, asking, cluster)).collect()
}

fn missing(key: &str, asking: &Asking, cluster: &Cluster) -> Option<Finding> {
    let without = |(_, labels): &(&String, &BTreeSet<String>)| !labels.contains(key);
    let names: Vec<_> = cluster.nodes.iter().filter(without).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let by = asking.places.join(" and ");
    let remedy = format!("label the nodes: kubectl label node NODE {key}=DOMAIN");
    if names.len() < cluster.nodes.len() {
        let reason = format!(
            "{} of {} nodes lack the label {key}, which is asked for by {by}: they are in no domain of it ({})",
            names.len(),
            cluster.nodes.len(),
            few(&names)
        );
        return Some(Finding::warning(Code::TopologyLabelMissing, reason, remedy));
    }
    let reason = format!("no node has the label {key}, which is asked for by {by}");
    Some(if asking.is_meant {
        Finding::error(Code::TopologyLabelUnknown, format!("{reason}: nothing can be placed by it"), remedy)
    } else {
        // A cluster in one zone may well have no zone labels.
        Finding::warning(Code::TopologyLabelUnknown, format!("{reason}: nothing is spread by it"), remedy)
    })
}
