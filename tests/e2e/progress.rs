//! Live progress of long steps.

use std::io::Write;

/// Writes one line straight to standard error. The print macros would be held back by the test
/// runner until the test ends, and a minute of silence looks like a hang.
pub fn report(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "e2e: {line}");
}
