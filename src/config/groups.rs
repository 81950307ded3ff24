//! Replica groups: how they are recognised, and what the operator decides for them.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::schema::{LabelSelector, Mode};
use super::validate::Findings;
use super::{ShortDuration, selector};
use crate::model;
use crate::model::group::recognition::{
    Audience, DefaultTopologyRequest, ExclusiveLimits, Recogniser, Rule, Size,
};
use crate::model::group::{Scope, Source, TopologyRequest, UniqueNodesRule};
use crate::model::label_syntax::is_label_key;
use crate::model::{Name, Selector};

/// Replica groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReplicaGroups {
    /// Whether groups are kept together, or what would have been done is only counted.
    pub mode: Mode,
    /// Who is listened to. Those that are left out are switched off.
    pub sources: Vec<GroupSource>,
    /// Groups by labels of one's own; the first that matches wins.
    pub rules: Vec<GroupRule>,
    /// Topologies for groups of the sources that ask for none; the first that matches wins.
    pub default_topologies: Vec<DefaultTopology>,
    /// Groups that get nodes of their own: members are given a node selector and a toleration whose value names the group
    /// when they are created, by the webhook of `--admission-listen`. The first that matches wins; annotations of pods count
    /// before it.
    pub unique_nodes: Vec<UniqueNodes>,
    /// The groups of one set are spread over the domains of this key; empty switches that off.
    pub spread_topology: String,
    /// How the members of a group are put on the hosts of their domain.
    pub packing: Packing,
    /// How long room is kept for members still to come while none of them comes.
    pub reservation_ttl: ShortDuration,
    /// Whether plans are written to the waiting members as their nominated nodes, and room that is given up is announced.
    pub nominate: bool,
    /// What one tenant may claim of everybody's cluster.
    pub limits: GroupLimits,
    /// Whether a domain counts as large enough if lower-priority pods can be evicted from it. Switch it off where
    /// kube-scheduler's preemption is.
    pub count_on_preemption: bool,
    /// A headless Service for each group that asks for one with the annotation `berth.dev/service-per-group`.
    pub services: GroupServices,
}

/// A headless Service for each group that asks for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupServices {
    /// Whether Services are created, repaired and deleted. Switching it off leaves those that are there to go with their
    /// groups. Needs more permissions: see the page on groups and their Services.
    pub enabled: bool,
    /// The environment variable in which members of groups other than those of a `LeaderWorkerSet`, which is
    /// `LWS_LEADER_ADDRESS`, find the address of the first member; empty for none. Set by the admission endpoint.
    pub leader_address_variable: String,
    /// Which of several Berths does it.
    pub lease: LeaseName,
}

impl Default for GroupServices {
    fn default() -> Self {
        let leader_address_variable = "BERTH_LEADER_ADDRESS".to_owned();
        Self { enabled: false, leader_address_variable, lease: LeaseName::default() }
    }
}

/// A Lease that one of several Berths holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeaseName {
    /// Its namespace; empty for that of the account, or of the kubeconfig's context.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Default for LeaseName {
    fn default() -> Self {
        Self { namespace: String::new(), name: "berth-group-services".to_owned() }
    }
}

impl Default for ReplicaGroups {
    fn default() -> Self {
        Self {
            mode: Mode::Enforce,
            sources: GroupSource::all().collect(),
            rules: Vec::new(),
            default_topologies: Vec::new(),
            unique_nodes: Vec::new(),
            spread_topology: "topology.kubernetes.io/zone".to_owned(),
            packing: Packing::default(),
            reservation_ttl: ShortDuration::seconds(60),
            nominate: true,
            limits: GroupLimits::default(),
            count_on_preemption: true,
            services: GroupServices::default(),
        }
    }
}

