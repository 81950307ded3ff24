//! A Prometheus that scrapes every second and evaluates the rules that we ship.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hyper::Request;
use kube::{Client, Config};
use serde_json::Value;
use tokio::process::Command;

use super::files;
use crate::controlplane::ports::on_free_ports;
use crate::controlplane::{ControlPlane, Process};

const READY_LIMIT: Duration = Duration::from_mins(1);
/// How often both are scraped.
pub const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);

/// Who is scraped.
pub struct Target {
    pub job: &'static str,
    pub scheme: &'static str,
    pub address: String,
}

/// Killed when dropped.
pub struct Prometheus {
    process: Process,
    client: Client,
}

impl Prometheus {
    pub async fn start(plane: &ControlPlane, targets: &[Target]) -> Result<Self> {
        let program = locate().await?.join("prometheus");
        let workspace = plane.workspace();
        let config = workspace.write("prometheus.yaml", &config(targets))?;
        on_free_ports(async |[port]| {
            let args = [
                format!("--config.file={}", config.display()),
                format!("--storage.tsdb.path={}", workspace.path(&format!("prometheus-{port}")).display()),
                format!("--web.listen-address=127.0.0.1:{port}"),
            ];
            let mut process = Process::spawn(workspace, "prometheus", &program, args)?;
            let config = Config::new(format!("http://127.0.0.1:{port}").parse()?);
            let client = Client::try_from(config).context("HTTP client")?;
            process
                .wait_ready(READY_LIMIT, async |_| {
                    Ok(client.request_text(Request::get("/-/ready").body(Vec::new())?).await?)
                })
                .await?;
            Ok(Self { process, client })
        })
        .await
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let text = self.client.request_text(Request::get(path).body(Vec::new())?).await;
        let answer: Value = serde_json::from_str(&text.with_context(|| path.to_owned())?)?;
        ensure!(answer["status"] == "success", "{path}: {answer}");
        Ok(answer["data"].clone())
    }

    /// Whether a query has a result with a number in it; `NaN` is what a quantile of nothing is.
    pub async fn shows_a_number(&self, query: &str) -> Result<bool> {
        let data = self.get(&format!("/api/v1/query?query={}", encode(query))).await?;
        let samples = data["result"].as_array().context("no list of samples")?;
        let number = |sample: &Value| sample["value"][1].as_str()?.parse::<f64>().ok();
        Ok(samples.iter().filter_map(number).any(f64::is_finite))
    }

    /// No rule failed to be evaluated.
    pub async fn ensure_rules_are_well(&self) -> Result<()> {
        let data = self.get("/api/v1/rules").await?;
        let groups = data["groups"].as_array().context("no groups of rules")?;
        let rules: Vec<&Value> =
            groups.iter().filter_map(|group| group["rules"].as_array()).flatten().collect();
        ensure!(rules.len() == files::rules().len(), "{} rules are loaded", rules.len());
        for rule in rules {
            ensure!(rule["health"] == "ok", "{} is not well: {}", rule["name"], rule["lastError"]);
        }
        Ok(())
    }
}

/// The folder of the binaries, downloaded first if need be.
async fn locate() -> Result<PathBuf> {
    let script = files::project().join("tests/tools/prometheus");
    let output = Command::new(&script).stdin(Stdio::null()).stderr(Stdio::inherit()).output().await?;
    ensure!(output.status.success(), "{} failed, see above", script.display());
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn config(targets: &[Target]) -> String {
    let mut text =
        "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files:\n"
            .to_owned();
    for file in files::rule_files() {
        let _ = writeln!(text, "  - {}", file.display());
    }
    text += "scrape_configs:\n";
    for Target { job, scheme, address } in targets {
        let _ = write!(
            text,
            "  - job_name: {job}\n    scheme: {scheme}\n    tls_config: {{insecure_skip_verify: true}}\n    \
             static_configs: [{{targets: ['{address}']}}]\n"
        );
    }
    text
}

fn encode(query: &str) -> String {
    query
        .bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}
