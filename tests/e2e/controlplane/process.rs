//! One child process: its log, its readiness and its end.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::time::{Instant, sleep, timeout};

use super::watchdog;
use super::workspace::{Workspace, tail};

const POLL: Duration = Duration::from_millis(25);
/// One question of a readiness probe; the next one may find the component awake.
const PROBE_LIMIT: Duration = Duration::from_secs(2);

/// Killed and reaped when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    stdout: PathBuf,
    exit: Option<ExitStatus>,
}

impl Process {
    /// Starts a program with its standard error in a log file of the workspace, and its standard
    /// output in a file of its own: some programs speak to scripts there.
    pub fn spawn<I, S>(workspace: &Workspace, name: &str, program: &Path, args: I) -> Result<Self>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        let log = workspace.fresh_path(name, "log");
        let stdout = log.with_extension("out");
        let child = Command::new(program)
            .args(args)
            .current_dir(workspace.path(""))
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).context("standard output file")?)
            .stderr(File::create(&log).context("log file")?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        // Owned before anything can fail, so that the failure kills it.
        let process = Self { name: name.to_owned(), child, log, stdout, exit: None };
        watchdog::add(process.child.id())?;
        Ok(process)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the process has written to standard output so far.
    pub fn stdout(&self) -> String {
        let content = std::fs::read(&self.stdout).unwrap_or_default();
        String::from_utf8_lossy(&content).into_owned()
    }

    /// What the process has written to standard error so far.
    pub fn log(&self) -> String {
        let content = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&content).into_owned()
    }

    /// How long the process has been on a processor so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        cpu_time(&stat).with_context(|| format!("cannot read what {} has used: {stat}", self.name))
    }

    /// Asks until the answer is yes. Fails, with the end of the log, when the process ends first or
    /// the time is up.
    pub async fn wait_ready<T>(
        &mut self,
        limit: Duration,
        mut probe: impl AsyncFnMut(&Self) -> Result<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            self.ensure_running()?;
            let answer = timeout(PROBE_LIMIT, probe(self)).await;
            let failure = match answer {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => format!("no answer within {PROBE_LIMIT:?}"),
            };
            if Instant::now() >= deadline {
                let (name, log) = (&self.name, tail(&self.log));
                bail!("{name} is not ready after {limit:?}: {failure}\n{log}");
            }
            sleep(POLL).await;
        }
    }

    pub fn ensure_running(&mut self) -> Result<()> {
        let exit = self.try_exit()?;
        ensure!(
            exit.is_none(),
            "{} has ended ({})\n{}",
            self.name,
            exit.unwrap_or_default(),
            tail(&self.log)
        );
        Ok(())
    }

    /// SIGKILL, and wait until it is gone.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        if let Some(exit) = self.try_exit()? {
            return Ok(exit);
        }
        self.child.kill().context("kill")?;
        let exit = self.child.wait().context("wait")?;
        self.note_exit(exit)
    }

    /// SIGTERM, and wait for the process to end by itself.
    pub async fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.signal("TERM")?;
        let deadline = Instant::now() + limit;
        loop {
            if let Some(exit) = self.try_exit()? {
                return Ok(exit);
            }
            if Instant::now() >= deadline {
                let (name, log) = (&self.name, tail(&self.log));
                bail!("{name} ignores SIGTERM for {limit:?}\n{log}");
            }
            sleep(POLL).await;
        }
    }

    /// Sends any signal by its name, such as `STOP` and `CONT` for a process that hangs.
    pub fn signal(&mut self, signal: &str) -> Result<()> {
        self.ensure_running()?;
        // The shell's own `kill`: the standard library only knows SIGKILL.
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal])
            .arg(self.child.id().to_string())
            .status()
            .context("cannot run kill")?;
        ensure!(status.success(), "kill -s {signal} {}: {status}", self.name);
        Ok(())
    }

    fn try_exit(&mut self) -> Result<Option<ExitStatus>> {
        if self.exit.is_none()
            && let Some(exit) = self.child.try_wait().context("wait")?
        {
            self.note_exit(exit)?;
        }
        Ok(self.exit)
    }

    fn note_exit(&mut self, exit: ExitStatus) -> Result<ExitStatus> {
        self.exit = Some(exit);
        watchdog::forget(self.child.id())?;
        Ok(exit)
    }
}

/// Reads `PID (NAME) STATE ...`: the 14th and 15th field are the time in user and kernel mode, in hundredths of a second.
fn cpu_time(stat: &str) -> Option<Duration> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut ticks = behind_name.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis((ticks.next()?? + ticks.next()??) * 10))
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::cpu_time;

    #[test]
    fn the_time_on_a_processor_is_read_behind_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 9 9 20 0 1 0 5 0 0";
        assert_eq!(cpu_time(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu_time("7 (a) S 1"), None);
    }
}