/// What one tenant may claim of everybody's cluster, whatever it writes into its pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupLimits {
    /// How many members a group may have.
    #[schemars(range(min = 1))]
    pub members: u32,
    /// How many members still to come may have room kept for them at a time, of all groups of a namespace.
    #[schemars(range(min = 1))]
    pub slots_per_namespace: usize,
    /// How long room may be kept for a group that is not complete, however many members come meanwhile.
    pub longest_reservation: ShortDuration,
    /// From whom a group may keep a domain to itself at most, when pods ask for it.
    pub widest_exclusive: Exclusive,
    /// The same for some namespaces; the first that matches wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclusive_by_namespace: Vec<ExclusiveLimit>,
}

/// From whom groups of some namespaces may keep a domain to themselves at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExclusiveLimit {
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// From whom.
    pub widest: Exclusive,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            members: 1024,
            slots_per_namespace: 2048,
            longest_reservation: ShortDuration::seconds(15 * 60),
            widest_exclusive: Exclusive::Namespace,
            exclusive_by_namespace: Vec::new(),
        }
    }
}

/// Who may say that pods form a group, by the name of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSource(Source);

impl GroupSource {
    /// All that can be named, in the order in which they are asked.
    pub fn all() -> impl Iterator<Item = Self> {
        Source::ALL.into_iter().filter(|source| source.is_listed()).map(Self)
    }
}

impl JsonSchema for GroupSource {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GroupSource".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::all().map(|source| source.0.name()).collect();
        json_schema!({
            "description": "Who may say that pods form a group, by the name of the source.",
            "type": "string",
            "enum": names,
        })
    }
}

impl Serialize for GroupSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for GroupSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::all().find(|source| source.0.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|source| format!("`{}`", source.0.name())).collect();
            let expected = names.join(", ");
            D::Error::custom(format_args!("unknown variant `{name}`, expected one of {expected}"))
        })
    }
}

/// How the members of a group are put on the hosts of their domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Packing {
    /// On as few as anti-affinity and room allow.
    #[default]
    FewestHosts,
    /// On as many as there are.
    MostHosts,
}

/// Pods with one value of a label are a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupRule {
    /// The label whose value names the group.
    pub label: String,
    /// Only in these namespaces; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only these pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// How many members a group has; absent means those that are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<GroupSize>,
    /// Where it is to be.
    pub topology: Topology,
}

/// How many members a group has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GroupSize {
    /// So many.
    Number(u32),
    /// As this label of each member says.
    Label(String),
    /// As this annotation of each member says.
    Annotation(String),
}

/// Where groups are to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Topology {
    /// All members in one domain of this key, or nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<String>,
    /// All members in one domain of this key, if possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred: Option<String>,
    /// Which other groups must not be in the same domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<Exclusive>,
}

/// Among which groups one is alone in its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Exclusive {
    /// Those of the same set.
    Set,
    /// Those of the same namespace.
    Namespace,
    /// All.
    Cluster,
}

/// Where groups are to be that do not say so themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefaultTopology {
    /// Groups of these sources; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<GroupSource>,
    /// Only in these namespaces; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only groups of these pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// Where they are to be.
    pub topology: Topology,
}

/// Groups that get nodes of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UniqueNodes {
    /// Only groups in these namespaces; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only groups of these sets, such as the names of `LeaderWorkerSet`s; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// The key of the node label that nodes of one group carry, its value being the name of the group's leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_unique_node_selector: Option<String>,
    /// The taint that nodes of one group carry, with the same value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_unique_toleration: Option<UniqueToleration>,
}

/// A taint that only the members of one group tolerate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UniqueToleration {
    /// The key of the taint.
    pub key: String,
    /// Its effect.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// They are not placed there.
    NoSchedule,
    /// They are placed there only if nothing else will do.
    PreferNoSchedule,
    /// They are not placed there, and those that run there have to leave.
    NoExecute,
}

impl TaintEffect {
    const fn name(self) -> &'static str {
        match self {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
        }
    }
}

impl UniqueNodes {
    fn rule(&self) -> UniqueNodesRule {
        let names = |list: &[String]| list.iter().map(|name| Name::from(name.as_str())).collect();
        let toleration = self.replica_unique_toleration.as_ref();
        let toleration = toleration.map(|toleration| (toleration.key.as_str(), toleration.effect.name()));
        let selector = self.replica_unique_node_selector.as_deref();
        UniqueNodesRule {
            namespaces: names(&self.namespaces),
            sets: names(&self.sets),
            nodes: model::group::UniqueNodes::by_setting(selector, toleration),
        }
    }
}

