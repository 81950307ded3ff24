//! What a scenario is made of, and how it ends.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::stage::Stage;
use crate::fixtures::{PodBuilder, pod};

/// Every priority that a scenario gives to a pod, each with a class of its own.
pub const PRIORITIES: [i32; 9] = [5, 10, 11, 12, 13, 20, 30, 40, URGENT];
/// Above that of every resident.
pub const URGENT: i32 = 1000;

pub fn class_of(priority: i32) -> String {
    format!("priority-{priority}")
}

/// A pod with a priority that its name need not tell.
pub fn ranked(name: &str, priority: i32) -> PodBuilder {
    pod(name).priority_class(&class_of(priority))
}

/// Who is there before anybody schedules. No two nodes may be equally good for kube-scheduler, or else the ending is
/// a matter of luck: let the priorities of their residents differ.
#[derive(Default)]
pub struct Cluster {
    pub nodes: Vec<Node>,
    pub services: Vec<Service>,
    pub budgets: Vec<PodDisruptionBudget>,
    /// Bound already.
    pub residents: Vec<Pod>,
}

pub trait Scenario {
    fn cluster(&self) -> Cluster;

    /// Who arrives and what else happens, up to the last landing.
    async fn unfold(&self, stage: &Stage) -> Result<()>;
}

/// How a scenario has to end.
pub struct Fate {
    pub evicted: &'static [&'static str],
    /// Pod and node.
    pub landed: &'static [(&'static str, &'static str)],
}

/// How it ended: all evictions, and the place of every pod that is left.
#[derive(Debug, PartialEq, Eq)]
pub struct Ending {
    pub evicted: BTreeSet<String>,
    pub places: BTreeMap<String, String>,
}

impl Ending {
    pub fn ensure(&self, fate: &Fate) -> Result<()> {
        let evicted: BTreeSet<&str> = self.evicted.iter().map(String::as_str).collect();
        let expected: BTreeSet<&str> = fate.evicted.iter().copied().collect();
        ensure!(evicted == expected, "evicted were {evicted:?}, not {expected:?}");
        for (pod, node) in fate.landed {
            let place = self.places.get(*pod);
            ensure!(place.is_some_and(|place| place == node), "{pod} landed on {place:?}, not on {node}");
        }
        Ok(())
    }
}
