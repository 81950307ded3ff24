//! The story, chapter by chapter. A policy that joins Berth joins here with a chapter of its own.

mod accounts;
mod groups;
mod next_steps;
mod opening;
mod placing;
mod preempting;
mod refusals;

use std::net::SocketAddr;

use super::cluster::Cluster;
use super::line::Line;
use super::scheduler::Scheduler;
use super::scrape::Scrape;
use super::screen::Screen;
use super::watch::Watch;
use crate::app::App;

/// What the chapters share, and hand on from one to the next.
pub struct Stage {
    verbs: SocketAddr,
    admin: Line,
    screen: Screen,
    scheduler: Scheduler,
    cluster: Cluster,
    watch: Watch,
    /// What was bound.
    bound: usize,
    /// Calls that were meant to be refused, as the accounts must show them.
    refused: Refused,
}

/// Calls that were meant to be refused.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    malformed: usize,
    bindings: usize,
}

/// Tells all of it, in order.
pub async fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    opening::tell(stage).await?;
    placing::tell(stage).await?;
    groups::tell(stage).await?;
    preempting::tell(stage).await?;
    refusals::tell(stage).await?;
    accounts::tell(stage).await?;
    next_steps::tell(stage)
}

impl Stage {
    /// Connects to a running Berth.
    pub async fn set(app: &App) -> anyhow::Result<Self> {
        let verbs = app.verbs_address;
        Ok(Self {
            verbs,
            admin: Line::open(app.admin_address).await?,
            screen: Screen::new(),
            scheduler: Scheduler::connect(verbs).await?,
            cluster: Cluster::built_in(),
            watch: Watch::new(app.store.clone()),
            bound: 0,
            refused: Refused::default(),
        })
    }

    /// Hangs up.
    pub async fn clear(self) {
        self.scheduler.disconnect().await;
        self.admin.close().await;
    }

    /// Berth's own numbers, as of now.
    async fn scrape(&mut self) -> anyhow::Result<Scrape> {
        Ok(Scrape::new(self.admin.get("/metrics").await?))
    }
}
