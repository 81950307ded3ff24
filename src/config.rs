//! The configuration file.

mod duration;
mod load;
mod schema;
mod spread;
mod validate;

pub use duration::ShortDuration;
pub use load::{ConfigError, load, parse};
pub use schema::{
    Config, Criterion, DefaultingType, InclusionPolicy, LabelExpression, LabelOperator, LabelSelector,
    Limits, NominatedNode, NominatedNodePolicy, Preemption, PreemptionMode, Server, SpreadConstraint,
    SpreadOverride, Timeouts, Tls, TopologySpread, WhenUnsatisfiable,
};
