//! The configuration file.

mod duration;
mod load;
mod schema;
mod validate;

pub use duration::ShortDuration;
pub use load::{ConfigError, load, parse};
pub use schema::{
    Config, DefaultingType, Limits, NominatedNode, NominatedNodePolicy, Server, Timeouts, Tls, TopologySpread,
};
