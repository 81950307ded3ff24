//! Members of groups, one by one.

use k8s_openapi::api::core::v1::Pod;

use crate::fixtures::{PodBuilder, pod};
use crate::leader_worker_sets::racks::member;

/// The label that our record of pods knows the group by; it has no annotations.
const GROUP: &str = "example.com/group";

/// A member of a group that has to be in one rack, `GROUP-INDEX`. It takes a whole node of a rack.
pub fn member_of(group: &str, index: usize, size: usize) -> PodBuilder {
    member(pod(&format!("{group}-{index}")))
        .label(GROUP, group)
        .annotation("berth.dev/group", group)
        .annotation("berth.dev/group-size", &size.to_string())
        .annotation("berth.dev/group-index", &index.to_string())
}

/// Some members of a group.
pub fn members(group: &str, indexes: std::ops::Range<usize>, size: usize) -> Vec<Pod> {
    indexes.map(|index| member_of(group, index, size).build()).collect()
}

/// A pod in no group that wants a whole node too.
pub fn single(name: &str) -> PodBuilder {
    pod(name).cpu("4")
}

/// So many of them.
pub fn singles(name: &str, count: usize) -> Vec<Pod> {
    (0..count).map(|at| single(&format!("{name}-{at}")).build()).collect()
}
