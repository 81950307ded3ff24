//! Every metric and every label that a panel or rule names is there: on the metrics page of a Berth that runs, or in the list of what
//! others provide.

use std::collections::{BTreeMap, BTreeSet};

use berth::app::Source;

use super::files::{dashboards, panels, queries, rules, variables};
use super::promql::{self, Selector};
use crate::support::running::Running;
use crate::support::small_cluster::{CONFIG_HEAD, SNAPSHOT};
use crate::tls_authority::Authority;

/// Metrics of kube-scheduler 1.36, with their labels. Histograms are listed by their names without ending.
const OF_KUBE_SCHEDULER: [(&str, &[&str]); 12] = [
    ("scheduler_cache_size", &["type"]),
    ("scheduler_framework_extension_point_duration_seconds", &["extension_point", "profile", "status"]),
    ("scheduler_goroutines", &["operation"]),
    ("scheduler_pending_pods", &["queue"]),
    ("scheduler_pod_scheduling_sli_duration_seconds", &["attempts"]),
    ("scheduler_preemption_attempts_total", &[]),
    ("scheduler_preemption_victims", &[]),
    ("scheduler_queue_incoming_pods_total", &["event", "queue"]),
    ("scheduler_schedule_attempts_total", &["profile", "result"]),
    ("scheduler_scheduling_algorithm_duration_seconds", &[]),
    ("scheduler_scheduling_attempt_duration_seconds", &["profile", "result"]),
    ("scheduler_unschedulable_pods", &["plugin", "profile"]),
];

type Known = BTreeMap<String, BTreeSet<String>>;

/// Name and labels of every series on the metrics page of a Berth that serves TLS from a snapshot.
fn of_berth() -> Known {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let authority = Authority::new();
    authority.issue("berth").write(directory.path());
    std::fs::write(directory.path().join("ca.crt"), authority.pem()).expect("written");
    let file = directory.path().join("berth.yaml");
    let tls = "server: {tls: {certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt}}\n";
    let path = directory.path().display().to_string();
    let tls = ["tls.crt", "tls.key", "ca.crt"]
        .iter()
        .fold(tls.to_owned(), |text, file| text.replace(file, &format!("{path}/{file}")));
    std::fs::write(&file, format!("{CONFIG_HEAD}{tls}")).expect("written");
    let berth = Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()));
    let mut known = Known::new();
    for line in berth.admin("/metrics").body.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let (name, rest) = line.split_at(line.find(['{', ' ']).expect("a name"));
        let labels = rest.split_once('}').map_or("", |(inside, _)| inside.trim_start_matches('{'));
        let labels =
            labels.split("\",").filter_map(|pair| pair.split_once('=')).map(|(label, _)| label.to_owned());
        known.entry(name.to_owned()).or_default().extend(labels);
    }
    known
}

fn all() -> Known {
    let mut known = of_berth();
    for (name, labels) in OF_KUBE_SCHEDULER {
        let labels: BTreeSet<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        for ending in ["", "_bucket", "_sum", "_count"] {
            let mut labels = labels.clone();
            labels.extend((ending == "_bucket").then(|| "le".to_owned()));
            known.insert(format!("{name}{ending}"), labels);
        }
    }
    // What Prometheus itself says of each target.
    known.insert("up".to_owned(), BTreeSet::new());
    for rule in rules() {
        if let Some(name) = rule["record"].as_str() {
            // Recorded by job and instance, which every selector may name anyhow.
            known.insert(name.to_owned(), BTreeSet::new());
        }
    }
    known
}

/// Every selector of every panel, variable and rule, and where it stands.
fn asked() -> Vec<(String, Selector)> {
    let mut texts = Vec::new();
    for (name, dashboard) in dashboards() {
        for panel in panels(&dashboard) {
            texts.extend(
                queries(panel).map(|query| (format!("{name}.json, {}", panel["title"]), query.to_owned())),
            );
        }
        for query in variables(&dashboard).filter_map(|variable| variable["query"].as_str()) {
            let inside = query.strip_prefix("label_values(").and_then(|query| query.rsplit_once(','));
            texts
                .extend(inside.map(|(selector, _)| (format!("{name}.json, variables"), selector.to_owned())));
        }
    }
    for rule in rules() {
        let name = rule["alert"].as_str().or(rule["record"].as_str()).expect("a name");
        texts.push((name.to_owned(), rule["expr"].as_str().expect("an expression").to_owned()));
    }
    texts
        .into_iter()
        .flat_map(|(place, text)| {
            let expr = promql::parse(&text).unwrap_or_else(|error| panic!("{place}: {error}"));
            promql::selectors(&expr).into_iter().map(move |selector| (place.clone(), selector))
        })
        .collect()
}

#[test]
fn every_metric_and_label_that_is_named_exists() {
    let known = all();
    let mut missing = BTreeSet::new();
    for (place, selector) in asked() {
        let Some(metric) = &selector.metric else {
            continue;
        };
        let Some(labels) = known.get(metric) else {
            missing.insert(format!("{metric} ({place})"));
            continue;
        };
        for matcher in
            selector.matchers.iter().filter(|matcher| !["job", "instance"].contains(&&*matcher.name))
        {
            if !labels.contains(&matcher.name) {
                missing.insert(format!("{metric}{{{}}} ({place})", matcher.name));
            }
        }
    }
    assert!(missing.is_empty(), "named and not there: {missing:#?}");
}

#[test]
fn the_list_of_others_metrics_has_nothing_that_nobody_asks_for() {
    let asked: BTreeSet<String> = asked().into_iter().filter_map(|(_, selector)| selector.metric).collect();
    for (name, _) in OF_KUBE_SCHEDULER {
        assert!(asked.iter().any(|metric| metric.starts_with(name)), "nobody asks for {name}");
    }
}

#[test]
fn recorded_series_keep_job_and_instance() {
    for rule in rules() {
        let Some(name) = rule["record"].as_str() else { continue };
        assert!(name.starts_with("job_instance:"), "{name} does not say what it keeps");
        let text = rule["expr"].as_str().expect("an expression");
        let sums = text.matches("sum ").count();
        assert_eq!(sums, text.matches("sum by (job, instance) (").count(), "{name} loses job or instance");
    }
}
