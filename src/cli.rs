//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::app::{App, Options, Source};
use crate::{config, logging};

/// A kube-scheduler extender: replica groups in one topology domain, everything else spread by
/// cluster-level defaults.
#[derive(Debug, Parser)]
#[command(name = "berth", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve kube-scheduler.
    Serve(Serve),
    /// Run the whole story on a built-in cluster, with no Kubernetes at hand.
    Demo,
    /// Check a configuration file and print it with its defaults filled in.
    CheckConfig {
        /// The configuration file.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Serve {
    /// Configuration file; reloaded when it changes. Without it, the defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve a cluster from a file (kubectl get ... -A -o json, or YAML) instead of an API server.
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig")]
    snapshot: Option<PathBuf>,
    /// Kubeconfig file. Without it, $KUBECONFIG, ~/.kube/config or the in-cluster account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Address of the verbs; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888")]
    listen: SocketAddr,
    /// Address of the admin endpoints; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8889")]
    admin_listen: SocketAddr,
    /// How log lines on standard error look.
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "BERTH_LOG_FORMAT")]
    log_format: logging::Format,
    /// Log level, or directives such as berth=debug,kube=info; PUT /debug/loglevel changes it.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "BERTH_LOG_LEVEL")]
    log_level: String,
}

impl Cli {
    /// Does what was asked.
    pub fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Serve(serve) => runtime()?.block_on(serve.run()),
            Command::Demo => runtime()?.block_on(crate::demo::run()),
            Command::CheckConfig { file } => {
                let config = config::load(&file)?;
                print!("{}", serde_saphyr::to_string(&config).context("cannot print")?);
                Ok(())
            }
        }
    }
}

impl Serve {
    async fn run(self) -> anyhow::Result<()> {
        let level =
            logging::start(self.log_format, &self.log_level).map_err(|error| anyhow::anyhow!(error))?;
        // Installed before anything is announced, so that no signal finds the default handler.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let source = match self.snapshot {
            Some(file) => Source::SnapshotFile(file),
            None => Source::ApiServer(self.kubeconfig),
        };
        let options =
            Options { config: self.config, source, listen: self.listen, admin_listen: self.admin_listen };
        let app = App::start(options, Some(level)).await?;
        app.print_addresses()?;
        tokio::select! {
            _ = terminate.recv() => tracing::info!("told to stop"),
            _ = interrupt.recv() => tracing::info!("interrupted"),
        }
        app.stop().await;
        tracing::info!("stopped");
        Ok(())
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")
}
