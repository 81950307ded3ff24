//! Every finding is found in an installation that is broken that way, and none in a good one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::certificates::{Certificate, TlsFacts};
use super::examine::examine;
use super::facts::{ApiServerFacts, Asked, ConfigSource, Facts};
use super::finding::{Code, Severity};
use super::permissions::{Reviewed, needed_to_install, needed_to_run};
use super::reach::{Answer, Reached};
use super::report::{Outcome, Report};
use super::running::RunningFacts;
use super::topology::Cluster;
use super::versions::Version;
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
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "berth_build_info{{version=\"{version}\"}} 1\nberth_config_current 1\n\
         berth_request_duration_seconds_count{{code=\"200\",verb=\"filter\"}} 100\n\
         berth_request_duration_seconds_count{{code=\"200\",verb=\"bind\"}} 100\n\
         berth_cache_staleness_seconds{{kind=\"Pod\"}} 0\nberth_panics_total{{where=\"filter\"}} 0\n{more}"
    )
}

/// A certificate that is good from so many days before now to so many days after it.
fn certificate(from: i64, to: i64) -> Certificate {
    let day = |offset: i64| (20_000 + offset) * 86_400;
    let names = vec!["127.0.0.1".to_owned()];
    Certificate { what: "server.tls.certFile a".to_owned(), not_before: day(from), not_after: day(to), names }
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
            metrics: metrics(""),
        }),
        api_server: Asked::Got(ApiServerFacts {
            version: "v1.36.4".to_owned(),
            schedulers: vec![Version::parse("v1.36.4").expect("a version")],
            host_network: Some(true),
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

const HTTPS: &str = "urlPrefix: https://127.0.0.1:8888\n    enableHTTPS: true";
const HTTP: &str = "urlPrefix: http://127.0.0.1:8888";

#[expect(clippy::too_many_lines, reason = "a table")]
fn scheduler_cases() -> Vec<Case> {
    use Severity::{Error, Warning};
    vec![
        case("another kind", Code::NotASchedulerConfiguration, Error, |f| {
            replaced(f, "kind: KubeSchedulerConfiguration", "kind: Pod");
        }),
        case("a retired version", Code::NotASchedulerConfiguration, Error, |f| {
            replaced(f, "k8s.io/v1\n", "k8s.io/v1beta3\n");
        }),
        case("no YAML", Code::NotASchedulerConfiguration, Error, |f| {
            f.scheduler_config = Some("a: [".to_owned());
        }),
        case("a wrong type", Code::NotASchedulerConfiguration, Error, |f| {
            replaced(f, "weight: 1", "weight: one");
        }),
        case("a field in the wrong case", Code::UnknownField, Error, |f| {
            replaced(f, "nodeCacheCapable", "nodecachecapable");
        }),
        case("no extenders", Code::NoExtender, Error, |f| {
            f.scheduler_config = Some(SHIPPED.split("extenders:").next().expect("text").to_owned());
        }),
        case("another extender only", Code::NoExtender, Error, |f| {
            let (head, _) = SHIPPED.split_once("extenders:").expect("extenders");
            let other = "extenders:\n- urlPrefix: http://127.0.0.1:9999\n  filterVerb: predicates\n";
            f.scheduler_config = Some(format!("{head}{other}"));
        }),
        case("Berth twice", Code::DuplicateExtender, Error, |f| {
            let again =
                "  - urlPrefix: http://127.0.0.1:8888\n    filterVerb: filter\n    nodeCacheCapable: true\n";
            f.scheduler_config = Some(format!("{SHIPPED}{again}"));
        }),
        case("two that bind", Code::SeveralBinders, Error, |f| {
            let other =
                "  - urlPrefix: http://127.0.0.1:9999\n    bindVerb: bind\n    nodeCacheCapable: true\n";
            f.scheduler_config = Some(format!("{SHIPPED}{other}"));
        }),
        case("a verb of another name", Code::UnknownVerb, Error, |f| {
            replaced(f, "filterVerb: filter", "filterVerb: predicates");
        }),
        case("no scheme", Code::UrlUnusable, Error, |f| replaced(f, HTTP, "urlPrefix: 127.0.0.1:8888")),
        case("a path", Code::UrlUnusable, Error, |f| {
            replaced(f, HTTP, "urlPrefix: http://127.0.0.1:8888/berth");
        }),
        case("HTTPS by the flag only", Code::HttpsContradiction, Error, |f| {
            replaced(f, HTTP, "urlPrefix: http://127.0.0.1:8888\n    enableHTTPS: true");
        }),
        case("HTTPS by the URL only", Code::HttpsContradiction, Warning, |f| {
            replaced(f, HTTP, "urlPrefix: https://127.0.0.1:8888");
        }),
        case("no authority", Code::CertificateNotVerified, Error, |f| replaced(f, HTTP, HTTPS)),
        case("insecure by the flag", Code::CertificateNotVerified, Warning, |f| {
            replaced(f, HTTP, &format!("{HTTPS}\n    tlsConfig: {{insecure: true, caFile: a}}"));
        }),
        case("plain HTTP elsewhere", Code::PlainHttp, Error, |f| {
            replaced(f, HTTP, "urlPrefix: http://10.0.0.7:8888");
        }),
        case("a Service's name on the host's network", Code::ClusterDnsName, Error, |f| {
            let url = "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}";
            replaced(f, HTTP, url);
        }),
        case("a Service's name, who knows from where", Code::ClusterDnsName, Warning, |f| {
            server(f).host_network = None;
            replaced(f, HTTP, "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}");
        }),
        case("no weight", Code::WeightMissing, Error, |f| replaced(f, "weight: 1", "")),
        case("a weight of nothing", Code::WeightMissing, Error, |f| replaced(f, "weight: 1", "weight: 0")),
        case("no prioritize", Code::PrioritizeVerbMissing, Warning, |f| {
            replaced(f, "prioritizeVerb: prioritize", "");
        }),
        case("whole nodes", Code::NodeCacheIncapable, Warning, |f| {
            replaced(f, "nodeCacheCapable: true", "nodeCacheCapable: false");
        }),
        case("no bind", Code::BindVerbMissing, Error, |f| replaced(f, "bindVerb: bind", "")),
        case("no filter", Code::FilterVerbMissing, Error, |f| replaced(f, "filterVerb: filter", "")),
        case("no filter, and no promises", Code::FilterVerbMissing, Warning, |f| {
            f.config = config("replicaGroups: {sources: []}");
            replaced(f, "filterVerb: filter", "");
        }),
        case("no preempt", Code::PreemptVerbMissing, Error, |f| replaced(f, "preemptVerb: preempt", "")),
        case("ignorable with groups", Code::Ignorable, Error, |f| {
            replaced(f, "ignorable: false", "ignorable: true");
        }),
        case("ignorable with hard limits", Code::Ignorable, Error, |f| {
            f.config = config(
                "replicaGroups: {sources: []}\ntopologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, \
                 topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}]}",
            );
            replaced(f, "ignorable: false", "ignorable: true");
        }),
        case("less patience than a decision takes", Code::HttpTimeoutShort, Error, |f| {
            replaced(f, "httpTimeout: 10s", "httpTimeout: 500ms");
        }),
        case("less patience than a binding takes", Code::HttpTimeoutShort, Warning, |f| {
            replaced(f, "httpTimeout: 10s", "httpTimeout: 3s");
        }),
        case("no duration", Code::HttpTimeoutShort, Error, |f| {
            replaced(f, "httpTimeout: 10s", "httpTimeout: 10");
        }),
        case("too much patience", Code::HttpTimeoutLong, Warning, |f| {
            replaced(f, "httpTimeout: 10s", "httpTimeout: 1m30s");
        }),
        case("some pods only", Code::ManagedResources, Warning, |f| {
            replaced(f, "weight: 1", "weight: 1\n    managedResources: [{name: example.com/gpu}]");
        }),
        case("every node", Code::EveryNodeScored, Warning, |f| {
            replaced(f, "profiles:", "percentageOfNodesToScore: 100\nprofiles:");
        }),
        case("every node, in a profile", Code::EveryNodeScored, Warning, |f| {
            let name = "schedulerName: default-scheduler";
            replaced(f, name, &format!("{name}\n    percentageOfNodesToScore: 100"));
        }),
        case("a sample, and no nominations", Code::GroupsSeeASample, Warning, |f| {
            f.config = config("replicaGroups: {nominate: false}");
        }),
        case("both spread", Code::SpreadTwice, Warning, |f| {
            replaced(f, "defaultingType: List", "defaultingType: System");
        }),
        case("nobody spreads", Code::SpreadByNobody, Warning, |f| {
            f.config = config("topologySpread: {mode: Observe}");
        }),
        case("one name for two profiles", Code::DuplicateProfile, Error, |f| {
            let twin = "  - schedulerName: default-scheduler\n    plugins: {multiPoint: {disabled: [{name: PodTopologySpread}]}}\n\nextenders:";
            replaced(f, "\nextenders:", twin);
        }),
        case("a scheduler that is not here", Code::SchedulerNameUnserved, Warning, |f| {
            cluster(f).schedulers_of_groups.insert("berth".to_owned(), 3);
        }),
    ]
}

fn tls_and_call_cases() -> Vec<Case> {
    use Severity::{Error, Warning};
    vec![
        case("a bad configuration", Code::ConfigurationInvalid, Error, |f| {
            f.config_source = ConfigSource::Refused("configuration field x: unknown".to_owned());
        }),
        case("no such file", Code::CertificateUnusable, Error, |f| {
            tls(f).unusable.push(("tlsConfig.caFile a".to_owned(), "not found".to_owned()));
        }),
        case("tomorrow's certificate", Code::CertificateNotYetValid, Error, |f| {
            tls(f).certificates = vec![certificate(1, 365)];
        }),
        case("yesterday's certificate", Code::CertificateExpired, Error, |f| {
            tls(f).certificates = vec![certificate(-365, -1)];
        }),
        case("the last days of a certificate", Code::CertificateExpiresSoon, Warning, |f| {
            tls(f).certificates = vec![certificate(-365, 3)];
        }),
        case("somebody else's certificate", Code::CertificateForAnotherName, Error, |f| {
            tls(f).served = Some((certificate(-1, 365), "berth.example".to_owned()));
        }),
        case("another key", Code::KeyMismatch, Error, |f| tls(f).mismatched.push("server.tls".to_owned())),
        case("another authority", Code::CertificateOfAnotherAuthority, Error, |f| {
            tls(f).distrusted.push(("server.tls.certFile a".to_owned(), "unknown issuer".to_owned()));
        }),
        case("nothing to show", Code::ClientCertificateMissing, Error, |f| {
            tls(f).lacks_client_certificate = true;
        }),
        case("nobody there", Code::VerbsUnreachable, Error, |f| *answer(f) = Err("refused".to_owned())),
        case("the admin port", Code::VerbsBroken, Error, |f| {
            *answer(f) = Ok(Answer { status: 404, body: "no such endpoint".to_owned(), counted: None });
        }),
        case("something else", Code::VerbsBroken, Error, |f| {
            *answer(f) = Ok(Answer { status: 200, body: "<html>".to_owned(), counted: None });
        }),
        case("a Berth that does not know", Code::VerbsUndecided, Error, |f| {
            let body = r#"{"Error":"CacheNotSynced"}"#.to_owned();
            *answer(f) = Ok(Answer { status: 200, body, counted: None });
        }),
        case("the other Berth", Code::AnotherBerth, Warning, |f| {
            answer(f).as_mut().expect("an answer").counted = Some(false);
        }),
    ]
}

fn running_cases() -> Vec<Case> {
    use Severity::{Error, Warning};
    let soon = format!(
        "berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n",
        20_000 * DAY + 3 * DAY
    );
    let gone =
        format!("berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n", 19_999 * DAY);
    let shows = |f: &mut Facts, more: &str| running(f).metrics = metrics(more);
    vec![
        case("no Berth", Code::AdminUnreachable, Error, |f| f.running = Asked::Failed("refused".to_owned())),
        case("no token", Code::AdminRefused, Error, |f| {
            f.running = Asked::Failed("GET /metrics is answered 401".to_owned());
        }),
        case("not synced", Code::NotReady, Error, |f| {
            running(f).is_ready = false;
            running(f).readyz = "[+] Node\n[-] Pod: not synced\nnot ready\n".to_owned();
        }),
        case("forbidden", Code::KindNotFollowed, Error, |f| {
            shows(f, "berth_watch_problem{kind=\"Pod\",problem=\"forbidden\"} 1\n");
        }),
        case("a cut watch", Code::KindNotFollowed, Warning, |f| {
            shows(f, "berth_cache_staleness_seconds{kind=\"Node\"} 12\n");
        }),
        case("an old configuration", Code::ConfigurationNotCurrent, Error, |f| {
            running(f).metrics = metrics("").replace("config_current 1", "config_current 0");
        }),
        case("no bind calls", Code::NobodyBinds, Error, |f| {
            running(f).metrics = metrics("").replace("verb=\"bind\"} 100", "verb=\"bind\"} 0");
        }),
        case("a panic", Code::Panicked, Warning, |f| shows(f, "berth_panics_total{where=\"bind\"} 1\n")),
        case("another version", Code::AnotherVersion, Warning, |f| {
            let own = env!("CARGO_PKG_VERSION");
            running(f).metrics = metrics("").replace(&format!("\"{own}\""), "\"0.0.1\"");
        }),
        case("a certificate in force that ends soon", Code::CertificateExpiresSoon, Warning, |f| {
            shows(f, &soon);
        }),
        case("a certificate in force that has ended", Code::CertificateExpired, Error, |f| shows(f, &gone)),
    ]
}

fn cluster_cases() -> Vec<Case> {
    use Severity::{Error, Warning};
    vec![
        case("no API server", Code::ApiServerUnreachable, Error, |f| {
            f.api_server = Asked::Failed("https://127.0.0.1:6443/: refused".to_owned());
        }),
        case("an old API server", Code::KubernetesUntried, Warning, |f| {
            server(f).version = "v1.28.0".to_owned();
            server(f).schedulers = Vec::new();
        }),
        case("a new API server", Code::KubernetesUntried, Warning, |f| {
            server(f).version = "v1.50.0".to_owned();
            server(f).schedulers = Vec::new();
        }),
        case("a newer kube-scheduler", Code::SchedulerSkew, Error, |f| {
            server(f).schedulers = vec![Version::parse("1.37.1").expect("a version")];
        }),
        case("a much older kube-scheduler", Code::SchedulerSkew, Error, |f| {
            server(f).schedulers = vec![Version::parse("1.34.0").expect("a version")];
        }),
        case("no permissions known", Code::ClusterUnreadable, Error, |f| {
            server(f).permissions = Asked::Failed("forbidden".to_owned());
        }),
        case("no nodes known", Code::ClusterUnreadable, Error, |f| {
            server(f).cluster = Asked::Failed("forbidden".to_owned());
        }),
        case("no permission to install", Code::MayNotInstall, Error, |f| {
            let mut needed = needed_to_install("berth-system").into_iter();
            let permission = needed.next().expect("a permission");
            server(f).permissions = Asked::Got(vec![Reviewed { permission, allowed: false }]);
        }),
        case("a label that no node has", Code::TopologyLabelUnknown, Error, |f| {
            cluster(f).keys_of_groups.insert("example.com/block".to_owned(), 1);
        }),
        case("a label of a rule that no node has", Code::TopologyLabelUnknown, Error, |f| {
            f.config =
                config("replicaGroups: {rules: [{label: gang, topology: {required: example.com/block}}]}");
        }),
        case("no zones at all", Code::TopologyLabelUnknown, Warning, |f| {
            for labels in cluster(f).nodes.values_mut() {
                labels.remove("topology.kubernetes.io/zone");
            }
        }),
        case("a label that one node lacks", Code::TopologyLabelMissing, Warning, |f| {
            cluster(f)
                .nodes
                .insert("d".to_owned(), names(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"]));
        }),
    ]
}

/// Each permission by itself.
fn permission_cases() -> Vec<Case> {
    let needed = needed_to_run(&Config::default(), |_| true, true);
    let lacking = |at: usize| {
        case("one permission less", Code::PermissionMissing, Severity::Error, |f| {
            let Asked::Got(reviewed) = &mut server(f).permissions else { unreachable!("it was asked") };
            reviewed[at].allowed = false;
        })
    };
    let mut cases: Vec<_> = (0..needed.len()).map(lacking).collect();
    for (case, permission) in cases.iter_mut().zip(&needed) {
        if permission.resource == "events" {
            case.severity = Severity::Warning;
        }
    }
    cases
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
        server(f).host_network = Some(false);
        replaced(f, HTTP, "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}");
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
    for (name, change) in [
        ("a kube-scheduler in a pod of its own", in_pod),
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
        [scheduler_cases(), tls_and_call_cases(), running_cases(), cluster_cases(), permission_cases()];
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

#[test]
fn no_shipped_configuration_of_kube_scheduler_has_an_error() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_whole =
                |text: &str| text.contains("\nkind: KubeSchedulerConfiguration\n") && !text.contains("{{");
            if path.extension().is_none_or(|extension| extension != "yaml") || !is_whole(&text) {
                continue;
            }
            seen += 1;
            let mut facts = Facts { scheduler_config: Some(text), ..good() };
            server(&mut facts).host_network = None;
            let report = examine(&facts);
            assert_eq!(report.count(Severity::Error), 0, "{}: {report}", path.display());
        }
    }
    assert!(seen > 0, "there is one");
}
