//! What few pods ask for beyond resources and properties of the node: host ports, claims of volumes, pods to be near.

use std::sync::Arc;

use super::{AffinityTerm, Name, Pod};

/// What a pod asks for that depends on other pods or on volumes. Most pods ask for nothing of the kind and have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodConstraints {
    /// Ports of the host that it occupies.
    pub host_ports: Box<[HostPort]>,
    /// Names of the persistent volume claims that it uses, in its own namespace.
    pub claims: Box<[Name]>,
    /// Its terms of required affinity to other pods.
    pub affinity: Box<[AffinityTerm]>,
}

impl PodConstraints {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.host_ports.is_empty() && self.claims.is_empty() && self.affinity.is_empty()
    }

    /// The ports of those that some pod has, if it has any.
    pub fn host_ports(of: Option<&Arc<Self>>) -> &[HostPort] {
        of.map_or(&[], |of| &of.host_ports)
    }

    /// The terms of affinity of those that some pod has, if it has any.
    pub fn affinity(of: Option<&Arc<Self>>) -> &[AffinityTerm] {
        of.map_or(&[], |of| &of.affinity)
    }

    /// Whether two pods occupy the same ports and want to be near the same pods. Which claims they use is another matter:
    /// what counts is where those let them be.
    pub fn are_alike(one: Option<&Arc<Self>>, other: Option<&Arc<Self>>) -> bool {
        let same_copy = one.zip(other).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        let same_ports = || Self::host_ports(one) == Self::host_ports(other);
        same_copy || (same_ports() && Self::affinity(one) == Self::affinity(other))
    }
}

/// A port of the host that a container occupies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// On this address of the host only; absent means on all of them.
    pub ip: Option<Name>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Name,
    /// Its number.
    pub number: i32,
}

impl HostPort {
    /// Whether two pods with these ports cannot be on one host.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let address = self.ip.is_none() || other.ip.is_none() || self.ip == other.ip;
        address && self.number == other.number && self.protocol == other.protocol
    }

    /// Whether one of some ports is in the way of one of some others.
    pub fn any_conflict(some: &[Self], others: &[Self]) -> bool {
        some.iter().any(|port| others.iter().any(|other| port.conflicts_with(other)))
    }
}

impl Pod {
    /// The ports of its host that it occupies.
    pub fn host_ports(&self) -> &[HostPort] {
        PodConstraints::host_ports(self.constraints.as_ref())
    }

    /// The names of the claims that it uses.
    pub fn claims(&self) -> &[Name] {
        self.constraints.as_ref().map_or(&[], |constraints| &constraints.claims)
    }
}

#[cfg(test)]
mod tests {
    use super::{HostPort, Name};

    #[test]
    fn ports_conflict_as_in_kube_scheduler() {
        let port = |ip: &str, protocol: &str, number| HostPort {
            ip: (!ip.is_empty()).then(|| Name::from(ip)),
            protocol: protocol.into(),
            number,
        };
        for (name, one, other, expected) in [
            ("the same", port("", "TCP", 80), port("", "TCP", 80), true),
            ("another number", port("", "TCP", 80), port("", "TCP", 81), false),
            ("another protocol", port("", "TCP", 80), port("", "UDP", 80), false),
            ("two addresses", port("10.0.0.1", "TCP", 80), port("10.0.0.2", "TCP", 80), false),
            ("one address", port("10.0.0.1", "TCP", 80), port("10.0.0.1", "TCP", 80), true),
            ("all addresses and one", port("", "TCP", 80), port("10.0.0.1", "TCP", 80), true),
        ] {
            assert_eq!(one.conflicts_with(&other), expected, "{name}");
            assert_eq!(other.conflicts_with(&one), expected, "{name}, the other way round");
        }
    }
}
