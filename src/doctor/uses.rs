//! What the configuration makes Berth do, as far as kube-scheduler has to be told for it.

use crate::config::{Config, DefaultingType, Mode, SpreadConstraint, WhenUnsatisfiable};

/// What Berth does by its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// Groups are kept together.
    pub(super) groups: bool,
    /// Nodes are rejected for the sake of spreading.
    pub(super) hard_limits: bool,
    /// Pods are spread by default.
    pub(super) spreading: bool,
}

impl Uses {
    pub(super) fn of(config: &Config) -> Self {
        let groups = &config.replica_groups;
        let spread = &config.topology_spread;
        let follows = spread.mode == Mode::Enforce;
        let lists = || {
            let overrides = spread.overrides.iter().map(|rule| &rule.default_constraints);
            overrides.chain([&spread.default_constraints])
        };
        let is_hard =
            |constraint: &SpreadConstraint| constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
        Self {
            groups: groups.mode == Mode::Enforce && !(groups.sources.is_empty() && groups.rules.is_empty()),
            hard_limits: follows && lists().flatten().any(is_hard),
            spreading: follows
                && (spread.defaulting_type == DefaultingType::System || lists().any(|list| !list.is_empty())),
        }
    }

    /// What must hold whatever happens, in words; `None` if there is nothing.
    pub(super) fn promises(self) -> Option<&'static str> {
        match (self.groups, self.hard_limits) {
            (true, true) => Some("replica groups and hard spreading limits"),
            (true, false) => Some("replica groups"),
            (false, true) => Some("hard spreading limits"),
            (false, false) => None,
        }
    }
}
