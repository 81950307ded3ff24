//! What both sides say, in one form.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// Amounts by name, without zeros.
pub type Amounts = BTreeMap<String, i64>;

/// What becomes of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fits,
    Resolvable,
    Unresolvable,
}

/// Everything that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// By plugin, a verdict on every candidate in their order.
    pub plugins: BTreeMap<String, Vec<Verdict>>,
    /// The verdict of all of them together.
    pub verdicts: Vec<Verdict>,
    /// What the incoming pod asks for.
    pub requests: Amounts,
    /// What each pod takes on a node, by UID.
    pub allocated: BTreeMap<String, Amounts>,
    pub nodes: BTreeMap<String, Node>,
    /// Value and thousandths; `None` is malformed.
    pub quantities: Vec<Option<Numbers>>,
    /// Why a candidate is refused; only kube-scheduler tells.
    pub reasons: Reasons,
}

/// Equal to any other: for whoever reads it.
#[derive(Clone, Debug, Default)]
pub struct Reasons(pub Vec<String>);

impl PartialEq for Reasons {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Reasons {}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub allocatable: Amounts,
    pub allowed_pods: i64,
    pub requested: Amounts,
    pub pods: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Numbers {
    pub value: i64,
    pub milli: i64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Fits => "fits",
            Verdict::Resolvable => "resolvable",
            Verdict::Unresolvable => "unresolvable",
        })
    }
}
