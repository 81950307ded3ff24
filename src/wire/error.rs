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
    /// The label in metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            WireError::NotUtf8 => "not_utf8",
            WireError::NotJson(_) => "not_json",
            WireError::WrongShape(_) => "wrong_shape",
            WireError::MissingPod => "missing_pod",
            WireError::NodeForms => "node_forms",
            WireError::VictimForms => "victim_forms",
            WireError::MissingField(_) => "missing_field",
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
