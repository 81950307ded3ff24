//! Which versions have to run, as the modules say that they are built from.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::controlplane::{ControlPlane, Scheduler};

/// One kube-scheduler, and the API server that it works against.
#[derive(Debug)]
pub struct Release {
    /// For [`crate::controlplane::Options`].
    pub version: Option<&'static str>,
    /// Such as `v1.36.4`.
    scheduler: String,
    apiserver: String,
}

impl Release {
    /// The control plane of all other tests.
    pub fn usual() -> Result<Self> {
        let version = pinned(&module("")?)?;
        Ok(Self { version: None, scheduler: version.clone(), apiserver: version })
    }

    /// One in `tests/controlplane/versions`. Its API server is the usual one, unless its module has one.
    pub fn further(version: &'static str) -> Result<Self> {
        let own = module(&format!("versions/{version}"))?;
        let scheduler = pinned(&own)?;
        ensure!(scheduler.starts_with(&format!("v{version}.")), "the module of {version} pins {scheduler}");
        let has_apiserver = own.contains("\tk8s.io/kubernetes/cmd/kube-apiserver\n");
        let apiserver = if has_apiserver { scheduler.clone() } else { pinned(&module("")?)? };
        Ok(Self { version: Some(version), scheduler, apiserver })
    }

    /// Fails if others run: the smoke would show nothing about this release.
    pub async fn ensure_runs(&self, plane: &ControlPlane, scheduler: &Scheduler) -> Result<()> {
        let apiserver = plane.client().apiserver_version().await?.git_version;
        ensure!(apiserver == self.apiserver, "the API server is {apiserver}, not {}", self.apiserver);
        let metrics = scheduler.metrics().await?;
        let build = metrics.lines().find(|line| line.starts_with("kubernetes_build_info{"));
        let build = build.context("kube-scheduler does not say how it was built")?;
        let version = format!("git_version=\"{}\"", self.scheduler);
        ensure!(build.contains(&version), "kube-scheduler is not {}: {build}", self.scheduler);
        Ok(())
    }
}

impl fmt::Display for Release {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "kube-scheduler {} with API server {}", self.scheduler, self.apiserver)
    }
}

/// The `go.mod` in a folder of the test bed.
fn module(folder: &str) -> Result<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane").join(folder).join("go.mod");
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// The version of Kubernetes that a module is built from.
fn pinned(module: &str) -> Result<String> {
    let version = module.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("k8s.io/kubernetes")).then(|| words.next())?
    });
    version.map(str::to_owned).context("the module pins no version of Kubernetes")
}
