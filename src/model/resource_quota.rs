//! How much the pods of a namespace may use, and which pods each quota counts.

use super::{Name, ObjectKey, Pod, Resources, Used};

/// What Berth keeps of a `ResourceQuota`.
///
/// Limits on limits (`limits.cpu`) and on anything but pods are left out: what containers are limited to is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceQuota {
    /// Namespace and name.
    pub key: ObjectKey,
    /// It counts the pods that match all of these.
    pub scopes: Box<[QuotaScope]>,
    /// What those pods may use.
    pub limits: Box<[QuotaLimit]>,
}

/// How much of one thing may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaLimit {
    /// Of what.
    pub of: Counted,
    /// So much in all.
    pub hard: i64,
    /// So much is used already, if the API server has said so yet.
    pub used: Option<i64>,
}

/// What a quota counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Pods.
    Pods,
    /// Thousandths of a CPU that are requested.
    Cpu,
    /// Bytes of memory that are requested.
    Memory,
    /// Bytes of local disk that are requested.
    EphemeralStorage,
    /// Any other resource that is requested.
    Scalar(Name),
}

/// Which pods a quota counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaScope {
    /// Those that request nothing.
    BestEffort,
    /// All others.
    NotBestEffort,
    /// Those that may run for a certain time only.
    Terminating,
    /// All others.
    NotTerminating,
    /// Those that name a priority class.
    PriorityClass,
    /// Those that name none.
    NoPriorityClass,
    /// Those of one of these priority classes.
    PriorityClassIn(Box<[Name]>),
    /// All others, also those that name none.
    PriorityClassNotIn(Box<[Name]>),
    /// Those that have something that is not kept of pods. Nobody is taken to have it: a quota that may not apply must not
    /// keep a group from being placed.
    Unknown,
}

/// What of a pod decides which quotas count it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaTraits {
    /// The name of its priority class.
    pub priority_class: Option<Name>,
    /// Whether it requests neither CPU nor memory.
    pub is_best_effort: bool,
    /// Whether it may run for a certain time only.
    pub has_deadline: bool,
}

impl QuotaTraits {
    /// Those of a pod.
    pub fn of(pod: &Pod) -> Self {
        let Pod { priority_class, is_best_effort, has_deadline, .. } = pod;
        Self {
            priority_class: priority_class.clone(),
            is_best_effort: *is_best_effort,
            has_deadline: *has_deadline,
        }
    }
}

impl QuotaScope {
    fn includes(&self, pod: &QuotaTraits) -> bool {
        let class = pod.priority_class.as_ref();
        match self {
            QuotaScope::BestEffort => pod.is_best_effort,
            QuotaScope::NotBestEffort => !pod.is_best_effort,
            QuotaScope::Terminating => pod.has_deadline,
            QuotaScope::NotTerminating => !pod.has_deadline,
            QuotaScope::PriorityClass => class.is_some(),
            QuotaScope::NoPriorityClass => class.is_none(),
            QuotaScope::PriorityClassIn(classes) => class.is_some_and(|class| classes.contains(class)),
            QuotaScope::PriorityClassNotIn(classes) => !class.is_some_and(|class| classes.contains(class)),
            QuotaScope::Unknown => false,
        }
    }
}

impl ResourceQuota {
    /// Whether it counts such a pod.
    pub fn counts(&self, pod: &QuotaTraits) -> bool {
        self.scopes.iter().all(|scope| scope.includes(pod))
    }
}

impl Counted {
    /// How much of it one pod uses that requests this.
    pub fn of_pod(&self, requests: &Resources) -> i64 {
        match self {
            Counted::Pods => 1,
            Counted::Cpu => requests.milli_cpu,
            Counted::Memory => requests.memory,
            Counted::EphemeralStorage => requests.ephemeral_storage,
            Counted::Scalar(name) => requests.scalar(name),
        }
    }

    /// How much of it is used.
    pub fn of_used(&self, used: &Used) -> i64 {
        match self {
            Counted::Pods => used.pods,
            other => other.of_pod(&used.resources),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{QuotaScope, QuotaTraits, ResourceQuota};
    use crate::model::{Name, ObjectKey};

    #[test]
    fn which_pods_a_quota_counts() {
        let plain = QuotaTraits { priority_class: None, is_best_effort: false, has_deadline: false };
        let of_class = |class: &str| QuotaTraits { priority_class: Some(class.into()), ..plain.clone() };
        let idle = QuotaTraits { is_best_effort: true, ..plain.clone() };
        let short = QuotaTraits { has_deadline: true, ..plain.clone() };
        let pods = [&plain, &of_class("high"), &of_class("low"), &idle, &short];
        let high = || [Name::from("high")].into();
        for (name, scopes, expected) in [
            ("no scope", vec![], [true; 5]),
            ("BestEffort", vec![QuotaScope::BestEffort], [false, false, false, true, false]),
            ("NotBestEffort", vec![QuotaScope::NotBestEffort], [true, true, true, false, true]),
            ("Terminating", vec![QuotaScope::Terminating], [false, false, false, false, true]),
            ("NotTerminating", vec![QuotaScope::NotTerminating], [true, true, true, true, false]),
            ("any class", vec![QuotaScope::PriorityClass], [false, true, true, false, false]),
            ("no class", vec![QuotaScope::NoPriorityClass], [true, false, false, true, true]),
            ("class high", vec![QuotaScope::PriorityClassIn(high())], [false, true, false, false, false]),
            ("not high", vec![QuotaScope::PriorityClassNotIn(high())], [true, false, true, true, true]),
            (
                "all have to match",
                vec![QuotaScope::NotBestEffort, QuotaScope::NoPriorityClass],
                [true, false, false, false, true],
            ),
            ("what is not known", vec![QuotaScope::NotBestEffort, QuotaScope::Unknown], [false; 5]),
        ] {
            let key = ObjectKey::new("ns", "q");
            let quota = ResourceQuota { key, scopes: scopes.into(), limits: Box::default() };
            assert_eq!(pods.map(|pod| quota.counts(pod)), expected, "{name}");
        }
    }
}
