//! Whether a pod would fit on a node, as kube-scheduler's own plugins decide it.
//!
//! What is used of the node is handed in, so that callers can ask what if: with room reserved for others, or with pods
//! evicted. Not looked at are other pods, volumes and claims of devices, so "fits" means "as far as this goes", and
//! "does not fit" is certain.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::model::{Dimension, HostPort, Node, Pod, Requirements, Resources, Taint, Used};

/// What a pod demands of a node.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// What it requests.
    pub requests: &'a Resources,
    /// Node selector, required node affinity, tolerations.
    pub requirements: &'a Requirements,
    /// Ports of the host.
    pub host_ports: &'a [HostPort],
}

/// Whether it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Fits,
    /// It does not.
    DoesNotFit {
        /// What is in the way; of several, what kube-scheduler would name.
        predicate: Predicate,
        /// Whether evicting pods could help.
        resolvable: bool,
    },
}

/// What may keep a pod off a node, each decided by a plugin of kube-scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Predicate {
    /// The node is cordoned (`NodeUnschedulable`).
    Unschedulable,
    /// A taint is not tolerated (`TaintToleration`).
    Taints,
    /// Node selector or required affinity want another node (`NodeAffinity`).
    NodeAffinity,
    /// A port of the host is taken (`NodePorts`).
    HostPorts,
    /// There is not enough room (`NodeResourcesFit`).
    Resources,
}

impl Predicate {
    /// All, in the order in which kube-scheduler looks for them.
    pub const ALL: [Predicate; 5] = [
        Predicate::Unschedulable,
        Predicate::Taints,
        Predicate::NodeAffinity,
        Predicate::HostPorts,
        Predicate::Resources,
    ];
}

impl<'a> Demand<'a> {
    /// What a pod demands.
    pub fn of(pod: &'a Pod) -> Self {
        Self { requests: &pod.requests, requirements: &pod.requirements, host_ports: pod.host_ports() }
    }

    /// Whether it would fit on the node, of which so much is used, beside these pods.
    pub fn fits(&self, node: &Node, used: &Used, pods: &[Arc<Pod>]) -> Verdict {
        let mut verdicts =
            Predicate::ALL.into_iter().map(|predicate| self.judge(predicate, node, used, pods));
        verdicts.find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits)
    }

    /// Whether the node would do if all of it were free.
    pub fn suits(&self, node: &Node) -> bool {
        let schedulable = || !node.unschedulable || self.requirements.tolerate(&[Taint::of_cordoned_nodes()]);
        schedulable() && self.requirements.tolerate(&node.taints) && self.requirements.allow(node)
    }

    /// How many pods like this the node has room for, whatever else is in the way.
    pub fn capacity(&self, node: &Node, used: &Used) -> i64 {
        let mut capacity = node.allowed_pods.saturating_sub(used.pods);
        for (dimension, requested) in self.requests.dimensions() {
            // A scalar resource that is requested with 0 is still compared, as kube-scheduler does.
            let always = matches!(dimension, Dimension::Scalar(_));
            if requested > 0 || always {
                let left = node.allocatable.amount(dimension).wrapping_sub(used.resources.amount(dimension));
                if requested > left {
                    return 0;
                }
                if requested > 0 {
                    capacity = capacity.min(left / requested);
                }
            }
        }
        capacity.max(0)
    }

    /// Whether a pod occupies a port of the host that is wanted.
    pub fn port_is_taken_by(&self, pod: &Pod) -> bool {
        HostPort::any_conflict(self.host_ports, pod.host_ports())
    }

    /// What this one predicate says.
    pub fn judge(&self, predicate: Predicate, node: &Node, used: &Used, pods: &[Arc<Pod>]) -> Verdict {
        let requirements = self.requirements;
        let fails = match predicate {
            Predicate::Unschedulable => {
                node.unschedulable && !requirements.tolerate(&[Taint::of_cordoned_nodes()])
            }
            Predicate::Taints => !requirements.tolerate(&node.taints),
            Predicate::NodeAffinity => !requirements.allow(node),
            Predicate::HostPorts => pods.iter().any(|pod| self.port_is_taken_by(pod)),
            Predicate::Resources => return self.judge_room(node, used),
        };
        // Whoever occupies a port could leave.
        let resolvable = predicate == Predicate::HostPorts;
        if fails { Verdict::DoesNotFit { predicate, resolvable } } else { Verdict::Fits }
    }

    /// No eviction makes room on a node that is too small when it is empty. Too many pods is another matter, even on
    /// a node that may have none.
    fn judge_room(&self, node: &Node, used: &Used) -> Verdict {
        let mut shortage = used.pods.saturating_add(1) > node.allowed_pods;
        let mut too_small = false;
        for (dimension, requested) in self.requests.dimensions() {
            // A pod that requests none of it fits also where more is used than there is; scalars are always compared.
            if requested <= 0 && !matches!(dimension, Dimension::Scalar(_)) {
                continue;
            }
            let allocatable = node.allocatable.amount(dimension);
            if requested > allocatable.wrapping_sub(used.resources.amount(dimension)) {
                shortage = true;
                too_small |= requested > allocatable;
            }
        }
        if shortage {
            Verdict::DoesNotFit { predicate: Predicate::Resources, resolvable: !too_small }
        } else {
            Verdict::Fits
        }
    }
}
