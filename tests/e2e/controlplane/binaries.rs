//! Where the control plane's binaries are, compiled first if need be.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than a cold build on a slow machine; only a build that hangs gets here.
const BUILD_LIMIT: Duration = Duration::from_hours(1);

/// The folder of compiled binaries.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    version: Option<&'static str>,
}

impl Binaries {
    /// Runs the build script, which returns at once when everything is compiled already. Its
    /// progress goes to our standard error.
    pub async fn locate() -> Result<Self> {
        Self::of_version(None).await
    }

    /// With the programs of a further version of Kubernetes, by the name of its folder in `tests/controlplane/versions`.
    pub async fn of_version(version: Option<&'static str>) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/build");
        let mut build = Command::new(&script);
        build.args(version).stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
        let output = timeout(BUILD_LIMIT, build.output())
            .await
            .context("building the control plane takes too long")?
            .with_context(|| format!("cannot run {}", script.display()))?;
        ensure!(output.status.success(), "building the control plane failed ({}), see above", output.status);
        let stdout = String::from_utf8(output.stdout).context("build script's output")?;
        let folder = stdout.lines().last().context("the build script printed no folder")?;
        Ok(Self { folder: PathBuf::from(folder), version })
    }

    /// A program of the version, if that brings one of its own, and else the one that all versions share.
    pub fn path(&self, name: &str) -> PathBuf {
        let own = self.version.map(|version| self.folder.join(format!("{name}-{version}")));
        own.filter(|own| own.exists()).unwrap_or_else(|| self.folder.join(name))
    }

    /// The folder of a program's manifests, as its module has them.
    pub fn manifests(&self, program: &str) -> PathBuf {
        self.folder.with_file_name(program)
    }
}
