//! kube-scheduler's configuration.

use super::{Case, Facts, SHIPPED, case, cluster, config, replaced, server};
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};

const HTTPS: &str = "urlPrefix: https://127.0.0.1:8888\n    enableHTTPS: true";
pub(super) const HTTP: &str = "urlPrefix: http://127.0.0.1:8888";

/// A Berth with a certificate, and what kube-scheduler is told about it.
fn secured(f: &mut Facts, to: &str) {
    f.config = config("server: {tls: {certFile: a, keyFile: b}}");
    replaced(f, HTTP, to);
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
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
            replaced(f, "ignorable: false", "Ignorable: false");
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
            secured(f, "urlPrefix: https://127.0.0.1:8888");
        }),
        case("HTTPS, and no certificate", Code::HttpsContradiction, Error, |f| {
            replaced(f, HTTP, &format!("{HTTPS}\n    tlsConfig: {{caFile: a}}"));
        }),
        case("a certificate, and plain HTTP", Code::HttpsContradiction, Error, |f| secured(f, HTTP)),
        case("a certificate, and plain HTTP elsewhere", Code::HttpsContradiction, Error, |f| {
            secured(f, "urlPrefix: http://10.0.0.7:8888");
        }),
        case("a certificate, and HTTPS by the flag only", Code::HttpsContradiction, Error, |f| {
            secured(f, &format!("{HTTP}\n    enableHTTPS: true"));
        }),
        case("no authority", Code::CertificateNotVerified, Error, |f| secured(f, HTTPS)),
        case("insecure by the flag", Code::CertificateNotVerified, Warning, |f| {
            secured(f, &format!("{HTTPS}\n    tlsConfig: {{insecure: true}}"));
        }),
        case("insecure, and an authority", Code::InsecureWithAuthority, Error, |f| {
            secured(f, &format!("{HTTPS}\n    tlsConfig: {{insecure: true, caFile: a}}"));
        }),
        case("insecure, and an authority, without HTTPS", Code::InsecureWithAuthority, Error, |f| {
            replaced(f, HTTP, &format!("{HTTP}\n    tlsConfig: {{insecure: true, caData: YQ==}}"));
        }),
        case("a certificate without a key", Code::ClientCertificateIncomplete, Warning, |f| {
            secured(f, &format!("{HTTPS}\n    tlsConfig: {{caFile: a, certFile: b}}"));
        }),
        case("a key without a certificate", Code::ClientCertificateIncomplete, Warning, |f| {
            secured(f, &format!("{HTTPS}\n    tlsConfig: {{caFile: a, keyData: YQ==}}"));
        }),
        case("plain HTTP elsewhere", Code::PlainHttp, Error, |f| {
            replaced(f, HTTP, "urlPrefix: http://10.0.0.7:8888");
        }),
        case("a Service's name on the host's network", Code::ClusterDnsName, Error, |f| {
            let url = "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}";
            secured(f, url);
        }),
        case("a Service's name, who knows from where", Code::ClusterDnsName, Warning, |f| {
            server(f).schedulers.clear();
            secured(f, "urlPrefix: https://berth.berth-system.svc:8888\n    tlsConfig: {caFile: a}");
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
