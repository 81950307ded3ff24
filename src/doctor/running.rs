//! Checks of a Berth that runs, from what its admin endpoints say.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::certificates::SOON;
use super::finding::{Code, Finding};
use super::metrics_page::Page;
use super::url::Url;
use crate::build_info::VERSION;

/// What the admin endpoints say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunningFacts {
    /// The body of `/readyz?verbose`, and whether it says ready.
    pub(super) is_ready: bool,
    pub(super) readyz: String,
    pub(super) metrics: Metrics,
    /// Whether `/metrics` is refused to those without a token, as it is off loopback only; `None` if that is not known.
    pub(super) is_guarded: Option<bool>,
}

/// What came of asking for `/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Metrics {
    /// The page.
    Page(String),
    /// Berth did not let us in.
    Refused(Refusal),
    /// There is no page, and why.
    Failed(String),
}

/// How Berth did not let us in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What was asked.
    pub(super) what: String,
    pub(super) status: u16,
    /// What Berth says about it.
    pub(super) said: String,
    /// Whether there was a token to send.
    pub(super) had_token: bool,
}

impl RunningFacts {
    /// The metrics, if they could be had.
    pub(super) fn page(&self) -> Option<Page<'_>> {
        match &self.metrics {
            Metrics::Page(text) => Some(Page::new(text)),
            Metrics::Refused(_) | Metrics::Failed(_) => None,
        }
    }
}

/// Whether Berth has to find out who asks its admin endpoints. The address that doctor uses may be the near end of a tunnel, so
/// that it is taken for a sign only where Berth itself gave none.
pub(super) fn admin_off_loopback(server: &Url, running: Option<&RunningFacts>) -> bool {
    running.and_then(|running| running.is_guarded).unwrap_or(!server.is_loopback())
}

/// Whether the metrics could be had.
pub(super) fn metrics(metrics: &Metrics) -> Vec<Finding> {
    match metrics {
        Metrics::Page(_) => Vec::new(),
        Metrics::Failed(why) => {
            vec![Finding::error(Code::AdminUnreachable, why, "see that --server leads to Berth's admin port")]
        }
        Metrics::Refused(Refusal { what, status, said, had_token }) => {
            let remedy = match (status, had_token) {
                (401, false) => {
                    "off loopback it takes a token: kubectl create token ACCOUNT > FILE, and --token-file FILE, through kubectl \
                     port-forward or with --ca-file; docs/security.md has the role that the account needs"
                }
                (401, true) => {
                    "the token is unknown or has expired: make a new one with kubectl create token"
                }
                (403, _) => {
                    "bind the token's account to a ClusterRole with nonResourceURLs: [/metrics, /configz] and verbs: [get]"
                }
                _ => {
                    "Berth could not ask the API server about the token: bind Berth's account to system:auth-delegator, and see \
                     Berth's log"
                }
            };
            let reason = format!("could not look: {what} is answered {status} ({said})");
            vec![Finding::warning(Code::AdminRefused, reason, remedy)]
        }
    }
}

/// Whether it is ready, and if not, why.
pub(super) fn readiness(facts: &RunningFacts) -> Vec<Finding> {
    if facts.is_ready {
        return Vec::new();
    }
    let remedy = |kind: &str| {
        let value = |page: Page<'_>, problem| {
            page.value("berth_watch_problem", &[("kind", kind), ("problem", problem)])
        };
        let has = |problem| facts.page().and_then(|page| value(page, problem)) == Some(1.0);
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
pub(super) fn freshness(page: Page<'_>) -> Vec<Finding> {
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
pub(super) fn configuration(page: Page<'_>) -> Vec<Finding> {
    if page.value("berth_config_current", &[]) == Some(0.0) {
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
pub(super) fn calls(page: Page<'_>, is_told_to_bind: bool) -> Vec<Finding> {
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
pub(super) fn version(page: Page<'_>) -> Vec<Finding> {
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
pub(super) fn certificates(page: Page<'_>, now: SystemTime) -> Vec<Finding> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
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

#[test]
fn who_is_refused_without_a_token_asks_a_port_off_loopback_whatever_the_way_there() {
    let [near, far] =
        ["http://127.0.0.1:8889", "https://10.0.0.7:8889"].map(|url| Url::parse(url).expect(url));
    let running = |is_guarded| RunningFacts {
        is_ready: true,
        readyz: String::new(),
        metrics: Metrics::Page(String::new()),
        is_guarded,
    };
    for (server, is_guarded, is_off) in [
        (&near, Some(true), true),
        (&near, Some(false), false),
        (&near, None, false),
        (&far, Some(true), true),
        (&far, Some(false), false),
        (&far, None, true),
    ] {
        assert_eq!(
            admin_off_loopback(server, Some(&running(is_guarded))),
            is_off,
            "{server:?} {is_guarded:?}"
        );
    }
    assert!(!admin_off_loopback(&near, None) && admin_off_loopback(&far, None), "nothing else is known");
}
