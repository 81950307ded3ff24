//! The list of checks with their results, as text and as JSON.

use std::fmt::{self, Write};

use serde::Serialize;

use super::finding::{Finding, Severity};

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it belongs to.
    pub category: Category,
    /// What is checked, as the statement that should be true.
    pub name: &'static str,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing is wrong.
    Ok {
        /// What was seen, where that is worth a word.
        #[serde(skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// It works, but could be better.
    Warning {
        /// What was found.
        findings: Vec<Finding>,
    },
    /// Something does not work.
    Error {
        /// What was found.
        findings: Vec<Finding>,
    },
    /// It was not looked at.
    Skipped {
        /// Why not.
        why: String,
    },
}

/// What checks belong to, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Berth's configuration file.
    BerthConfiguration,
    /// kube-scheduler's configuration file.
    SchedulerConfiguration,
    /// Files with certificates and keys.
    Certificates,
    /// The way that kube-scheduler's calls take.
    Reachability,
    /// A Berth that runs.
    RunningBerth,
    /// The API server.
    ApiServer,
    /// What accounts may do.
    Permissions,
    /// Nodes and groups.
    Topology,
}

impl Category {
    const fn title(self) -> &'static str {
        match self {
            Category::BerthConfiguration => "Berth's configuration",
            Category::SchedulerConfiguration => "kube-scheduler's configuration",
            Category::Certificates => "certificates",
            Category::Reachability => "the way from kube-scheduler to Berth",
            Category::RunningBerth => "the Berth that runs",
            Category::ApiServer => "API server",
            Category::Permissions => "permissions",
            Category::Topology => "nodes and groups",
        }
    }
}

/// All checks with their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The checks, in their order.
    pub checks: Vec<Check>,
}

impl Report {
    /// Adds a check: good without findings, else as bad as the worst of them.
    pub(super) fn add(&mut self, category: Category, name: &'static str, findings: Vec<Finding>) {
        self.add_with_detail(category, name, findings, String::new());
    }

    /// The same, with a word on what was seen if all is well.
    pub(super) fn add_with_detail(
        &mut self,
        category: Category,
        name: &'static str,
        findings: Vec<Finding>,
        detail: String,
    ) {
        let outcome = match findings.iter().map(|finding| finding.severity).max() {
            None => Outcome::Ok { detail },
            Some(Severity::Warning) => Outcome::Warning { findings },
            Some(Severity::Error) => Outcome::Error { findings },
        };
        self.checks.push(Check { category, name, outcome });
    }

    /// Adds a check that was not made.
    pub(super) fn skip(&mut self, category: Category, name: &'static str, why: impl Into<String>) {
        self.checks.push(Check { category, name, outcome: Outcome::Skipped { why: why.into() } });
    }

    /// Everything that was found.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.checks.iter().flat_map(|check| match &check.outcome {
            Outcome::Warning { findings } | Outcome::Error { findings } => findings.as_slice(),
            Outcome::Ok { .. } | Outcome::Skipped { .. } => &[],
        })
    }

    /// How many findings are so bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings().filter(|finding| finding.severity == severity).count()
    }

    fn skipped(&self) -> usize {
        let is_skipped = |check: &&Check| matches!(check.outcome, Outcome::Skipped { .. });
        self.checks.iter().filter(is_skipped).count()
    }

    /// Whether not a single check could be made.
    pub fn is_empty(&self) -> bool {
        self.skipped() == self.checks.len()
    }

    /// The report for machines.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let whole = serde_json::json!({
            "checks": self.checks,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
            "skipped": self.skipped(),
        });
        serde_json::to_string_pretty(&whole)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut category = None;
        for check in &self.checks {
            if category != Some(check.category) {
                if category.is_some() {
                    writeln!(f)?;
                }
                category = Some(check.category);
                let title = check.category.title();
                writeln!(f, "{title}\n{}", "-".repeat(title.len()))?;
            }
            check.print(f)?;
        }
        let (errors, warnings) = (self.count(Severity::Error), self.count(Severity::Warning));
        let skipped = self.skipped();
        writeln!(
            f,
            "\n{errors} errors, {warnings} warnings, {skipped} of {} checks skipped",
            self.checks.len()
        )
    }
}

impl Check {
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match &self.outcome {
            Outcome::Ok { detail } if detail.is_empty() => writeln!(f, "[ok]      {name}"),
            Outcome::Ok { detail } => writeln!(f, "[ok]      {name}: {detail}"),
            Outcome::Skipped { why } => writeln!(f, "[skipped] {name}: {why}"),
            Outcome::Warning { findings } => print_findings(f, "[warning]", name, findings),
            Outcome::Error { findings } => print_findings(f, "[error]  ", name, findings),
        }
    }
}

fn print_findings(f: &mut fmt::Formatter<'_>, mark: &str, name: &str, findings: &[Finding]) -> fmt::Result {
    writeln!(f, "{mark} {name}")?;
    for finding in findings {
        writeln!(f, "            {}: {}", finding.code.name(), finding.reason)?;
        writeln!(f, "            -> {}", finding.remedy)?;
    }
    Ok(())
}

/// The first few of many names, and how many more there are.
pub(super) fn few(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        // Writing to a string does not fail.
        let _ = write!(text, " and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Code, Finding};
    use super::{Category, Report, few};

    #[test]
    fn a_report_reads_well_as_text_and_as_json() {
        let mut report = Report::default();
        assert!(report.is_empty());
        report.add_with_detail(Category::ApiServer, "it answers", Vec::new(), "v1.36.4".to_owned());
        report.skip(Category::Permissions, "Berth may read", "no cluster");
        let findings = vec![
            Finding::warning(Code::EveryNodeScored, "it costs", "do not"),
            Finding::error(Code::WeightMissing, "no weight", "weight: 1"),
        ];
        report.add(Category::Permissions, "Berth may write", findings);
        let expected = "API server\n----------\n[ok]      it answers: v1.36.4\n\n\
            permissions\n-----------\n[skipped] Berth may read: no cluster\n[error]   Berth may write\n            \
            EveryNodeScored: it costs\n            -> do not\n            WeightMissing: no weight\n            \
            -> weight: 1\n\n1 errors, 1 warnings, 1 of 3 checks skipped\n";
        assert_eq!(report.to_string(), expected);
        let json: serde_json::Value = serde_json::from_str(&report.to_json().expect("JSON")).expect("JSON");
        assert_eq!(json["errors"], 1);
        assert_eq!(json["checks"][0]["result"], "ok");
        assert_eq!(json["checks"][1]["why"], "no cluster");
        assert_eq!(json["checks"][2]["findings"][1]["code"], "WeightMissing");
        assert!(!report.is_empty());
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(few(&["a", "b"]), "a, b");
        assert_eq!(few(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }
}
