//! The parts of Kubernetes objects that Berth reads, as they stand in JSON.
//!
//! Go writes `null` for what is nil, so whatever may be absent may be `null` as well.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Quantities;
use crate::model::group::recognition;

/// String pairs in the order of the document.
#[derive(Clone, Debug, Default)]
pub struct StringMap(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for StringMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(|_, _| true)).map(StringMap)
    }
}

/// Those annotations that Berth reads. The others can be long and are passed over.
#[derive(Debug, Default)]
pub struct Annotations(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(recognition::is_kept)).map(Annotations)
    }
}

/// Reads the pairs that are of interest.
struct Pairs(fn(&str, &str) -> bool);

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(0).min(64));
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            if self.0(&key, &value) {
                pairs.push((key, value));
            }
        }
        Ok(pairs)
    }
}

/// `ListMeta`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// What to watch from.
    pub resource_version: Option<String>,
    /// Where the next page begins.
    #[serde(rename = "continue")]
    pub continue_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    #[serde(default)]
    pub name: String,
    pub namespace: Option<String>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub creation_timestamp: Option<String>,
    pub deletion_timestamp: Option<IgnoredAny>,
    pub labels: Option<StringMap>,
    pub annotations: Option<Annotations>,
    pub owner_references: Option<Vec<Owner>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: Option<String>,
    pub controller: Option<bool>,
}

/// Any object, as far as it is named. Reads fewer fields than anything else here, so that an object that
/// is broken elsewhere can still be told apart.
#[derive(Debug, Deserialize)]
pub struct Identified {
    pub metadata: Identity,
}

#[derive(Debug, Deserialize)]
pub struct Identity {
    pub name: String,
    pub namespace: Option<String>,
}

/// Any object, as far as its metadata goes.
#[derive(Debug, Deserialize)]
pub struct Named {
    pub metadata: Meta,
}

#[derive(Debug, Deserialize)]
pub struct NodeObject {
    pub metadata: Meta,
    pub spec: Option<NodeSpec>,
    pub status: Option<NodeStatus>,
}

#[derive(Debug, Deserialize)]
pub struct NodeStatus {
    pub allocatable: Option<Quantities>,
}

#[derive(Debug, Deserialize)]
pub struct NodeSpec {
    pub taints: Option<Vec<TaintObject>>,
    pub unschedulable: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct TaintObject {
    pub key: String,
    pub value: Option<String>,
    pub effect: String,
}

/// A pod.
#[derive(Debug, Deserialize)]
pub struct PodObject {
    pub(super) metadata: Meta,
    pub(super) spec: Option<PodSpec>,
    pub(super) status: Option<PodStatus>,
}

impl PodObject {
    /// Whether it occupies its node no more, and another one will come in its stead.
    pub fn has_failed(&self) -> bool {
        self.phase() == Some("Failed")
    }

    /// Whether it occupies its node no more, and nobody will come in its stead.
    pub fn has_succeeded(&self) -> bool {
        self.phase() == Some("Succeeded")
    }

    fn phase(&self) -> Option<&str> {
        self.status.as_ref().and_then(|status| status.phase.as_deref())
    }

