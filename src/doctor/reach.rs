//! Checks of the way that kube-scheduler's calls take to Berth: one synthetic call along it.

use serde::Deserialize;

use super::finding::{Code, Finding};

/// A filter call about a pod without a UID and without a scheduler, and about no nodes: Berth answers it as any other, and
/// neither ledger nor groups nor nominations hear of it.
pub(super) const CALL: &str = r#"{"Pod":{"metadata":{"name":"berth-doctor","namespace":"berth-doctor"},"spec":{"containers":[]}},"Nodes":null,"NodeNames":[]}"#;

/// What came of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// Where it went.
    pub(super) url: String,
    pub(super) outcome: Result<Answer, String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
    /// Whether the Berth whose admin endpoints were looked at has counted the call; `None` if none was looked at.
    pub(super) counted: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FilterResult {
    node_names: Option<Vec<String>>,
    #[serde(default)]
    error: String,
}

/// Whether Berth answers where kube-scheduler will ask.
pub(super) fn judge(reached: &Reached) -> Vec<Finding> {
    let url = &reached.url;
    let answer = match &reached.outcome {
        Ok(answer) => answer,
        Err(error) => {
            return vec![Finding::error(
                Code::VerbsUnreachable,
                format!("POST {url}: {error}"),
                "start Berth with --listen on that address; run doctor where kube-scheduler runs",
            )];
        }
    };
    let broken = |what: String| {
        let remedy = "see that urlPrefix leads to Berth's verbs port (8888), and not to its admin port or to somebody else";
        vec![Finding::error(Code::VerbsBroken, format!("POST {url} {what}"), remedy)]
    };
    if answer.status != 200 {
        return broken(format!("is answered {}: {}", answer.status, first_line(&answer.body)));
    }
    let result: FilterResult = match serde_json::from_str(&answer.body) {
        Ok(result) => result,
        Err(error) => return broken(format!("is answered with no filter result ({error})")),
    };
    if !result.error.is_empty() {
        return vec![Finding::error(
            Code::VerbsUndecided,
            format!("Berth answers, and cannot decide: {}", result.error),
            "see /readyz?verbose on the admin port; docs/troubleshoot.md tells what the reasons mean",
        )];
    }
    if result.node_names.is_none() {
        return broken("is answered with a filter result without NodeNames".to_owned());
    }
    if answer.counted == Some(false) {
        return vec![Finding::warning(
            Code::AnotherBerth,
            format!(
                "{url} answers, and the Berth whose admin endpoints were looked at has not counted the call"
            ),
            "pass --server with the admin address of the Berth that kube-scheduler asks",
        )];
    }
    Vec::new()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
