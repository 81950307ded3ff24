//! Checks of a Berth that runs, from what its admin endpoints say.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::certificates::SOON;
use super::finding::{Code, Finding};
use super::metrics_page::Page;
use crate::build_info::VERSION;

/// What the admin endpoints say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunningFacts {
    /// The body of `/readyz?verbose`, and whether it says ready.
    pub(super) is_ready: bool,
    pub(super) readyz: String,
    /// The body of `/metrics`.
    pub(super) metrics: String,
}

/// Whether it is ready, and if not, why.
pub(super) fn readiness(facts: &RunningFacts) -> Vec<Finding> {
    if facts.is_ready {
        return Vec::new();
    }
    let page = Page::new(&facts.metrics);
    let remedy = |kind: &str| {
        let has =
            |problem| page.value("berth_watch_problem", &[("kind", kind), ("problem", problem)]) == Some(1.0);
        if has("forbidden") {
            "grant the account list and watch on that kind: see the permissions below"
        } else if has("unreachable") {
            "see whether the API server can be reached from where Berth runs"
        } else {
            "wait a moment after a start; else see Berth's log and docs/troubleshoot.md"
        }
    };
    let broken: Vec<_> = facts.readyz.lines().filter_map(|line| line.strip_prefix("[-] ")).collect();
    let mut findings: Vec<_> = broken
        .iter()
        .map(|line| {
            let kind = line.split(':').next().unwrap_or_default();
            Finding::error(Code::NotReady, format!("not ready: {line}"), remedy(kind))
        })
        .collect();
    if findings.is_empty() {
        let reason = format!("not ready: {}", facts.readyz.trim());
        findings.push(Finding::error(Code::NotReady, reason, "see Berth's log and docs/troubleshoot.md"));
    }
    findings
}

/// Whether every kind is followed. A kind can be in trouble for a while before Berth is not ready any more.
pub(super) fn freshness(facts: &RunningFacts) -> Vec<Finding> {
    let page = Page::new(&facts.metrics);
    let mut findings = Vec::new();
    for series in page.series("berth_watch_problem").filter(|series| series.value > 0.0) {
        let (kind, problem) = (series.label("kind"), series.label("problem"));
        let remedy = match problem {
            "forbidden" => "grant the account list and watch on that kind",
            "unreachable" => "see whether the API server can be reached from where Berth runs",
            _ => "see Berth's log",
        };
        let reason = format!("{kind} is not followed: {problem}");
        findings.push(Finding::error(Code::KindNotFollowed, reason, remedy));
    }
    let known: Vec<_> = findings.iter().map(|finding| finding.reason.clone()).collect();
    for series in page.series("berth_cache_staleness_seconds").filter(|series| series.value > 0.0) {
        let kind = series.label("kind");
        if known.iter().any(|reason| reason.starts_with(&format!("{kind} "))) {
            continue;
        }
        let reason = format!("the watch of {kind} has been cut for {:.0} s", series.value);
        let remedy = "see Berth's log, and whether the API server is well";
        findings.push(Finding::warning(Code::KindNotFollowed, reason, remedy));
    }
    findings
}

/// Whether the configuration file is in force.
pub(super) fn configuration(facts: &RunningFacts) -> Vec<Finding> {
    if Page::new(&facts.metrics).value("berth_config_current", &[]) == Some(0.0) {
        return vec![Finding::error(
            Code::ConfigurationNotCurrent,
            "the configuration file was changed, and is not accepted: the settings before the change are in force",
            "run berth check-config on the file; Berth's log says what is wrong with it",
        )];
    }
    Vec::new()
}

/// Whether who is given nodes also binds, and nothing has broken. `is_told_to_bind` says that kube-scheduler's configuration
/// is known, and has a `bindVerb`.
pub(super) fn calls(facts: &RunningFacts, is_told_to_bind: bool) -> Vec<Finding> {
    let page = Page::new(&facts.metrics);
    let calls = |verb: &str| page.sum("berth_request_duration_seconds_count", &[("verb", verb)]);
    let mut findings = Vec::new();
    // Filter calls prove nothing: in a full cluster no node is left after any of them, and doctor's own are among them.
    // Scores are asked for where several nodes are left, and then a bind call should come. A few may be on their way.
    if !is_told_to_bind && calls("prioritize") > 20.0 && calls("bind") == 0.0 {
        findings.push(Finding::warning(
            Code::NobodyBinds,
            format!(
                "nodes were scored for {} pods, and there was no bind call: it seems that kube-scheduler does not let Berth bind",
                calls("prioritize")
            ),
            "set bindVerb: bind in kube-scheduler's configuration, and restart it; --scheduler-config FILE tells for certain",
        ));
    }
    let panics = page.sum("berth_panics_total", &[]);
    if panics > 0.0 {
        findings.push(Finding::warning(
            Code::Panicked,
            format!("{panics} decisions or services have panicked, and were answered or begun anew"),
            "please report it, with the log line that says where",
        ));
    }
    findings
}

/// Whether it is of this program's version.
pub(super) fn version(facts: &RunningFacts) -> Vec<Finding> {
    let page = Page::new(&facts.metrics);
    let running = page.series("berth_build_info").next().map(|series| series.label("version").to_owned());
    let own = VERSION;
    match running {
        Some(running) if running != own => vec![Finding::warning(
            Code::AnotherVersion,
            format!(
                "the Berth that runs is {running}, and this program {own}: it may check what the other does not know"
            ),
            "use the doctor of the version that runs",
        )],
        _ => Vec::new(),
    }
}

/// Whether the certificates in force are good for a while.
pub(super) fn certificates(facts: &RunningFacts, now: SystemTime) -> Vec<Finding> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    let page = Page::new(&facts.metrics);
    let expiries = page.series("berth_certificate_expiry_timestamp_seconds");
    let judge = |series: super::metrics_page::Series<'_>| {
        // Zero stands for none.
        let left = series.value - now;
        let which = series.label("certificate").to_owned();
        if series.value <= 0.0 || left > SOON.as_secs_f64() {
            None
        } else if left <= 0.0 {
            let reason = format!("the certificate {which} that Berth uses has expired");
            Some(Finding::error(Code::CertificateExpired, reason, "renew the file; it is picked up at once"))
        } else {
            let reason =
                format!("the certificate {which} that Berth uses expires in {:.0} days", left / 86_400.0);
            Some(Finding::warning(
                Code::CertificateExpiresSoon,
                reason,
                "renew the file; it is picked up at once",
            ))
        }
    };
    expiries.filter_map(judge).collect()
}