    /// The pod's UID, possibly empty.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: Option<String>,
    pub priority: Option<i32>,
    pub priority_class_name: Option<String>,
    pub scheduler_name: Option<String>,
    pub scheduling_gates: Option<Vec<IgnoredAny>>,
    pub topology_spread_constraints: Option<Vec<IgnoredAny>>,
    pub scheduling_group: Option<IgnoredAny>,
    pub preemption_policy: Option<String>,
    pub active_deadline_seconds: Option<i64>,
    pub node_selector: Option<StringMap>,
    pub affinity: Option<Affinity>,
    pub tolerations: Option<Vec<TolerationObject>>,
    pub containers: Option<Vec<ContainerObject>>,
    pub init_containers: Option<Vec<ContainerObject>>,
    pub overhead: Option<Quantities>,
    pub resources: Option<ResourcesObject>,
    pub host_network: Option<bool>,
    pub volumes: Option<Vec<VolumeObject>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerObject {
    pub name: Option<String>,
    pub restart_policy: Option<String>,
    pub resources: Option<ResourcesObject>,
    pub ports: Option<Vec<PortObject>>,
}

impl ContainerObject {
    /// Whether a container that is started before the others goes on running beside them.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortObject {
    pub container_port: Option<i32>,
    pub host_port: Option<i32>,
    #[serde(rename = "hostIP")]
    pub host_ip: Option<String>,
    pub protocol: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeObject {
    #[serde(default)]
    pub name: String,
    pub persistent_volume_claim: Option<ClaimReference>,
    pub ephemeral: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReference {
    #[serde(default)]
    pub claim_name: String,
}

#[derive(Debug, Deserialize)]
pub struct ResourcesObject {
    pub requests: Option<Quantities>,
    pub limits: Option<Quantities>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "these are Kubernetes' names")]
pub struct Affinity {
    pub node_affinity: Option<NodeAffinity>,
    pub pod_affinity: Option<PodAffinity>,
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// Affinity or anti-affinity to other pods.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinity {
    pub required_during_scheduling_ignored_during_execution: Option<Vec<PodAffinityTerm>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinityTerm {
    #[serde(default)]
    pub topology_key: String,
    pub label_selector: Option<SelectorObject>,
    pub namespaces: Option<Vec<String>>,
    pub namespace_selector: Option<SelectorObject>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeAffinity {
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    pub node_selector_terms: Option<Vec<NodeSelectorTerm>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    pub match_expressions: Option<Vec<SelectorExpression>>,
    pub match_fields: Option<Vec<SelectorExpression>>,
}

#[derive(Debug, Deserialize)]
pub struct TolerationObject {
    pub key: Option<String>,
    pub operator: Option<String>,
    pub value: Option<String>,
    pub effect: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    pub phase: Option<String>,
    pub nominated_node_name: Option<String>,
    pub conditions: Option<Vec<Condition>>,
    pub container_statuses: Option<Vec<ContainerStatus>>,
    pub init_container_statuses: Option<Vec<ContainerStatus>>,
    pub resources: Option<ResourcesObject>,
    pub allocated_resources: Option<Quantities>,
}

impl PodStatus {
    /// Whether there may be a difference between what is specified and what is in force.
    pub fn tells_of_resources(&self) -> bool {
        let mut containers = [&self.container_statuses, &self.init_container_statuses].into_iter().flatten();
        self.resources.is_some()
            || containers.any(|list| list.iter().any(|status| status.resources.is_some()))
    }

    /// Whether its node can never grant the resize that is wished for.
    pub fn cannot_be_resized(&self) -> bool {
        let pending = self.conditions.iter().flatten().find(|condition| condition.kind == "PodResizePending");
        pending.is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    pub name: Option<String>,
    pub resources: Option<ResourcesObject>,
    pub allocated_resources: Option<Quantities>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub last_transition_time: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct ServiceObject {
    pub metadata: Meta,
    pub spec: Option<ServiceSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    pub selector: Option<StringMap>,
    #[serde(rename = "clusterIP")]
    pub cluster_ip: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub publish_not_ready_addresses: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct ReplicationControllerObject {
    pub metadata: Meta,
    pub spec: Option<PlainSelectorSpec>,
}

#[derive(Debug, Default, Deserialize)]
pub struct PlainSelectorSpec {
    pub selector: Option<StringMap>,
    pub replicas: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct WorkloadObject {
    pub metadata: Meta,
    pub spec: Option<SelectorSpec>,
}

#[derive(Debug, Default, Deserialize)]
pub struct SelectorSpec {
    pub selector: Option<SelectorObject>,
    pub replicas: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectorObject {
    pub match_labels: Option<StringMap>,
    pub match_expressions: Option<Vec<SelectorExpression>>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SelectorExpression {
    pub key: String,
    pub operator: String,
    pub values: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub struct PodTemplate {
    pub metadata: Option<Meta>,
    pub spec: Option<PodSpec>,
}
