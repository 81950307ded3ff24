//! The shape of the configuration file, with its defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReplicaGroups, ShortDuration};

/// `apiVersion` of the file.
pub const API_VERSION: &str = "config.berth.dev/v1alpha1";
/// `kind` of the file.
pub const KIND: &str = "BerthConfiguration";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Always `config.berth.dev/v1alpha1`.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `BerthConfiguration`.
    #[schemars(extend("const" = KIND))]
    pub kind: String,
    /// Default spreading.
    #[serde(default)]
    pub topology_spread: TopologySpread,
    /// What to do with nominated nodes.
    #[serde(default)]
    pub nominated_node: NominatedNode,
    /// Replica groups.
    #[serde(default)]
    pub replica_groups: ReplicaGroups,
    /// Preemption.
    #[serde(default)]
    pub preemption: Preemption,
    /// The server.
    #[serde(default)]
    pub server: Server,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            topology_spread: TopologySpread::default(),
            nominated_node: NominatedNode::default(),
            replica_groups: ReplicaGroups::default(),
            preemption: Preemption::default(),
            server: Server::default(),
        }
    }
}

/// Default spreading, in the words of kube-scheduler's `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TopologySpread {
    /// Whether limits and scores are followed.
    pub mode: Mode,
    /// Built-in constraints, or those listed.
    pub defaulting_type: DefaultingType,
    /// With `List`: the constraints; none switches defaults off.
    pub default_constraints: Vec<SpreadConstraint>,
    /// Other constraints for some namespaces or pods; the first match wins.
    pub overrides: Vec<SpreadOverride>,
}

/// One default constraint. Its selector is deduced for each pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpreadConstraint {
    /// By how much domains may differ.
    #[schemars(range(min = 1))]
    pub max_skew: i32,
    /// The node label whose values are the domains.
    pub topology_key: String,
    /// What to do when it cannot be kept.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// With fewer domains than this the least one counts as empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_domains: Option<i32>,
    /// Whether nodes that the pod's node affinity excludes are left out of the count. Default: `Honor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<InclusionPolicy>,
    /// Whether nodes whose taints the pod does not tolerate are left out of the count. Default: `Ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<InclusionPolicy>,
    /// Known only to be refused in clear words.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub label_selector: Option<serde_json::Value>,
}

/// What to do when a constraint cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// Reject the node.
    DoNotSchedule,
    /// Prefer other nodes.
    ScheduleAnyway,
}

/// Whether a property of nodes is looked at when counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InclusionPolicy {
    /// It is.
    Honor,
    /// It is not.
    Ignore,
}

/// Constraints for some namespaces or pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpreadOverride {
    /// Which namespaces, by their labels; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Which pods, by their labels; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// The constraints; none switches defaults off.
    pub default_constraints: Vec<SpreadConstraint>,
}

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LabelSelector {
    /// Labels that must be there with these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements on labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelExpression>,
}

/// One requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelExpression {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub operator: LabelOperator,
    /// With what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// One of the values.
    In,
    /// None of the values, or missing.
    NotIn,
    /// There.
    Exists,
    /// Missing.
    DoesNotExist,
}

/// Where default constraints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefaultingType {
    /// Built-in ones.
    #[default]
    System,
    /// The listed ones.
    List,
}

/// What to do with nominated nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NominatedNode {
    /// Whether the policy is followed.
    pub mode: Mode,
    /// Whether the nominated node is tried first.
    pub policy: NominatedNodePolicy,
}

/// Whether the nominated node is tried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NominatedNodePolicy {
    /// It is.
    #[default]
    Prefer,
    /// It is a node like any other.
    Disabled,
}

/// What to do with kube-scheduler's candidates for preemption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Preemption {
    /// Whether candidates are dropped.
    pub mode: Mode,
    /// How far down the criteria candidates are compared. Those that are equal so far are one class, and the best
    /// class is the answer: the earlier it ends, the wider the class, and the more is left to kube-scheduler.
    pub decide_up_to: Criterion,
}

