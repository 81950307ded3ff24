//! Who decides: kube-scheduler alone, or with Berth beside it.

use anyhow::{Context, Result, ensure};

use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Scheduler};
use crate::scheduling::{SHIPPED, berth};

/// Berth as an extender that has an opinion on nothing.
const SILENT: &str = "topologySpread: {defaultingType: List, defaultConstraints: []}
nominatedNode: {policy: Disabled}
preemption: {mode: Observe}
";

pub struct Setup {
    /// A `KubeSchedulerConfiguration`.
    pub scheduler: String,
    /// Berth's configuration, if it takes part.
    pub berth: Option<String>,
}

impl Setup {
    /// Starts Berth, if it takes part, and then kube-scheduler.
    pub async fn start(&self, plane: &ControlPlane) -> Result<(Option<BerthProcess>, Scheduler)> {
        let berth = match &self.berth {
            Some(text) => {
                let file = plane.workspace().write("berth.yaml", text)?;
                Some(plane.start_berth(berth().config(&file)).await?)
            }
            None => None,
        };
        let url = berth.as_ref().map(BerthProcess::url);
        let scheduler = plane.start_scheduler(&self.scheduler, url.as_deref()).await?;
        Ok((berth, scheduler))
    }

    /// The configuration that Berth ships, with these sections in Berth's own.
    pub fn shipped(sections: &str) -> Self {
        let head = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
        Self { scheduler: SHIPPED.to_owned(), berth: Some(format!("{head}{sections}")) }
    }

    pub fn silent() -> Self {
        Self::shipped(SILENT)
    }

    /// kube-scheduler evicts without asking Berth.
    pub fn without_preempt_verb(mut self) -> Result<Self> {
        let silenced = self.scheduler.replace("preemptVerb: preempt\n", "\n");
        ensure!(silenced != self.scheduler, "the shipped configuration has no preemptVerb");
        self.scheduler = silenced;
        Ok(self)
    }

    /// The shipped configuration up to its extenders: the same profile, and nobody to ask.
    pub fn alone() -> Result<Self> {
        let (own, _) = SHIPPED.split_once("\nextenders:").context("no extenders to leave out")?;
        Ok(Self { scheduler: format!("{own}\n"), berth: None })
    }
}
