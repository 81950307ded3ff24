//! Every finding is found in an installation that is broken that way, and none in a good one.

mod calls;
mod cluster;
mod running;
mod scheduler;
mod shipped;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::certificates::{Certificate, TlsFacts};
use super::examine::examine;
use super::facts::{ApiServerFacts, Asked, ConfigSource, Facts};
use super::finding::{Code, Severity};
use super::permissions::{Reviewed, needed_to_run};
use super::reach::{Answer, Reached};
use super::report::{Outcome, Report};
use super::running::{Metrics, Refusal, RunningFacts};
use super::schedulers::{SchedulerPod, Whose};
use super::topology::Cluster;
use super::versions::Version;
use crate::build_info::VERSION;
use crate::config::{Config, parse};

const SHIPPED: &str = include_str!("../../deploy/kube-scheduler-config.yaml");
const HEAD: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
const DAY: u64 = 24 * 3600;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(20_000 * DAY)
}

fn config(text: &str) -> Config {
    parse(&format!("{HEAD}{text}\n")).expect(text)
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn metrics(more: &str) -> String {
    format!(
        "berth_build_info{{version=\"{VERSION}\"}} 1\nberth_config_current 1\n\
         berth_request_duration_seconds_count{{code=\"200\",verb=\"filter\"}} 100\n\
         berth_request_duration_seconds_count{{code=\"200\",verb=\"bind\"}} 100\n\
         berth_request_duration_seconds_count{{code=\"200\",verb=\"prioritize\"}} 100\n\
         berth_cache_staleness_seconds{{kind=\"Pod\"}} 0\nberth_panics_total{{where=\"filter\"}} 0\n{more}"
    )
}

/// A certificate that is good from so many days before now to so many days after it.
fn certificate(from: i64, to: i64) -> Certificate {
    let day = |offset: i64| (20_000 + offset) * 86_400;
    let names = vec!["127.0.0.1".to_owned()];
    Certificate { what: "server.tls.certFile a".to_owned(), not_before: day(from), not_after: day(to), names }
}

fn scheduler(whose: Whose, version: &str, host_network: bool) -> SchedulerPod {
    SchedulerPod { whose, version: Version::parse(version), host_network }
}

/// An installation with which nothing is wrong.
fn good() -> Facts {
    let labels = names(&["kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"]);
    let nodes = ["a", "b", "c"].map(|name| (name.to_owned(), labels.clone()));
    let cluster = Cluster {
        nodes: BTreeMap::from(nodes),
        keys_of_groups: BTreeMap::from([("example.com/rack".to_owned(), 2)]),
        schedulers_of_groups: BTreeMap::from([("default-scheduler".to_owned(), 2)]),
    };
    let needed = needed_to_run(&Config::default(), |_| true, true);
    let allowed = needed.into_iter().map(|permission| Reviewed { permission, allowed: true }).collect();
    let tls = TlsFacts {
        certificates: vec![certificate(-1, 365)],
        served: Some((certificate(-1, 365), "127.0.0.1".to_owned())),
        ..TlsFacts::default()
    };
    let body = r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#;
    let answer = Answer { status: 200, body: body.to_owned(), counted: Some(true) };
    Facts {
        pre: false,
        now: now(),
        scheduler_config: Some(SHIPPED.to_owned()),
        config: Config::default(),
        config_source: ConfigSource::File,
        tls: Asked::Got(tls),
        reached: Asked::Got(Reached { url: "http://127.0.0.1:8888/filter".to_owned(), outcome: Ok(answer) }),
        running: Asked::Got(RunningFacts {
            is_ready: true,
            readyz: "[+] shutdown\n[+] Node\nok\n".to_owned(),
            metrics: Metrics::Page(metrics("")),
            is_guarded: Some(true),
        }),
        api_server: Asked::Got(ApiServerFacts {
            version: "v1.36.4".to_owned(),
            schedulers: vec![scheduler(Whose::ControlPlane, "v1.36.4", true)],
            account: "berth".to_owned(),
            permissions: Asked::Got(allowed),
            cluster: Asked::Got(cluster),
        }),
    }
}

fn found(report: &Report) -> Vec<(Code, Severity)> {
    report.findings().map(|finding| (finding.code, finding.severity)).collect()
}

/// How an installation is broken, and what is to be found then.
struct Case {
    name: &'static str,
    code: Code,
    severity: Severity,
    facts: Facts,
}

fn case(name: &'static str, code: Code, severity: Severity, breaking: impl FnOnce(&mut Facts)) -> Case {
    let mut facts = good();
    breaking(&mut facts);
    Case { name, code, severity, facts }
}

/// The shipped file with one text instead of another.
fn replaced(facts: &mut Facts, from: &str, to: &str) {
    assert!(SHIPPED.contains(from), "the shipped file has {from:?}");
    facts.scheduler_config = Some(SHIPPED.replace(from, to));
}

fn tls(facts: &mut Facts) -> &mut TlsFacts {
    let Asked::Got(tls) = &mut facts.tls else { unreachable!("the good installation has certificates") };
    tls
}

fn answer(facts: &mut Facts) -> &mut Result<Answer, String> {
    let Asked::Got(reached) = &mut facts.reached else { unreachable!("the good installation answers") };
    &mut reached.outcome
}

fn running(facts: &mut Facts) -> &mut RunningFacts {
    let Asked::Got(running) = &mut facts.running else { unreachable!("the good installation runs") };
    running
}

fn shows(facts: &mut Facts, page: String) {
    running(facts).metrics = Metrics::Page(page);
}

fn server(facts: &mut Facts) -> &mut ApiServerFacts {
    let Asked::Got(server) = &mut facts.api_server else {
        unreachable!("the good installation has a server")
    };
    server
}

fn cluster(facts: &mut Facts) -> &mut Cluster {
    let Asked::Got(cluster) = &mut server(facts).cluster else { unreachable!("the good one has nodes") };
    cluster
}

#[test]
fn nothing_is_found_in_a_good_installation() {
    let report = examine(&good());
    assert_eq!(found(&report), [], "{report}");
    let skipped = |check: &&super::Check| matches!(check.outcome, Outcome::Skipped { .. });
    assert_eq!(report.checks.iter().filter(skipped).count(), 0, "{report}");
}

#[test]
fn good_variations_are_good() {
    let in_pod: fn(&mut Facts) = |f| {
        server(f).schedulers[0].host_network = false;
        replaced(
            f,
            scheduler::HTTP,
            "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}",
        );
        f.config = config("server: {tls: {certFile: a, keyFile: b}}");
    };
    let elsewhere: fn(&mut Facts) = |f| {
        f.config_source = ConfigSource::Running;
        replaced(f, scheduler::HTTP, "urlPrefix: https://127.0.0.1:8888\n    tlsConfig: {caFile: a}");
    };
    let scores_only: fn(&mut Facts) = |f| {
        f.config = config("replicaGroups: {mode: Observe}");
        replaced(f, "ignorable: false", "ignorable: true");
    };
    let observing: fn(&mut Facts) = |f| {
        f.config = config("topologySpread: {mode: Observe}");
        replaced(f, "defaultingType: List", "defaultingType: System");
    };
    let no_timeout: fn(&mut Facts) = |f| replaced(f, "httpTimeout: 10s", "");
    let not_nominating: fn(&mut Facts) = |f| {
        f.config = config("replicaGroups: {nominate: false}");
        replaced(f, "profiles:", "percentageOfNodesToScore: 100\nprofiles:");
    };
    let delayed: fn(&mut Facts) = |f| replaced(f, "profiles:", "delayCacheUntilActive: true\nprofiles:");
    let unbound: fn(&mut Facts) = |f| shows(f, metrics("").replace("bind\"} 100", "bind\"} 0"));
    let full: fn(&mut Facts) = |f| {
        f.scheduler_config = None;
        shows(
            f,
            metrics("").replace("bind\"} 100", "bind\"} 0").replace("prioritize\"} 100", "prioritize\"} 0"),
        );
    };
    for (name, change) in [
        ("no bind calls yet, with a bindVerb", unbound),
        ("filter calls in a full cluster", full),
        ("a cache that waits for the lead", delayed),
        ("a kube-scheduler in a pod of its own", in_pod),
        ("a Berth whose file nobody has", elsewhere),
        ("scores only", scores_only),
        ("watching before trusting", observing),
        ("kube-scheduler's own timeout", no_timeout),
        ("every node for groups without nominations", not_nominating),
    ] {
        let mut facts = good();
        change(&mut facts);
        let report = examine(&facts);
        assert_eq!(found(&report), [], "{name}: {report}");
    }
}

#[test]
fn each_finding_is_found_where_something_is_broken_that_way_and_nothing_else() {
    let mut seen = BTreeSet::new();
    let tables =
        [scheduler::cases(), calls::cases(), running::cases(), cluster::cases(), cluster::permission_cases()];
    for Case { name, code, severity, facts } in tables.into_iter().flatten() {
        let report = examine(&facts);
        assert_eq!(found(&report), [(code, severity)], "{name}: {report}");
        assert!(
            report.findings().all(|finding| !finding.reason.is_empty() && !finding.remedy.is_empty()),
            "{name}"
        );
        seen.insert(code);
    }
    let unseen: Vec<_> = Code::ALL.into_iter().filter(|code| !seen.contains(code)).collect();
    assert_eq!(unseen, [], "every code has a case");
}

#[test]
fn who_is_refused_the_metrics_still_learns_whether_berth_is_ready() {
    for (status, had_token, helps) in [
        (401, false, "--token-file"),
        (401, true, "new one"),
        (403, true, "nonResourceURLs"),
        (503, true, "auth-delegator"),
    ] {
        let mut facts = good();
        let what = "GET /metrics at 127.0.0.1:8889".to_owned();
        let refusal = Refusal { what, status, said: "no".to_owned(), had_token };
        running(&mut facts).metrics = Metrics::Refused(refusal);
        let report = examine(&facts);
        assert_eq!(found(&report), [(Code::AdminRefused, Severity::Warning)], "{report}");
        assert!(report.findings().all(|finding| finding.remedy.contains(helps)), "{report}");
        let text = report.to_string();
        for line in ["[ok]      it is ready", "[skipped] its cache is current: its metrics could not be read"]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
        running(&mut facts).is_ready = false;
        let report = examine(&facts);
        let expected = [(Code::NotReady, Severity::Error), (Code::AdminRefused, Severity::Warning)];
        assert_eq!(found(&report), expected, "{report}");
    }
}

#[test]
fn an_unknown_field_hides_nothing_else() {
    let mut facts = good();
    facts.scheduler_config =
        Some(SHIPPED.replace("profiles:", "futureField: 1\nprofiles:").replace("bindVerb: bind", ""));
    let report = examine(&facts);
    let expected = [Code::UnknownField, Code::BindVerbMissing].map(|code| (code, Severity::Error));
    assert_eq!(found(&report), expected, "{report}");
}

#[test]
fn what_is_not_asked_for_is_skipped_and_says_why() {
    let skipped = || "because".to_owned();
    let facts = Facts {
        scheduler_config: None,
        config_source: ConfigSource::Defaults,
        tls: Asked::Skipped(skipped()),
        reached: Asked::Skipped(skipped()),
        running: Asked::Skipped(skipped()),
        api_server: Asked::Skipped(skipped()),
        ..good()
    };
    let report = examine(&facts);
    assert!(report.is_empty() && found(&report).is_empty(), "{report}");
    assert!(report.to_string().contains("[skipped] it answers: because"), "{report}");
}
