//! Whether a pod would fit on a node, as kube-scheduler's own plugins decide it.
//!
//! What is used of the node is handed in, so that callers can ask what if: with room reserved for others, or with pods
//! evicted. Not looked at are host ports, volumes and claims of devices, so "fits" means "as far as this goes", and
//! "does not fit" is certain.

#[cfg(test)]
mod tests;

use crate::model::{Node, Requirements, Resources, Taint, Used};

/// A pod that looks for a node.
#[derive(Clone, Copy, Debug)]
pub struct Applicant<'a> {
    /// What it asks for.
    pub requests: &'a Resources,
    /// What it asks of a node.
    pub requirements: &'a Requirements,
}

/// Whether it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Fits,
    /// It does not.
    DoesNotFit {
        /// What is in the way; of several, what kube-scheduler would name.
        obstacle: Obstacle,
        /// Whether evicting pods could help.
        resolvable: bool,
    },
}

/// What may be in the way, each decided by a plugin of kube-scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// The node is cordoned (`NodeUnschedulable`).
    Cordon,
    /// A taint is not tolerated (`TaintToleration`).
    Taint,
    /// Node selector or required affinity want another node (`NodeAffinity`).
    Affinity,
    /// There is not enough room (`NodeResourcesFit`).
    Room,
}

impl Obstacle {
    /// All, in the order in which kube-scheduler looks for them.
    pub const ALL: [Obstacle; 4] = [Obstacle::Cordon, Obstacle::Taint, Obstacle::Affinity, Obstacle::Room];
}

impl Applicant<'_> {
    /// Whether it would fit on the node, of which so much is used.
    pub fn fits(&self, node: &Node, used: &Used) -> Verdict {
        let mut verdicts = Obstacle::ALL.into_iter().map(|obstacle| self.judge(obstacle, node, used));
        verdicts.find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits)
    }

    /// Whether it would fit on the node if there were room.
    pub fn fits_but_for_room(&self, node: &Node) -> Verdict {
        let nothing = Used::default();
        let others = Obstacle::ALL.into_iter().filter(|obstacle| *obstacle != Obstacle::Room);
        let mut verdicts = others.map(|obstacle| self.judge(obstacle, node, &nothing));
        verdicts.find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits)
    }

    /// How many pods like this there is room for, whatever else is in the way.
    pub fn times_by_room(&self, node: &Node, used: &Used) -> i64 {
        if self.judge(Obstacle::Room, node, used) != Verdict::Fits {
            return 0;
        }
        let (requests, has, taken) = (self.requests, &*node.allocatable, &used.resources);
        let amounts = [
            (requests.milli_cpu, has.milli_cpu, taken.milli_cpu),
            (requests.memory, has.memory, taken.memory),
            (requests.ephemeral_storage, has.ephemeral_storage, taken.ephemeral_storage),
        ];
        let scalars = requests.scalars().map(|(name, asked)| (asked, has.scalar(name), taken.scalar(name)));
        let by_amount = amounts.into_iter().chain(scalars).filter(|(asked, ..)| *asked > 0);
        let often = by_amount.map(|(asked, has, taken)| has.wrapping_sub(taken) / asked);
        often.fold(node.allowed_pods.saturating_sub(used.pods), i64::min)
    }

    /// Whether this one obstacle is in the way.
    pub fn judge(&self, obstacle: Obstacle, node: &Node, used: &Used) -> Verdict {
        let requirements = self.requirements;
        let in_the_way = match obstacle {
            Obstacle::Cordon => node.unschedulable && !requirements.tolerate(&[Taint::of_cordoned_nodes()]),
            Obstacle::Taint => !requirements.tolerate(&node.taints),
            Obstacle::Affinity => !requirements.allow(node),
            Obstacle::Room => return self.judge_room(node, used),
        };
        if in_the_way { Verdict::DoesNotFit { obstacle, resolvable: false } } else { Verdict::Fits }
    }

    /// No eviction makes room on a node that is too small when it is empty. Too many pods is another matter, even on
    /// a node that may have none.
    fn judge_room(&self, node: &Node, used: &Used) -> Verdict {
        let mut shortage = used.pods.saturating_add(1) > node.allowed_pods;
        let mut too_small = false;
        let (requests, has, taken) = (self.requests, &*node.allocatable, &used.resources);
        let mut compare = |asked: i64, has: i64, taken: i64| {
            if asked > has.wrapping_sub(taken) {
                shortage = true;
                too_small |= asked > has;
            }
        };
        for (asked, has, taken) in [
            (requests.milli_cpu, has.milli_cpu, taken.milli_cpu),
            (requests.memory, has.memory, taken.memory),
            (requests.ephemeral_storage, has.ephemeral_storage, taken.ephemeral_storage),
        ] {
            // Who asks for nothing fits also where more is taken than there is.
            if asked > 0 {
                compare(asked, has, taken);
            }
        }
        for (name, asked) in requests.scalars() {
            compare(asked, has.scalar(name), taken.scalar(name));
        }
        if shortage {
            Verdict::DoesNotFit { obstacle: Obstacle::Room, resolvable: !too_small }
        } else {
            Verdict::Fits
        }
    }
}
