//! The configuration file.

mod duration;
mod groups;
mod load;
mod schema;
mod selector;
mod spread;
mod validate;

pub use duration::ShortDuration;
pub use groups::{
    DefaultTopology, Exclusive, GroupRule, GroupSize, GroupSource, Packing, ReplicaGroups, Topology,
};
pub use load::{ConfigError, load, parse};
pub use schema::{
    Config, Criterion, DefaultingType, InclusionPolicy, LabelExpression, LabelOperator, LabelSelector,
    Limits, Mode, NominatedNode, NominatedNodePolicy, Preemption, Server, SpreadConstraint, SpreadOverride,
    Timeouts, Tls, TopologySpread, WhenUnsatisfiable,
};
