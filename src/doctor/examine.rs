//! From facts to a report: which checks are made, in which order, and which are skipped.

use std::collections::BTreeMap;

use super::facts::{ApiServerFacts, Asked, ConfigSource, Facts};
use super::finding::{Code, Finding};
use super::metrics_page::Page;
use super::report::{Category, Report};
use super::uses::Uses;
use super::{
    certificates, extender, permissions, profiles, reach, running, scheduler_config, schedulers, topology,
    versions,
};

/// Judges all facts.
pub(super) fn examine(facts: &Facts) -> Report {
    let mut report = Report::default();
    configuration(facts, &mut report);
    scheduler(facts, &mut report);
    tls(facts, &mut report);
    reached(facts, &mut report);
    berth(facts, &mut report);
    api_server(facts, &mut report);
    report
}

fn configuration(facts: &Facts, report: &mut Report) {
    let (category, name) = (Category::BerthConfiguration, "the configuration is accepted");
    match &facts.config_source {
        ConfigSource::File => report.add(category, name, Vec::new()),
        ConfigSource::Running => {
            report.add_with_detail(
                category,
                name,
                Vec::new(),
                "as the Berth that runs says (/configz)".to_owned(),
            );
        }
        ConfigSource::Refused(reason) => {
            let remedy = "correct the file; berth check-config says whether it is good, docs/configuration.md what there is";
            report.add(category, name, vec![Finding::error(Code::ConfigurationInvalid, reason, remedy)]);
        }
        ConfigSource::Defaults => {
            report.skip(
                category,
                name,
                "no --config, and no Berth that shows its own (/configz); the defaults are assumed",
            );
        }
    }
}

fn scheduler(facts: &Facts, report: &mut Report) {
    let category = Category::SchedulerConfiguration;
    let first = "it is a KubeSchedulerConfiguration";
    let Some(text) = &facts.scheduler_config else {
        return report.skip(category, first, "no --scheduler-config FILE was given");
    };
    let scheduler = match scheduler_config::parse(text) {
        Ok(scheduler) => scheduler,
        Err(finding) => return report.add(category, first, vec![finding]),
    };
    let config = &facts.config;
    let cluster = facts.api_server.got().and_then(|server| server.cluster.got());
    let none = BTreeMap::new();
    let asked = cluster.map_or(&none, |cluster| &cluster.schedulers_of_groups);
    let is_file = matches!(facts.config_source, ConfigSource::File);
    let serves_tls = is_file.then(|| config.server.tls.is_some());
    let pods = facts.api_server.got().map_or(&[][..], |server| &server.schedulers);
    report.add(category, first, scheduler.unknown_fields.clone());
    report.add(category, "one extender points to Berth", extender::which(&scheduler));
    if let [(_, ours), ..] = scheduler.extenders_for_berth().as_slice() {
        let address = extender::address(ours, config, serves_tls, schedulers::network(&scheduler, pods));
        report.add_with_detail(category, "its address is usable and safe", address, ours.url_prefix.clone());
        report.add(category, "its verbs are all there", extender::verbs(ours, Uses::of(config)));
        report.add(category, "Berth is asked about all pods, by the names of nodes", extender::scope(ours));
        report.add(
            category,
            "a Berth that fails or is slow does the least harm",
            extender::failure(ours, config),
        );
    }
    report.add(
        category,
        "pods are spread by default, and by one of both",
        profiles::spreading(&scheduler, config),
    );
    report.add(category, "no more nodes are scored than needed", profiles::sampling(&scheduler, config));
    report.add(category, "profiles serve the pods that are there", profiles::names(&scheduler, asked));
}

fn tls(facts: &Facts, report: &mut Report) {
    let (category, name) = (Category::Certificates, "certificates and keys are good, and fit each other");
    match &facts.tls {
        Asked::Skipped(why) | Asked::Failed(why) => report.skip(category, name, why),
        Asked::Got(tls) => report.add(category, name, certificates::judge(tls, facts.now)),
    }
}

fn reached(facts: &Facts, report: &mut Report) {
    let (category, name) = (Category::Reachability, "Berth answers a call as kube-scheduler makes it");
    match &facts.reached {
        Asked::Skipped(why) | Asked::Failed(why) => report.skip(category, name, why),
        Asked::Got(reached) => {
            report.add_with_detail(category, name, reach::judge(reached), reached.url.clone());
        }
    }
}

