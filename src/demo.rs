//! `berth demo`: Berth at work on a built-in cluster, with no Kubernetes at hand.
//!
//! ```text
//!   chapters ---> scheduler ---> line ===HTTP===> Berth, in this process, on loopback
//!      |              |                             ^
//!      v              v                             |
//!   screen <- map <- cluster ---------------------- watch
//!                     ^
//!      unaided -------+  the same scheduler with nobody to ask, on a copy
//! ```
//!
//! Nothing is staged: the scheduler knows only what the verbs answer, and the numbers at the end are
//! those of the admin port. The picture at the beginning comes from a rehearsal that nobody sees, with a Berth of its own.

mod chapters;
mod cluster;
mod line;
mod map;
mod occupants;
mod paint;
mod scheduler;
mod scrape;
mod screen;
mod unaided;
mod watch;
mod workload;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;

use self::chapters::{Stage, Wedge};
use self::screen::Screen;
use crate::app::{App, Options, Source};

/// Tells the whole story, then ends everything that was started for it.
pub async fn run() -> anyhow::Result<()> {
    let rehearsal = start().await?;
    let wedge = rehearse(&rehearsal).await;
    rehearsal.stop().await;
    let wedge = wedge?;
    let app = start().await?;
    let mut stage = Stage::set(&app, Screen::new()).await?;
    let told = chapters::tell(&mut stage, wedge).await;
    stage.clear().await;
    app.stop().await;
    match told {
        // Whoever reads along, such as `head`, has seen enough.
        Err(error) if is_closed_output(&error) => Ok(()),
        told => told,
    }
}

async fn start() -> anyhow::Result<App> {
    let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = Options {
        config: None,
        source: Source::SnapshotText(cluster::Cluster::built_in().snapshot()),
        listen: free_port,
        admin_listen: free_port,
        admission_listen: None,
    };
    App::start(options, None)
        .await
        .context("cannot start Berth for the demo; it needs two free ports on 127.0.0.1")
}

async fn rehearse(app: &App) -> anyhow::Result<Option<Wedge>> {
    let mut stage = Stage::set(app, Screen::unseen()).await?;
    let wedge = chapters::rehearse(&mut stage).await;
    stage.clear().await;
    wedge
}

fn is_closed_output(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
