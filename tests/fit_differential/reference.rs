//! kube-scheduler's side: the program that runs its framework and its plugins.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::Case;
use crate::outcome::{Amounts, Node, Numbers, Outcome, Reasons, Verdict};
use crate::support::differential::program::Program;

/// The plugins in the order in which kube-scheduler asks them: the first that refuses a node decides.
pub const PLUGINS: [&str; 5] =
    ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"];

/// The compiled program.
pub struct Reference(Program);

#[derive(Deserialize)]
struct Answer {
    id: u64,
    plugins: BTreeMap<String, Option<Vec<Status>>>,
    requests: Amounts,
    allocated: BTreeMap<String, Amounts>,
    nodes: BTreeMap<String, Node>,
    quantities: Vec<Option<Numbers>>,
}

#[derive(Deserialize)]
struct Status {
    code: String,
    #[serde(default)]
    reasons: Vec<String>,
}

impl Reference {
    pub fn locate() -> Self {
        Self(Program::locate("fit-reference"))
    }

    /// One outcome per case. A case that is refused is a fault of the generator.
    pub fn outcomes(&self, cases: &[Case]) -> Vec<Outcome> {
        let outcomes = self.try_outcomes(cases);
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    /// One outcome per case, or what is wrong with the case.
    pub fn try_outcomes(&self, cases: &[Case]) -> Vec<Result<Outcome, String>> {
        let lines = self.0.answer(cases.iter().map(|case| case.0.to_string()));
        let read = |(case, line): (&Case, &String)| {
            let answer: Answer =
                serde_json::from_str(line).map_err(|_| format!("the reference says {line}"))?;
            assert_eq!(answer.id, case.id(), "one answer per case, in their order");
            Ok(answer.outcome(case.candidates().len()))
        };
        cases.iter().zip(&lines).map(read).collect()
    }
}

impl Answer {
    fn outcome(self, candidates: usize) -> Outcome {
        let mut reasons = Reasons::default();
        let mut plugins = BTreeMap::new();
        for (plugin, statuses) in self.plugins {
            let statuses = statuses.unwrap_or_default();
            plugins.insert(plugin, statuses.iter().map(Status::verdict).collect::<Vec<_>>());
            reasons.0.extend(statuses.into_iter().flat_map(|status| status.reasons));
        }
        let decides = |candidate: usize| {
            let verdicts = PLUGINS.iter().map(|plugin| plugins[*plugin][candidate]);
            verdicts.into_iter().find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits)
        };
        Outcome {
            verdicts: (0..candidates).map(decides).collect(),
            plugins,
            requests: self.requests,
            allocated: self.allocated,
            nodes: self.nodes,
            quantities: self.quantities,
            reasons,
        }
    }
}

impl Status {
    fn verdict(&self) -> Verdict {
        match &*self.code {
            "Success" => Verdict::Fits,
            "Unschedulable" => Verdict::Resolvable,
            "UnschedulableAndUnresolvable" => Verdict::Unresolvable,
            code => panic!("a filter answers {code}"),
        }
    }
}
