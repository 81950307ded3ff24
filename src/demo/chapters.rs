//! The story, chapter by chapter. A policy that joins Berth joins here with a chapter of its own.

mod accounts;
mod groups;
mod lead;
mod next_steps;
mod opening;
mod placing;
mod preempting;
mod refusals;
mod summary;

use std::net::SocketAddr;

pub use self::lead::Wedge;
use self::summary::Shown;
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
    /// What became of the two groups, once it is known.
    wedge: Option<Wedge>,
    /// What each part of the story came to.
    shown: Shown,
}

/// Calls that were meant to be refused.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    malformed: usize,
    bindings: usize,
}

/// Plays the story up to the two groups, and gives back the picture to begin with.
pub async fn rehearse(stage: &mut Stage) -> anyhow::Result<Option<Wedge>> {
    opening::tell(stage).await?;
    placing::tell(stage).await?;
    groups::tell(stage).await?;
    Ok(stage.wedge.take())
}

/// Tells all of it, in order, beginning with the picture of the rehearsal.
pub async fn tell(stage: &mut Stage, wedge: Option<Wedge>) -> anyhow::Result<()> {
    stage.wedge = wedge;
    lead::tell(stage)?;
    opening::tell(stage).await?;
    placing::tell(stage).await?;
    groups::tell(stage).await?;
    preempting::tell(stage).await?;
    refusals::tell(stage).await?;
    accounts::tell(stage).await?;
    next_steps::tell(stage)?;
    summary::tell(stage)
}

impl Stage {
    /// Connects to a running Berth. What is told goes to this screen.
    pub async fn set(app: &App, screen: Screen) -> anyhow::Result<Self> {
        let verbs = app.verbs_address;
        Ok(Self {
            verbs,
            admin: Line::open(app.admin_address).await?,
            screen,
            scheduler: Scheduler::connect(verbs).await?,
            cluster: Cluster::built_in(),
            watch: Watch::new(app.store.clone()),
            bound: 0,
            refused: Refused::default(),
            wedge: None,
            shown: Shown::default(),
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
