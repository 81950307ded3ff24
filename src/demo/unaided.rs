//! Places pods one by one with nobody to ask, for comparison.
//!
//! The rules are those of the demo's scheduler, but for Berth's word. Members of a replica follow the first of them into
//! its rack, which is what required pod affinity can say without an extender.

use super::cluster::Cluster;
use super::scheduler::{HostScore, choose};
use super::workload::{Company, Pod};

/// Places a pod if it fits somewhere.
pub fn place(pod: Pod, cluster: &mut Cluster) -> anyhow::Result<()> {
    let own_rack = rack_of_mates(&pod, cluster);
    let fitting = cluster.nodes.iter().filter(|node| node.has_room());
    let near = fitting.filter(|node| own_rack.as_ref().is_none_or(|rack| node.rack == *rack));
    let equal: Vec<_> = near.map(|node| HostScore { host: node.name.clone(), score: 0 }).collect();
    if equal.is_empty() {
        return Ok(());
    }
    let node = choose(&pod, cluster, &equal)?.name.clone();
    if let Some(node) = cluster.node_mut(&node) {
        node.pods.push(pod);
    }
    Ok(())
}

fn rack_of_mates(pod: &Pod, cluster: &Cluster) -> Option<String> {
    let is_mate = |other: &Pod| {
        pod.workload.company == Company::ReplicaInOneRack && other.workload.app == pod.workload.app
    };
    let mut homes = cluster.nodes.iter().filter(|node| node.pods.iter().any(is_mate));
    homes.next().map(|node| node.rack.clone())
}

#[cfg(test)]
mod tests {
    use super::place;
    use crate::demo::cluster::Cluster;
    use crate::demo::workload::{ALPHA, CRON};

    #[test]
    fn the_emptiest_node_is_taken_and_members_follow_the_first_until_their_rack_is_full() {
        let mut cluster = Cluster::built_in();
        for (at, member) in ALPHA.pods().chain(ALPHA.pods()).enumerate() {
            place(member, &mut cluster).expect("a node that is known");
            let mut racks: Vec<_> = cluster
                .nodes
                .iter()
                .filter(|node| node.pods.iter().any(|pod| pod.workload.app == ALPHA.app))
                .map(|node| node.rack.clone())
                .collect();
            racks.dedup();
            assert_eq!(racks.len(), 1);
            let room = cluster.rack(&racks[0]).map(crate::demo::cluster::Node::room).sum::<usize>();
            assert!(room == 0 || cluster.count(ALPHA) == at + 1, "one that fits is placed");
        }
        let emptiest = cluster.nodes.iter().filter(|node| node.pods.is_empty()).count();
        for single in CRON.pods() {
            place(single, &mut cluster).expect("a node that is known");
        }
        assert_eq!(
            cluster.nodes.iter().filter(|node| node.pods.is_empty()).count(),
            emptiest - CRON.replicas
        );
    }
}
