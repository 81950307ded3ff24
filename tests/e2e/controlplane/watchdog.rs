//! Ends the cluster's processes when the test binary dies without running its destructors.
//!
//! ```text
//!  test binary ──pipe──> sh: "add 4711", "add 4712", "drop 4711", ...
//!       │                 │
//!       └─ dies ──> EOF ──┴──> kill -KILL the groups that are left
//! ```
//!
//! Each process is the leader of its own group, so that Ctrl-C in a terminal reaches only the test
//! binary and the end of everything else has a single cause. A parent-death signal would be
//! shorter, but it fires when the spawning *thread* ends, and runtimes end theirs at will.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=
while read -r verb group; do
    others=
    for known in $groups; do
        [ "$known" = "$group" ] || others="$others $known"
    done
    groups=$others
    [ "$verb" = drop ] || groups="$groups $group"
done
for group in $groups; do
    kill -KILL -- "-$group"
done
"#;

/// One for the whole test binary; started with the first process it has to watch.
static WATCHDOG: Mutex<Option<Child>> = Mutex::new(None);

/// From now on, the process group dies with the test binary.
pub fn add(group: u32) -> Result<()> {
    tell(&format!("add {group}\n"))
}

/// The group is gone: its number may soon belong to somebody else.
pub fn forget(group: u32) -> Result<()> {
    tell(&format!("drop {group}\n"))
}

fn tell(line: &str) -> Result<()> {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog.is_none() {
        *watchdog = Some(start()?);
    }
    let pipe = watchdog.as_mut().and_then(|child| child.stdin.as_mut());
    pipe.context("the watchdog has no standard input")?
        .write_all(line.as_bytes())
        .context("the watchdog is gone")
}

fn start() -> Result<Child> {
    Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("cannot start the watchdog (sh)")
}
