//! Every query of the dashboards and rules, put to a real Prometheus that has watched a real run.
//!
//! ```text
//!  kube-scheduler ──> berth        groups, a wait, spreading, an eviction, a reload
//!        ^              ^
//!        └─ Prometheus ─┴── loads dashboards/rules <── every query: data, or the test fails
//! ```
//!
//! A panel has to show at least one number. Of an alert the good state is silence, so it is taken apart ([`probes`]): what it
//! compares is queried without the comparison, and each part has to show a number.

#[path = "../dashboards/files.rs"]
mod files;
mod probes;
mod prometheus;
#[path = "../dashboards/promql.rs"]
mod promql;
mod run;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::controlplane::{ControlPlane, Options};
use crate::preemption::play::until;
use crate::progress::report;
use prometheus::Prometheus;
use run::Run;

/// Rules are evaluated every second, and some build on others.
const SOON: Duration = Duration::from_secs(30);

/// What stands in the place of Grafana's variables: everything, over a window that covers the run.
const VARIABLES: [(&str, &str); 5] = [
    ("$__rate_interval", "5m"),
    ("$__range", "10m"),
    ("$__interval", "1s"),
    ("$job", ".+"),
    ("$instance", ".+"),
];

fn with_variables(query: &str) -> String {
    VARIABLES.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value))
}

/// Every query and where it stands.
fn queries() -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for (name, dashboard) in files::dashboards() {
        for panel in files::panels(&dashboard) {
            let title = panel["title"].as_str().unwrap_or_default();
            all.extend(
                files::queries(panel).map(|query| (format!("{name}.json, {title}"), with_variables(query))),
            );
        }
    }
    for rule in files::rules() {
        let expr = rule["expr"].as_str().unwrap_or_default();
        match rule["alert"].as_str() {
            Some(alert) => all.extend(probes::of(expr)?.into_iter().map(|probe| (alert.to_owned(), probe))),
            None => all.push((rule["record"].to_string(), expr.to_owned())),
        }
    }
    Ok(all)
}

/// The selectors whose labels fill the variables of dashboards.
fn choices() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, dashboard) in files::dashboards() {
        for query in files::variables(&dashboard).filter_map(|variable| variable["query"].as_str()) {
            let inside = query.strip_prefix("label_values(").and_then(|query| query.rsplit_once(','));
            all.extend(
                inside.map(|(selector, _)| (format!("variables of {name}.json"), with_variables(selector))),
            );
        }
    }
    all
}

#[tokio::test]
async fn every_query_of_every_panel_and_rule_returns_data() -> Result<()> {
    ControlPlane::run(Options::default(), async |plane| {
        let run = Run::start(plane).await?;
        let prometheus = Prometheus::start(plane, &run.targets()).await?;
        // Of what happened before the first scrape, a rate knows nothing.
        until("the first scrape of both", async || prometheus.shows_a_number("count(up == 1) == 2").await)
            .await?;
        let started = Instant::now();
        Box::pin(run.play()).await?;
        report(&format!("played in {:.1?}", started.elapsed()));

        let mut open: Vec<(String, String)> = queries()?.into_iter().chain(choices()).collect();
        let count = open.len();
        let asked = Instant::now();
        loop {
            let mut left = Vec::new();
            for (place, query) in open {
                if !prometheus.shows_a_number(&query).await? {
                    left.push((place, query));
                }
            }
            open = left;
            if open.is_empty() || asked.elapsed() > SOON {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        ensure!(open.is_empty(), "{} of {count} queries return nothing: {open:#?}", open.len());
        prometheus.ensure_rules_are_well().await?;
        report(&format!("{count} queries returned data within {:.1?}", asked.elapsed()));
        Ok(())
    })
    .await
}
