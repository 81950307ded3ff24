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
use std::process::{ChildStdin, Command, Stdio};
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
    kill -s KILL -- "-$group"
done
"#;

/// One for the whole test binary; started with the first process it has to watch.
static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

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
        *watchdog = Some(Watchdog::start()?);
    }
    watchdog.as_mut().context("no watchdog")?.tell(line)
}

struct Watchdog {
    pipe: ChildStdin,
}

impl Watchdog {
    fn start() -> Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start the watchdog (sh)")?;
        let pipe = shell.stdin.take().context("standard input")?;
        Ok(Self { pipe })
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        self.pipe.write_all(line.as_bytes()).context("the watchdog is gone")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_killed_when_the_pipe_closes() {
        let sleeper = || {
            let mut command = Command::new("sleep");
            command.arg("60").process_group(0).spawn().unwrap()
        };
        let (mut left, mut forgotten) = (sleeper(), sleeper());
        let mut watchdog = Watchdog::start().unwrap();
        let lines = [("add", &forgotten), ("add", &left), ("drop", &forgotten)];
        for (verb, process) in lines {
            watchdog.tell(&format!("{verb} {}\n", process.id())).unwrap();
        }
        drop(watchdog);

        // It would end by itself, with success, after a minute.
        assert!(!left.wait().unwrap().success());
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
    }
}
