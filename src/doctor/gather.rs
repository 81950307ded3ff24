//! Reads files, asks Berth, asks the API server. What it all means is for others to say.

mod admin;
mod api_server;
mod gifts;
mod http_call;
mod schedulers;
mod tls_files;

use std::path::Path;
use std::time::{Duration, SystemTime};

use self::admin::Admin;
use self::http_call::{HttpCall, Reply};
use super::certificates::TlsFacts;
use super::facts::{Asked, ConfigSource, Facts};
use super::metrics_page::Page;
use super::reach::{Answer, CALL, Reached};
use super::running::{RunningFacts, admin_off_loopback};
use super::scheduler_config::{self, Extender};
use super::url::Url;
use super::{CannotAsk, Options};
use crate::config::{self, Config, ConfigError};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

const BEFORE: &str = "Berth is not installed yet (--pre)";

/// Finds out everything there is to know.
pub(super) async fn gather(options: &Options) -> Result<Facts, CannotAsk> {
    let scheduler_config = options.scheduler_config.as_deref().map(read).transpose()?;
    let admin = Admin::new(options)?;
    let running = if options.pre { Asked::Skipped(BEFORE.to_owned()) } else { admin.running().await };
    let (config, config_source) = configuration(options, &admin, running.got().is_some()).await?;
    let parsed = scheduler_config.as_deref().and_then(|text| scheduler_config::parse(text).ok());
    let extender =
        parsed.as_ref().and_then(|parsed| parsed.extenders_for_berth().first().map(|(_, ours)| *ours));
    let tls = tls_facts(extender, &config, &config_source);
    let reached = if options.pre {
        Asked::Skipped(BEFORE.to_owned())
    } else {
        reach(extender, &admin, running.got()).await
    };
    let off_loopback = admin_off_loopback(&admin.url, running.got());
    let api_server = api_server::ask(options, &config, off_loopback).await?;
    Ok(Facts {
        pre: options.pre,
        now: SystemTime::now(),
        scheduler_config,
        config,
        config_source,
        tls,
        reached,
        running,
        api_server,
    })
}

fn read(path: &Path) -> Result<String, CannotAsk> {
    let unreadable = |source| CannotAsk::Unreadable { path: path.to_owned(), source };
    std::fs::read_to_string(path).map_err(unreadable)
}

async fn configuration(
    options: &Options,
    admin: &Admin,
    is_running: bool,
) -> Result<(Config, ConfigSource), CannotAsk> {
    if let Some(path) = &options.config {
        return match config::load(path) {
            Ok(config) => Ok((config, ConfigSource::File)),
            Err(ConfigError::Unreadable { path, source }) => Err(CannotAsk::Unreadable { path, source }),
            Err(error) => Ok((Config::default(), ConfigSource::Refused(error.to_string()))),
        };
    }
    if is_running
        && let Some(text) = admin.get("/configz").await
        && let Ok(config) = config::parse_shown(&text)
    {
        return Ok((config, ConfigSource::Running));
    }
    Ok((Config::default(), ConfigSource::Defaults))
}

fn tls_facts(extender: Option<&Extender>, config: &Config, source: &ConfigSource) -> Asked<TlsFacts> {
    // Files that a Berth elsewhere names are not here.
    let served = config.server.tls.as_ref().filter(|_| matches!(source, ConfigSource::File));
    let names_files =
        extender.is_some_and(|extender| extender.has_authority() || extender.names_client_certificate());
    if served.is_none() && !names_files {
        return Asked::Skipped("neither configuration file names certificates".to_owned());
    }
    Asked::Got(tls_files::inspect(extender, served))
}

/// Makes the call that kube-scheduler would make.
async fn reach(extender: Option<&Extender>, admin: &Admin, running: Option<&RunningFacts>) -> Asked<Reached> {
    let Some(extender) = extender else {
        return Asked::Skipped(
            "it is not known where kube-scheduler asks (--scheduler-config FILE)".to_owned(),
        );
    };
    let Ok(url) = Url::parse(&extender.url_prefix) else {
        return Asked::Skipped("urlPrefix is unusable".to_owned());
    };
    let verb =
        if extender.filter_verb.is_empty() { "filter" } else { extender.filter_verb.trim_matches('/') };
    let path = format!("{}/{verb}", url.path);
    let scheme = if url.is_https { "https" } else { "http" };
    let shown = format!("{scheme}://{}{path}", url.authority());
    let tls = match url.is_https.then(|| tls_files::client(extender)) {
        None => None,
        Some(Ok(tls)) => Some(tls),
        Some(Err(reason)) => return Asked::Skipped(reason),
    };
    let name = &extender.tls_config.server_name;
    let server_name = if name.is_empty() { &url.host } else { name };
    let patience = extender.http_timeout().unwrap_or(PATIENCE).min(PATIENCE);
    let call = HttpCall { url: &url, path: &path, body: Some(CALL), tls, server_name, bearer: None };
    let outcome = match call.send(patience).await {
        Ok(Reply { status, body }) => Ok(Answer { status, body, counted: counted(admin, running).await }),
        Err(error) => Err(error),
    };
    Asked::Got(Reached { url: shown, outcome })
}

/// Whether the Berth that was looked at has had another filter call since.
async fn counted(admin: &Admin, running: Option<&RunningFacts>) -> Option<bool> {
    let before = filter_calls(running?.page()?);
    let after = admin.get("/metrics").await?;
    Some(filter_calls(Page::new(&after)) > before)
}

fn filter_calls(page: Page<'_>) -> f64 {
    page.sum("berth_request_duration_seconds_count", &[("verb", "filter")])
}
