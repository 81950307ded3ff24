//! Checks of kube-scheduler's profiles.

use std::collections::BTreeMap;

use super::finding::{Code, Finding};
use super::report::few;
use super::scheduler_config::{Profile, SchedulerConfig};
use super::uses::Uses;
use crate::config::Config;

/// Who spreads pods that bring no constraints of their own.
pub(super) fn spreading(scheduler: &SchedulerConfig, config: &Config) -> Vec<Finding> {
    let spreads = Uses::of(config).spreading;
    let judge = |profile: &Profile| match (profile.spreads_by_default(), spreads) {
        (true, true) => Some(Finding::warning(
            Code::SpreadTwice,
            format!(
                "profile {}: kube-scheduler spreads by default (PodTopologySpread), and so does Berth: Berth's rules are \
                 outweighed by ones that nobody has set",
                profile.name()
            ),
            "set pluginConfig PodTopologySpread to defaultingType: List and defaultConstraints: []",
        )),
        (false, false) => Some(Finding::warning(
            Code::SpreadByNobody,
            format!(
                "profile {}: kube-scheduler's default spreading is off, and Berth's is off or only observes: pods without \
                 constraints of their own are not spread at all",
                profile.name()
            ),
            "remove the pluginConfig of PodTopologySpread, or set topologySpread.mode: Enforce",
        )),
        _ => None,
    };
    scheduler.effective_profiles().iter().filter_map(judge).collect()
}

/// How many nodes are looked at.
pub(super) fn sampling(scheduler: &SchedulerConfig, config: &Config) -> Vec<Finding> {
    let nominates = config.replica_groups.nominate;
    let judge = |profile: &Profile| {
        let percentage = profile.percentage_of_nodes_to_score.or(scheduler.percentage_of_nodes_to_score);
        let everything = percentage == Some(100);
        if everything && nominates {
            return Some(Finding::warning(
                Code::EveryNodeScored,
                format!(
                    "profile {}: percentageOfNodesToScore: 100 makes kube-scheduler look at every node for every pod, which \
                     costs most of its throughput on large clusters; plans of groups are written to their members as \
                     nominated nodes, and need it no more",
                    profile.name()
                ),
                "remove percentageOfNodesToScore",
            ));
        }
        let sees_a_sample = Uses::of(config).groups && !nominates && !everything;
        sees_a_sample.then(|| {
            Finding::warning(
                Code::GroupsSeeASample,
                format!(
                    "profile {}: replicaGroups.nominate is off, and kube-scheduler offers a sample of the nodes: members \
                     may not be offered the nodes of their group's domain",
                    profile.name()
                ),
                "set replicaGroups.nominate: true, or percentageOfNodesToScore: 100",
            )
        })
    };
    scheduler.effective_profiles().iter().filter_map(judge).collect()
}

/// Whom the profiles serve. `asked` is how many groups' pods name which scheduler, if that is known.
pub(super) fn names(scheduler: &SchedulerConfig, asked: &BTreeMap<String, usize>) -> Vec<Finding> {
    let profiles = scheduler.effective_profiles();
    let mut findings = Vec::new();
    for (at, profile) in profiles.iter().enumerate() {
        if profiles[..at].iter().any(|other| other.name() == profile.name()) {
            findings.push(Finding::error(
                Code::DuplicateProfile,
                format!("two profiles are called {}; kube-scheduler does not start", profile.name()),
                "give each profile a schedulerName of its own",
            ));
        }
    }
    let served: Vec<_> = profiles.iter().map(Profile::name).collect();
    for (name, groups) in asked.iter().filter(|(name, _)| !served.contains(&name.as_str())) {
        findings.push(Finding::warning(
            Code::SchedulerNameUnserved,
            format!(
                "pods of {groups} groups name the scheduler {name}, and the profiles here serve {}: Berth is not asked about \
                 them unless another scheduler with Berth serves that name",
                few(&served)
            ),
            format!("add a profile with schedulerName: {name}, or correct spec.schedulerName of the pods"),
        ));
    }
    findings
}
