//! What can be wrong with a request's body.

/// Why a body was not understood. The text goes to the caller, the label to a metric.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Bytes that are no text.
    #[error("body is not valid UTF-8")]
    NotUtf8,
    /// Text that is no JSON, or ends too early.
    #[error("body is not JSON: {0}")]
    NotJson(String),
    /// JSON of another shape.
    #[error("body has an unexpected shape: {0}")]
    WrongShape(String),
    /// No pod.
    #[error("Pod is missing")]
    MissingPod,
    /// Both node forms, or neither.
    #[error("exactly one of NodeNames and Nodes must be given")]
    NodeForms,
    /// Both victim forms, or neither.
    #[error("exactly one of NodeNameToMetaVictims and NodeNameToVictims must be given")]
    VictimForms,
    /// A bind call without something it needs.
    #[error("{0} is missing")]
    MissingField(&'static str),
}

impl WireError {
    /// Every label, for metrics that exist from the start.
    pub const LABELS: [&'static str; 7] =
        ["not_utf8", "not_json", "wrong_shape", "missing_pod", "node_forms", "victim_forms", "missing_field"];

    /// The label in metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            WireError::NotUtf8 => Self::LABELS[0],
            WireError::NotJson(_) => Self::LABELS[1],
            WireError::WrongShape(_) => Self::LABELS[2],
            WireError::MissingPod => Self::LABELS[3],
            WireError::NodeForms => Self::LABELS[4],
            WireError::VictimForms => Self::LABELS[5],
            WireError::MissingField(_) => Self::LABELS[6],
        }
    }
}

impl From<serde_json::Error> for WireError {
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            serde_json::error::Category::Data => WireError::WrongShape(error.to_string()),
            _ => WireError::NotJson(error.to_string()),
        }
    }
}
