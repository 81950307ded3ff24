//! Racks of nodes, and pods that fit onto them one by one.

use k8s_openapi::api::core::v1::Node;

use crate::fixtures::{NodeBuilder, PodBuilder, RACK, node};

/// Berth's annotation for a group that has to be in one domain.
pub const REQUIRED: &str = "berth.dev/required-topology";
/// What a member asks for, unless a scenario is about just that.
const MEMBER: &str = "4";

/// A rack with room for so many members, one on each node. All racks are in one zone: how groups spread over zones
/// is no matter here.
pub fn rack(name: &str, members: usize) -> Vec<Node> {
    rack_of(name, members, |node| node.cpu(MEMBER))
}

/// A rack of nodes of another shape.
pub fn rack_of(name: &str, nodes: usize, shape: impl Fn(NodeBuilder) -> NodeBuilder) -> Vec<Node> {
    let plain = |at: usize| node(&format!("{name}-{at}")).rack(name).zone("zone-a");
    (0..nodes).map(|at| shape(plain(at)).build()).collect()
}

/// A pod that takes a node of [`rack`], and has to be in one rack with its group.
pub fn member(pod: PodBuilder) -> PodBuilder {
    pod.cpu(MEMBER).annotation(REQUIRED, RACK)
}