impl ReplicaGroups {
    /// The topology keys that these settings name, each once.
    pub fn topology_keys(&self) -> BTreeSet<&str> {
        let rules = self.rules.iter().map(|rule| &rule.topology);
        let topologies = rules.chain(self.default_topologies.iter().map(|default| &default.topology));
        let asked = topologies.flat_map(|topology| [&topology.required, &topology.preferred]).flatten();
        let keys = asked.map(String::as_str).chain([self.spread_topology.as_str()]);
        keys.filter(|key| !key.is_empty()).collect()
    }

    /// Who recognises groups by these settings.
    pub fn recogniser(&self) -> Recogniser {
        let rule = |rule: &GroupRule| Rule {
            audience: audience(&rule.namespaces, rule.pod_selector.as_ref()),
            label: rule.label.as_str().into(),
            size: match &rule.size {
                None => Size::Unknown,
                Some(GroupSize::Number(size)) => Size::Number(*size),
                Some(GroupSize::Label(label)) => Size::Label(label.as_str().into()),
                Some(GroupSize::Annotation(annotation)) => Size::Annotation(annotation.as_str().into()),
            },
            topology: topology_request(&rule.topology),
        };
        let default = |default: &DefaultTopology| DefaultTopologyRequest {
            audience: audience(&default.namespaces, default.pod_selector.as_ref()),
            sources: if default.sources.is_empty() {
                Source::ALL.to_vec()
            } else {
                default.sources.iter().map(|source| source.0).collect()
            },
            topology: topology_request(&default.topology),
        };
        let sources = self.sources.iter().map(|source| source.0);
        Recogniser {
            sources: sources.chain((!self.rules.is_empty()).then_some(Source::Rule)).collect(),
            rules: self.rules.iter().map(rule).collect(),
            defaults: self.default_topologies.iter().map(default).collect(),
            exclusive_limits: self.limits.exclusive_limits(),
            unique_nodes: self.unique_nodes.iter().map(UniqueNodes::rule).collect(),
        }
    }
}

impl GroupLimits {
    fn exclusive_limits(&self) -> ExclusiveLimits {
        let names =
            |limit: &ExclusiveLimit| limit.namespaces.iter().map(|name| name.as_str().into()).collect();
        let by_namespace =
            self.exclusive_by_namespace.iter().map(|limit| (names(limit), limit.widest.scope())).collect();
        ExclusiveLimits { widest: self.widest_exclusive.scope(), by_namespace }
    }
}

impl Exclusive {
    fn scope(self) -> Scope {
        match self {
            Exclusive::Set => Scope::Set,
            Exclusive::Namespace => Scope::Namespace,
            Exclusive::Cluster => Scope::Cluster,
        }
    }
}

fn audience(namespaces: &[String], pods: Option<&LabelSelector>) -> Audience {
    Audience {
        namespaces: namespaces.iter().map(|name| Name::from(name.as_str())).collect(),
        pods: pods.map(Selector::from).unwrap_or_default(),
    }
}

fn topology_request(topology: &Topology) -> TopologyRequest {
    let key = |key: &Option<String>| key.as_deref().map(Name::from);
    TopologyRequest {
        required: key(&topology.required),
        preferred: key(&topology.preferred),
        exclusive: topology.exclusive.map(Exclusive::scope),
    }
}

