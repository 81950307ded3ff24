//! `berth doctor`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::output;
use crate::doctor::{self, Options, Severity};

/// Something is wrong.
const WRONG: u8 = 1;
/// It could not be found out.
const CANNOT_ASK: u8 = 2;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// kube-scheduler's configuration file (`KubeSchedulerConfiguration`).
    #[arg(long, value_name = "FILE")]
    scheduler_config: Option<PathBuf>,
    /// Before Berth is installed: only what can be known without it.
    #[arg(long)]
    pre: bool,
    /// Berth's configuration file. Without it, what the Berth that runs says, or the defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Kubeconfig file. Without it, $KUBECONFIG, ~/.kube/config or the in-cluster account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Look up the permissions of this account instead of one's own, such as
    /// system:serviceaccount:berth-system:berth.
    #[arg(long = "as", value_name = "ACCOUNT")]
    impersonate: Option<String>,
    /// The admin endpoints of the Berth that runs.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8889")]
    server: String,
    /// A bearer token for the admin endpoints, which they want off loopback (see kubectl create token). It is sent over
    /// http:// to loopback, such as kubectl port-forward, and over https:// with --ca-file.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The authorities of the certificate of the admin endpoints. Without it, any certificate is accepted, and no token sent.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// With --pre: the namespace to install into.
    #[arg(long, short, value_name = "NAMESPACE", default_value = "berth-system")]
    namespace: String,
    /// How the report looks.
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

/// How a report looks.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// For machines.
    Json,
}

impl Doctor {
    /// Prints the report. 0: no error; 1: at least one; 2: nothing could be asked.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let options = Options {
            scheduler_config: self.scheduler_config,
            pre: self.pre,
            config: self.config,
            kubeconfig: self.kubeconfig,
            impersonate: self.impersonate,
            server: self.server,
            token_file: self.token_file,
            ca_file: self.ca_file,
            namespace: self.namespace,
        };
        let report = match doctor::run(&options).await {
            Ok(report) => report,
            Err(error) => {
                eprintln!("berth: {error}");
                return Ok(ExitCode::from(CANNOT_ASK));
            }
        };
        match self.output {
            Output::Text => output::print(report.to_string())?,
            Output::Json => output::print(report.to_json().context("cannot print")? + "\n")?,
        }
        Ok(if report.is_empty() {
            eprintln!(
                "berth: nothing could be checked; pass --scheduler-config FILE, --config FILE or --kubeconfig FILE"
            );
            ExitCode::from(CANNOT_ASK)
        } else if report.count(Severity::Error) > 0 {
            ExitCode::from(WRONG)
        } else {
            ExitCode::SUCCESS
        })
    }
}
