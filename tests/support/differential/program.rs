//! A program that runs kube-scheduler's own code: a case per line in, an answer per line out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The compiled program.
pub struct Program(PathBuf);

impl Program {
    /// Runs the build script, which returns at once when everything is compiled already.
    pub fn locate(name: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/build");
        let output = Command::new(&script)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", script.display()));
        assert!(output.status.success(), "building the reference failed ({}), see above", output.status);
        let stdout = String::from_utf8(output.stdout).expect("the build script prints text");
        let folder = stdout.lines().last().expect("the build script prints a folder");
        Self(Path::new(folder).join(name))
    }

    /// One answer per case, in their order.
    pub fn answer(&self, cases: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut program = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.0.display()));
        let mut stdin = program.stdin.take().expect("piped");
        let cases: Vec<String> = cases.into_iter().collect();
        let count = cases.len();
        // It answers while it reads: someone else has to write.
        let writer = thread::spawn(move || stdin.write_all(cases.join("\n").as_bytes()));
        let output = program.wait_with_output().expect("the reference's output");
        writer.join().expect("the writer").expect("the reference reads all cases");
        assert!(output.status.success(), "the reference failed: {}", output.status);

        let stdout = String::from_utf8(output.stdout).expect("the reference prints text");
        let answers: Vec<String> = stdout.lines().map(str::to_owned).collect();
        assert_eq!(answers.len(), count, "one answer per case");
        answers
    }
}
