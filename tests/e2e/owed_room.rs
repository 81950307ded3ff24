//! Room that is owed to groups is kept, and given up in time, whatever happens to Berth and kube-scheduler meanwhile.
//!
//! The groups are pods with Berth's annotations, so that a scenario decides when each member comes.

mod expiry;
mod late_bind;
mod leadership;
mod lost_member;
pub mod members;
mod more_important_pods;
mod stage;
mod stopped;
