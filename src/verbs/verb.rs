//! What kube-scheduler can ask.

/// A verb of the extender protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Which nodes may be used.
    Filter,
    /// Which of them are best.
    Prioritize,
    /// Where evicting pods is worth it.
    Preempt,
    /// Bind a pod to its node.
    Bind,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Verb; 4] = [Verb::Filter, Verb::Prioritize, Verb::Preempt, Verb::Bind];

    /// The name in paths and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Verb::Filter => "filter",
            Verb::Prioritize => "prioritize",
            Verb::Preempt => "preempt",
            Verb::Bind => "bind",
        }
    }

    /// The verb of a path such as `/filter`.
    pub fn from_path(path: &str) -> Option<Verb> {
        let name = path.strip_prefix('/')?;
        Verb::ALL.into_iter().find(|verb| verb.label() == name)
    }
}
