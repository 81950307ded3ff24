//! The command line.

mod certs;
mod doctor;
mod output;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use anyhow::Context;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::{App, Options, Source};
use crate::config::ConfigError;
use crate::{app, build_info, config, logging};

/// What `--version` says.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, commit, kubernetes) = (build_info::VERSION, build_info::COMMIT, build_info::KUBERNETES);
    format!("{version} (commit {commit}, for Kubernetes {kubernetes})")
});

/// A kube-scheduler extender: replica groups in one topology domain, everything else spread by
/// cluster-level defaults.
#[derive(Debug, Parser)]
#[command(name = "berth", version = VERSION.as_str(), arg_required_else_help = true)]
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
        #[arg(required_unless_present = "schema")]
        file: Option<PathBuf>,
        /// Print the JSON Schema of the file instead, for editors.
        #[arg(long, conflicts_with = "file")]
        schema: bool,
        /// Do not look at the files that it names, for they are elsewhere.
        #[arg(long)]
        skip_files: bool,
    },
    /// Print a script that completes commands and options, for a shell to source.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Write a self-signed set of certificates to start with, and say how to use it.
    Certs(certs::Certs),
    /// Check an installation: configuration, certificates, permissions, versions, labels. Changes nothing.
    Doctor(doctor::Doctor),
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
    /// Address of the mutating admission webhook, POST /mutate; needs server.tls. Without it there is none.
    #[arg(long, value_name = "ADDR")]
    admission_listen: Option<SocketAddr>,
    /// How log lines on standard error look.
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "BERTH_LOG_FORMAT")]
    log_format: logging::Format,
    /// Log level, or directives such as berth=debug,kube=info; PUT /debug/loglevel changes it.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "BERTH_LOG_LEVEL")]
    log_level: String,
}

impl Cli {
    /// Does what was asked. The code is the process's.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Serve(serve) => runtime()?.block_on(serve.run())?,
            Command::Demo => runtime()?.block_on(crate::demo::run())?,
            Command::CheckConfig { file, skip_files, .. } => check_config(file.as_deref(), skip_files)?,
            Command::Completion { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "berth", &mut script);
                output::print(script)?;
            }
            Command::Doctor(doctor) => return runtime()?.block_on(doctor.run()),
            Command::Certs(certs) => certs.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What to say about an error, a line for each thing that is wrong.
pub fn complaints(error: &anyhow::Error) -> Vec<String> {
    match error.downcast_ref::<ConfigError>() {
        Some(error) => error.lines(),
        None => vec![logging::with_causes(error.as_ref())],
    }
}

/// Prints the configuration with its defaults; without a file, the schema of all of them.
fn check_config(file: Option<&Path>, skip_files: bool) -> anyhow::Result<()> {
    let Some(file) = file else {
        return Ok(output::print(config::json_schema())?);
    };
    let config = config::load(file)?;
    let mut wrong = Vec::new();
    if !skip_files {
        wrong = config::check_files(&config);
        if wrong.is_empty() {
            wrong = app::check_certificates(&config);
        }
    }
    if !wrong.is_empty() {
        return Err(ConfigError::Fields(wrong).into());
    }
    Ok(output::print(serde_saphyr::to_string(&config).context("cannot print")?)?)
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
        let options = Options {
            config: self.config,
            source,
            listen: self.listen,
            admin_listen: self.admin_listen,
            admission_listen: self.admission_listen,
        };
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