/// Whether what a policy decides is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// It is.
    #[default]
    Enforce,
    /// It is not: everybody passes, and what would have been decided is counted.
    Observe,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Mode; 2] = [Mode::Enforce, Mode::Observe];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::Observe => "observe",
        }
    }
}

/// The criteria by which candidates for preemption are compared, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Criterion {
    /// Not at all: only what would be in vain is dropped.
    Nothing,
    /// Fewer evictions that a disruption budget forbids.
    BudgetViolations,
    /// Fewer replica groups that have to start anew.
    GroupsLost,
    /// A lower priority of the most important victim.
    HighestPriority,
    /// Fewer pods that stop in all.
    #[default]
    PodsLost,
    /// The node's name, which leaves one candidate only.
    Node,
}

/// The server: encryption, limits and patience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Server {
    /// Serve TLS with this certificate. A relative path is one from the working directory of the process, wherever the
    /// configuration file is. Takes effect at the next start; renewed files are picked up.
    pub tls: Option<Tls>,
    /// Allow plain HTTP on addresses that others can reach. Takes effect at the next start.
    pub insecure: bool,
    /// What is refused rather than queued.
    pub limits: Limits,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// A watch that is cut for longer makes Berth not ready, and filter answer with an error.
    pub staleness_limit: ShortDuration,
    /// How long a placement that nobody confirms or denies is remembered.
    pub ledger_ttl: ShortDuration,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            tls: None,
            insecure: false,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            staleness_limit: ShortDuration::seconds(60),
            ledger_ttl: ShortDuration::seconds(60),
        }
    }
}

/// The certificate to serve with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tls {
    /// PEM file with the certificate chain.
    pub cert_file: PathBuf,
    /// PEM file with the private key.
    pub key_file: PathBuf,
    /// PEM file with the authorities whose clients are let in; absent lets everybody in.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "clientCAFile")]
    pub client_ca_file: Option<PathBuf>,
}

/// What is refused rather than queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// Longest body. The default holds 5,000 whole Node objects.
    #[schemars(range(min = 1))]
    pub max_body_bytes: usize,
    /// Most decisions under way at once; more are answered 503. kube-scheduler asks for one at a time.
    #[schemars(range(min = 1))]
    pub max_in_flight: usize,
    /// Most bindings under way at once; more are answered 503. kube-scheduler binds in the background, as many
    /// at once as the API server is behind.
    #[schemars(range(min = 1))]
    pub max_bindings_in_flight: usize,
    /// Most connections at once; more are closed at once. Takes effect at the next start.
    #[schemars(range(min = 1))]
    pub max_connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 64 * 1024 * 1024,
            max_in_flight: 64,
            max_bindings_in_flight: 2048,
            max_connections: 4096,
        }
    }
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a request's head, and so for the next request on an idle connection. kube-scheduler keeps
    /// idle connections 90 s and does not repeat a POST that hits one that was just closed, so this must
    /// be longer. Takes effect at the next start.
    pub idle: ShortDuration,
    /// For a request's body.
    pub body: ShortDuration,
    /// For the API server's answer to a binding. Shorter than kube-scheduler's patience with us (5 s unless it is
    /// told otherwise), so that it does not try anew while the first binding is under way. Takes effect at the
    /// next start.
    pub bind: ShortDuration,
    /// For the bind call of the pod before, where a hard limit depends on it; a tenth of this where only scores do.
    pub placement: ShortDuration,
    /// For one decision, from the decoded call to the answer. Beyond it filter answers with an error, prioritize has no
    /// preference and preempt keeps every candidate. Far below kube-scheduler's patience with us, for it decides about
    /// one pod at a time.
    pub decision: ShortDuration,
    /// For requests under way when told to stop. Takes effect at the next start.
    pub drain: ShortDuration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: ShortDuration::seconds(120),
            body: ShortDuration::seconds(10),
            bind: ShortDuration::seconds(4),
            placement: ShortDuration::millis(200),
            decision: ShortDuration::millis(500),
            drain: ShortDuration::seconds(15),
        }
    }
}
