//! The configuration file.

mod duration;
mod groups;
mod lenient;
mod load;
mod reference;
mod restart;
mod schema;
mod selector;
mod spread;
mod validate;
mod wording;

pub use duration::ShortDuration;
pub use groups::{
    DefaultTopology, Exclusive, GroupRule, GroupServices, GroupSize, GroupSource, LeaseName, Packing,
    ReplicaGroups, TaintEffect, Topology, UniqueNodes, UniqueToleration,
};
pub use load::{ConfigError, load, parse};
pub use reference::{json_schema, page};
pub(crate) use restart::{PendingRestart, keep_until_restart, parse_shown, show};
pub use schema::{
    Config, Criterion, DefaultingType, InclusionPolicy, LabelExpression, LabelOperator, LabelSelector,
    Limits, Mode, NominatedNode, NominatedNodePolicy, Preemption, Server, SpreadConstraint, SpreadOverride,
    Timeouts, Tls, TopologySpread, WhenUnsatisfiable,
};
pub use validate::{Wrong, check_files};
