//! kube-scheduler's side: the program that runs its framework and its plugin.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;

use crate::case::Case;

/// The compiled program.
pub struct Reference {
    program: PathBuf,
}

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
    /// Runs the build script, which returns at once when everything is compiled already.
    pub fn locate() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/build");
        let output = Command::new(&script)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", script.display()));
        assert!(output.status.success(), "building the reference failed ({}), see above", output.status);
        let stdout = String::from_utf8(output.stdout).expect("the build script prints text");
        let folder = stdout.lines().last().expect("the build script prints a folder");
        Self { program: Path::new(folder).join("spread-reference") }
    }

    /// One answer per case. A case that the plugin refuses is a fault of the generator.
    pub fn answer(&self, cases: &[Case]) -> Vec<Answer> {
        let mut program = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()));
        let mut stdin = program.stdin.take().expect("piped");
        let lines: Vec<String> = cases.iter().map(|case| case.0.to_string()).collect();
        // It answers while it reads: someone else has to write.
        let writer = thread::spawn(move || stdin.write_all(lines.join("\n").as_bytes()));
        let output = program.wait_with_output().expect("the reference's output");
        writer.join().expect("the writer").expect("the reference reads all cases");
        assert!(output.status.success(), "the reference failed: {}", output.status);

        let stdout = String::from_utf8(output.stdout).expect("the reference prints text");
        let answers: Vec<Answer> = stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("the reference says {line}")))
            .collect();
        assert!(
            answers.iter().map(|answer| answer.id).eq(cases.iter().map(Case::id)),
            "one answer per case, in their order"
        );
        answers
    }
}
