//! What the tests share that compare Berth with kube-scheduler's own code.

pub mod demands;
pub mod nodes;
pub mod program;
