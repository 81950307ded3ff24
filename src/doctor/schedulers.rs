//! The kube-schedulers of a cluster, and which of them a configuration file is for.

use super::scheduler_config::{Profile, SchedulerConfig};
use super::versions::Version;

/// The name of the lease, and of the profile, of a control plane's own kube-scheduler.
const OWN_LEASE: &str = "kube-scheduler";
const OWN_PROFILE: &str = "default-scheduler";

/// Whose kube-scheduler it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The control plane's, which serves the pods that name no scheduler.
    ControlPlane,
    /// One of its own, installed with Berth.
    Berth,
}

/// A kube-scheduler that runs as a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchedulerPod {
    pub(super) whose: Whose,
    /// Its version, if its image says.
    pub(super) version: Option<Version>,
    /// Whether it is on the network of its host, where names of Services mean nothing.
    pub(super) host_network: bool,
}

/// Where the kube-scheduler is that a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// On its host's network.
    Host,
    /// On the network of pods.
    Pods,
    /// Nobody knows.
    Unknown,
}

/// For which kube-scheduler this file is. Who has a lease of its own, or does not serve the pods that name no scheduler, is not
/// the control plane's.
fn whose(config: &SchedulerConfig) -> Whose {
    let lease = config.lease().unwrap_or(OWN_LEASE);
    let serves_all = config.effective_profiles().iter().map(Profile::name).any(|name| name == OWN_PROFILE);
    if lease == OWN_LEASE && serves_all { Whose::ControlPlane } else { Whose::Berth }
}

/// Where the kube-scheduler is that this file is for, as far as its pods can be seen. The control plane's may be hidden, on
/// managed clusters or because it is no pod; of another one that nobody sees nothing speaks against the network of pods.
pub(super) fn network(config: &SchedulerConfig, pods: &[SchedulerPod]) -> Network {
    let whose = whose(config);
    let mut networks = pods.iter().filter(|pod| pod.whose == whose).map(|pod| pod.host_network);
    let first = networks.next();
    let are_alike = networks.all(|network| Some(network) == first);
    match (first, whose) {
        (Some(true), _) if are_alike => Network::Host,
        (Some(false), _) if are_alike => Network::Pods,
        (None, Whose::Berth) => Network::Pods,
        _ => Network::Unknown,
    }
}

/// All versions that run, each once.
pub(super) fn versions(pods: &[SchedulerPod]) -> Vec<Version> {
    let mut versions: Vec<_> = pods.iter().filter_map(|pod| pod.version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

#[cfg(test)]
mod tests {
    use super::{Network, SchedulerPod, Whose, network};
    use crate::doctor::scheduler_config::parse;

    fn pod(whose: Whose, host_network: bool) -> SchedulerPod {
        SchedulerPod { whose, version: None, host_network }
    }

    #[test]
    fn a_file_is_for_the_scheduler_whose_lease_and_profile_it_names() {
        let (static_pod, in_pod) = (pod(Whose::ControlPlane, true), pod(Whose::Berth, false));
        let both = [static_pod.clone(), in_pod.clone()];
        let mixed = [static_pod.clone(), pod(Whose::ControlPlane, false)];
        let own = "leaderElection: {resourceName: berth}\nprofiles: [{schedulerName: berth}]";
        for (name, text, pods, expected) in [
            ("nothing named, on kubeadm", "", &both[..], Network::Host),
            ("the default profile", "profiles: [{schedulerName: default-scheduler}]", &both, Network::Host),
            ("both profiles", "profiles: [{schedulerName: berth}, {}]", &both, Network::Host),
            ("its own lease", own, &both, Network::Pods),
            (
                "its own profile, no election",
                "leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: berth}]",
                &both,
                Network::Pods,
            ),
            (
                "all pods, by a lease of its own",
                "leaderElection: {resourceName: berth}",
                &both,
                Network::Pods,
            ),
            ("null for nothing", "leaderElection:\nprofiles:", &both, Network::Host),
            ("before it is installed", own, &both[..1], Network::Pods),
            ("on its host by choice", own, &[pod(Whose::Berth, true)], Network::Host),
            ("a control plane that hides its own", "", &both[1..], Network::Unknown),
            ("control planes that differ", "", &mixed, Network::Unknown),
        ] {
            let text = format!(
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{text}\n"
            );
            assert_eq!(network(&parse(&text).expect(name), pods), expected, "{name}");
        }
    }
}