/// Checks what the shape alone cannot say.
pub(crate) fn validate(config: &ReplicaGroups, findings: &mut Findings) {
    for (at, rule) in config.rules.iter().enumerate() {
        let path = format!("replicaGroups.rules[{at}]");
        label_key(&format!("{path}.label"), &rule.label, findings);
        match &rule.size {
            Some(GroupSize::Number(size)) => {
                findings.require(*size > 0, format!("{path}.size.number"), "must be at least 1");
            }
            Some(GroupSize::Label(label)) => label_key(&format!("{path}.size.label"), label, findings),
            Some(GroupSize::Annotation(name)) => {
                label_key(&format!("{path}.size.annotation"), name, findings);
            }
            None => {}
        }
        rule_for(&path, rule.pod_selector.as_ref(), &rule.topology, findings);
    }
    for (at, default) in config.default_topologies.iter().enumerate() {
        let path = format!("replicaGroups.defaultTopologies[{at}]");
        rule_for(&path, default.pod_selector.as_ref(), &default.topology, findings);
        let asks = !topology_request(&default.topology).is_none();
        findings.require(asks, format!("{path}.topology"), "needs required or preferred");
    }
    for (at, rule) in config.unique_nodes.iter().enumerate() {
        let path = format!("replicaGroups.uniqueNodes[{at}]");
        if let Some(key) = &rule.replica_unique_node_selector {
            label_key(&format!("{path}.replicaUniqueNodeSelector"), key, findings);
        }
        if let Some(toleration) = &rule.replica_unique_toleration {
            label_key(&format!("{path}.replicaUniqueToleration.key"), &toleration.key, findings);
        }
        let asks = rule.replica_unique_node_selector.is_some() || rule.replica_unique_toleration.is_some();
        findings.require(asks, path, "needs replicaUniqueNodeSelector or replicaUniqueToleration");
    }
    if !config.spread_topology.is_empty() {
        label_key("replicaGroups.spreadTopology", &config.spread_topology, findings);
    }
    services(&config.services, findings);
    let limits = &config.limits;
    findings.require(limits.members > 0, "replicaGroups.limits.members", "must be at least 1");
    let slots = "replicaGroups.limits.slotsPerNamespace";
    findings.require(limits.slots_per_namespace > 0, slots, "must be at least 1");
    findings.require(
        limits.longest_reservation.0 >= config.reservation_ttl.0,
        "replicaGroups.limits.longestReservation",
        "must not be shorter than replicaGroups.reservationTtl",
    );
    let is_some_time = !config.reservation_ttl.0.is_zero();
    findings.require(is_some_time, "replicaGroups.reservationTtl", "must be longer than 0s");
}

fn services(config: &GroupServices, findings: &mut Findings) {
    let variable = &config.leader_address_variable;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_variable = variable.as_bytes().first().is_none_or(is_letter)
        && variable.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit());
    findings.require(
        is_variable,
        "replicaGroups.services.leaderAddressVariable",
        "must be the name of an environment variable: letters, digits and _, and no digit first",
    );
    let LeaseName { namespace, name } = &config.lease;
    let is_dns = |text: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        text.len() <= 63
            && text.bytes().all(|byte| inside(byte) || byte == b'-')
            && text.bytes().next().is_some_and(inside)
            && text.bytes().last().is_some_and(inside)
    };
    let wrong = "must be lower-case letters, digits and -, 63 at most";
    findings.require(is_dns(name), "replicaGroups.services.lease.name", wrong);
    let is_namespace = namespace.is_empty() || is_dns(namespace);
    findings.require(is_namespace, "replicaGroups.services.lease.namespace", wrong);
}

fn label_key(path: &str, key: &str, findings: &mut Findings) {
    findings.require(is_label_key(key), path, "must be a label key");
}

/// Checks what rules and defaults have in common.
fn rule_for(path: &str, pods: Option<&LabelSelector>, topology: &Topology, findings: &mut Findings) {
    if let Some(pods) = pods {
        selector::validate(&format!("{path}.podSelector"), pods, findings);
    }
    for (name, asked) in [("required", &topology.required), ("preferred", &topology.preferred)] {
        if let Some(asked) = asked {
            label_key(&format!("{path}.topology.{name}"), asked, findings);
        }
    }
    let is_bounded = topology.exclusive.is_none() || topology.required.is_some();
    findings.require(is_bounded, format!("{path}.topology.exclusive"), "goes with required only");
}
