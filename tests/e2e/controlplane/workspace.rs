//! The folder of one cluster: its configuration files, its data and every process's log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Context, Result};

use crate::progress::report;

/// Enough to see why a component gave up.
const TAIL_LINES: usize = 15;
/// Some components write whole objects into one line.
const LINE_LENGTH: usize = 400;

/// Deleted when the test passed; kept, with the end of each log printed, when it did not.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    passed: AtomicBool,
    files: AtomicU32,
}

impl Workspace {
    pub fn create() -> Result<Self> {
        static CLUSTERS: AtomicU32 = AtomicU32::new(1);
        let name = format!("cluster-{}-{}", std::process::id(), CLUSTERS.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A leftover of an earlier process that had the same number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self { folder, passed: AtomicBool::new(false), files: AtomicU32::new(1) })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A path nobody has had yet, numbered in the order of the asking: a component that is started
    /// twice gets two logs.
    pub fn fresh_path(&self, name: &str, extension: &str) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.path(&format!("{number:02}-{name}.{extension}"))
    }

    /// Where the cluster's database lives.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// The test passed: nobody will want the logs.
    pub fn mark_passed(&self) {
        self.passed.store(true, Ordering::Relaxed);
    }

    fn keep_logs(&self) {
        // A preallocated database of 120 MB that nobody will read.
        let _ = fs::remove_dir_all(self.data());
        report(&format!("logs are kept in {}", self.folder.display()));
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut logs: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        logs.sort();
        for log in logs {
            report(&format!("--- end of {}", log.display()));
            for line in tail(&log).lines() {
                let short: String = line.chars().take(LINE_LENGTH).collect();
                report(&short);
            }
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.passed.load(Ordering::Relaxed) && !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        } else {
            self.keep_logs();
        }
    }
}

/// The last lines of a log.
pub fn tail(log: &Path) -> String {
    let content = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