fn berth(facts: &Facts, report: &mut Report) {
    let (category, first) = (Category::RunningBerth, "its admin endpoints answer");
    let running = match &facts.running {
        Asked::Skipped(why) => return report.skip(category, first, why),
        Asked::Failed(why) => {
            let remedy = "start Berth, or say with --server where its admin endpoints are; --pre before it is installed";
            return report.add(category, first, vec![Finding::error(Code::AdminUnreachable, why, remedy)]);
        }
        Asked::Got(running) => running,
    };
    report.add(category, first, Vec::new());
    report.add(category, "it is ready", running::readiness(running));
    report.add(category, "its metrics can be read", running::metrics(&running.metrics));
    let mut by_metrics = |name, judge: &dyn Fn(Page<'_>) -> Vec<Finding>| match running.page() {
        Some(page) => report.add(category, name, judge(page)),
        None => report.skip(category, name, "its metrics could not be read"),
    };
    by_metrics("its cache is current", &running::freshness);
    by_metrics("its configuration is the one in the file", &running::configuration);
    by_metrics("its calls end well, and bind is among them", &|page| {
        running::calls(page, is_told_to_bind(facts))
    });
    by_metrics("its certificates are good", &|page| running::certificates(page, facts.now));
    by_metrics("it is of this version", &running::version);
}

/// Whether kube-scheduler's configuration is known, and makes Berth bind.
fn is_told_to_bind(facts: &Facts) -> bool {
    let scheduler = facts.scheduler_config.as_deref().and_then(|text| scheduler_config::parse(text).ok());
    scheduler.is_some_and(|scheduler| {
        scheduler.extenders_for_berth().iter().any(|(_, ours)| !ours.bind_verb.is_empty())
    })
}

fn api_server(facts: &Facts, report: &mut Report) {
    let (category, first) = (Category::ApiServer, "it answers");
    let server = match &facts.api_server {
        Asked::Skipped(why) => return report.skip(category, first, why),
        Asked::Failed(why) => {
            let remedy = "check the kubeconfig's server, and whether the API server runs";
            return report.add(
                category,
                first,
                vec![Finding::error(Code::ApiServerUnreachable, why, remedy)],
            );
        }
        Asked::Got(server) => server,
    };
    let ApiServerFacts { version, schedulers: pods, account, permissions, cluster } = server;
    report.add_with_detail(category, first, Vec::new(), version.clone());
    report.add(category, "Berth has been tried with its version", versions::api_server(version));
    let (tried, skew) = ("Berth has been tried with kube-scheduler's version", "kube-scheduler goes with it");
    let seen = schedulers::versions(pods);
    if seen.is_empty() {
        let why = "no kube-scheduler of a known version runs as a pod that can be seen";
        report.skip(category, tried, why);
        report.skip(category, skew, why);
    } else {
        report.add(category, tried, versions::schedulers(&seen));
        let shown: Vec<_> = seen.iter().map(ToString::to_string).collect();
        report.add_with_detail(category, skew, versions::skew(version, &seen), shown.join(", "));
    }
    let name = if facts.pre { "Berth can be installed" } else { "Berth may do what it has to" };
    match permissions {
        Asked::Skipped(why) => report.skip(Category::Permissions, name, why),
        Asked::Failed(why) => report.add(Category::Permissions, name, vec![unreadable(why)]),
        Asked::Got(reviewed) => {
            let findings = permissions::judge(reviewed, account);
            let detail = format!("{} permissions of {account}", reviewed.len());
            report.add_with_detail(Category::Permissions, name, findings, detail);
        }
    }
    let name = "nodes have the labels that topologies ask for";
    match cluster {
        Asked::Skipped(why) => report.skip(Category::Topology, name, why),
        Asked::Failed(why) => report.add(Category::Topology, name, vec![unreadable(why)]),
        Asked::Got(cluster) => {
            let detail = format!("{} nodes", cluster.nodes.len());
            let findings = topology::judge(cluster, &facts.config);
            report.add_with_detail(Category::Topology, name, findings, detail);
        }
    }
}

fn unreadable(why: &str) -> Finding {
    Finding::error(Code::ClusterUnreadable, why, "run doctor with an account that may read the cluster")
}
