//! kube-scheduler's side: the program that runs its framework and its plugin.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::Case;
use crate::support::differential::program::Program;

/// The compiled program.
pub struct Reference(Program);

/// What the plugin said. Without a constraint it says nothing about the nodes.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub id: u64,
    pub filter: Filter,
    pub score: Score,
    /// What a preemption finds out about a candidate that has victims.
    #[serde(default, rename = "dryRun")]
    pub dry_run: BTreeMap<String, Status>,
    /// What filter will say about it once they are gone.
    #[serde(default)]
    pub afterwards: BTreeMap<String, Status>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Filter {
    #[serde(rename = "preFilter")]
    pub prepared: Status,
    #[serde(default)]
    pub nodes: Vec<Status>,
}

#[derive(Debug, Deserialize)]
pub struct Score {
    #[serde(rename = "preScore")]
    pub prepared: Status,
    #[serde(default)]
    pub raw: Vec<i64>,
    #[serde(default)]
    pub normalized: Vec<i64>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Status {
    pub code: String,
}

impl Status {
    pub fn is_skip(&self) -> bool {
        self.code == "Skip"
    }
}

impl Reference {
    pub fn locate() -> Self {
        Self(Program::locate("spread-reference"))
    }

    /// One answer per case. A case that the plugin refuses is a fault of the generator.
    pub fn answer(&self, cases: &[Case]) -> Vec<Answer> {
        let lines = self.0.answer(cases.iter().map(|case| case.0.to_string()));
        let answers: Vec<Answer> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("the reference says {line}")))
            .collect();
        assert!(
            answers.iter().map(|answer| answer.id).eq(cases.iter().map(Case::id)),
            "one answer per case, in their order"
        );
        answers
    }
}
