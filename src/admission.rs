//! What is changed of pods as they are created.
//!
//! ```text
//!   body --wire--> pod as it stands, and as the view sees it --mutations--> JSON patch, or a refusal
//! ```
//!
//! A *mutation* is a pure function of the pod, of the group that it is a member of, of the view and the configuration. Each is
//! one file below and one entry in [`MUTATIONS`]. They are asked in turn, and each sees what those before it have changed. The API
//! server may ask again about a pod that has been changed, so what has been done is not done twice. Nothing is remembered: an
//! answer that the API server throws away, as in a dry run, has no consequences.

mod group_address;
mod patch;
#[cfg(test)]
mod tests;
mod unique_nodes;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use self::patch::Operation;
use crate::config::Config;
use crate::json::{self, Interner, PodObject};
use crate::model::{Membership, Pod};
use crate::view::View;
use crate::wire::admission::{AdmissionError, AdmissionRequest, admitted, refused};

/// All mutations, in their order.
const MUTATIONS: [Mutation; 2] = [unique_nodes::MUTATION, group_address::MUTATION];

/// One thing that may be changed of a pod.
struct Mutation {
    /// Whether the pod concerns it: only then its JSON is read as a whole.
    concerns: fn(&Subject<'_>) -> bool,
    /// What is to be changed of the pod, which stands in JSON beside it.
    change: fn(&Subject<'_>, &Value) -> Result<Change, Refusal>,
}

/// A pod that is about to be created, and all that is known of the cluster.
struct Subject<'a> {
    /// The pod, as far as Berth reads it. It has no name yet if the API server is to make one up.
    pod: &'a Pod,
    /// The cluster.
    view: &'a View,
    /// The settings in force.
    config: &'a Config,
}

impl<'a> Subject<'a> {
    /// Its part in a group, if it is a member of one.
    fn membership(&self) -> Option<&'a Membership> {
        self.pod.group.as_deref()
    }
}

/// What is to be done.
#[derive(Debug, Default)]
struct Change {
    /// Steps, each on what the ones before it have left.
    operations: Vec<Operation>,
    /// What the one who creates the pod should know.
    warnings: Vec<String>,
}

/// Why a pod must not be created as it is, in words for the one who creates it.
#[derive(Debug)]
struct Refusal(Cow<'static, str>);

/// What came of a review, and the answer to it.
#[derive(Debug)]
pub struct Reviewed {
    /// What came of it.
    pub verdict: Verdict,
    /// The body of the answer.
    pub answer: Vec<u8>,
    /// Why it was refused.
    pub refusal: Option<String>,
}

/// What came of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod is to be created as it is.
    Unchanged,
    /// It is to be changed.
    Changed,
    /// It is not to be created.
    Refused,
}

/// Answers the body of a review.
pub fn review(
    body: &[u8],
    interner: &Interner,
    view: &View,
    config: &Config,
) -> Result<Reviewed, AdmissionError> {
    let AdmissionRequest { uid, namespace, created_pod } = AdmissionRequest::decode(body)?;
    let unchanged = |warnings: &[String]| Reviewed {
        verdict: Verdict::Unchanged,
        answer: admitted(&uid, &[] as &[Operation], warnings),
        refusal: None,
    };
    let Some(text) = created_pod.map(RawValue::get) else { return Ok(unchanged(&[])) };
    let no_pod = |error: serde_json::Error| AdmissionError::NoPod(error.to_string());
    let object: PodObject = serde_json::from_str(text).map_err(no_pod)?;
    let mut pod = json::pod(&object, interner);
    if pod.key.namespace.is_empty() {
        pod.key.namespace = interner.name(&namespace);
    }
    let mut pod = Arc::new(pod);
    view.recognise_group(&mut pod);
    let subject = Subject { pod: &pod, view, config };
    let concerned: Vec<_> = MUTATIONS.iter().filter(|mutation| (mutation.concerns)(&subject)).collect();
    if concerned.is_empty() {
        return Ok(unchanged(&[]));
    }
    let mut object: Value = serde_json::from_str(text).map_err(no_pod)?;
    let (mut operations, mut warnings) = (Vec::new(), Vec::new());
    for mutation in concerned {
        match (mutation.change)(&subject, &object) {
            Ok(change) => {
                for operation in &change.operations {
                    operation.apply(&mut object);
                }
                operations.extend(change.operations);
                warnings.extend(change.warnings);
            }
            Err(Refusal(why)) => {
                let answer = refused(&uid, &why);
                let refusal = Some(why.into_owned());
                return Ok(Reviewed { verdict: Verdict::Refused, answer, refusal });
            }
        }
    }
    if operations.is_empty() {
        return Ok(unchanged(&warnings));
    }
    let answer = admitted(&uid, &operations, &warnings);
    Ok(Reviewed { verdict: Verdict::Changed, answer, refusal: None })
}
