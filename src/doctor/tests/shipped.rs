//! What `deploy` ships, each way of installing as it is when nothing was changed.

use serde_json::Value;

use super::{Facts, Reviewed, examine, found, good, needed_to_run, running, scheduler, server};
use crate::config::parse;
use crate::doctor::facts::Asked;
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};
use crate::doctor::permissions::Permission;
use crate::doctor::running::{Metrics, Refusal};
use crate::doctor::schedulers::{SchedulerPod, Whose};

const RIGHTS: &str = include_str!("../../../deploy/kustomize/base/cluster-role.yaml");
const REVIEWS: &str = include_str!("../../../deploy/kustomize/components/admin-access/reviews.yaml");

/// One way of installing.
struct Way {
    name: &'static str,
    scheduler_config: &'static str,
    config: &'static str,
    /// The name that its pods give.
    scheduler: &'static str,
    admin_off_loopback: bool,
}

const WAYS: [Way; 3] = [
    Way {
        name: "(a) second scheduler",
        scheduler_config: include_str!(
            "../../../deploy/kustomize/components/second-scheduler/kube-scheduler-config.yaml"
        ),
        config: include_str!("../../../deploy/kustomize/components/second-scheduler/berth.yaml"),
        scheduler: "berth",
        admin_off_loopback: true,
    },
    Way {
        name: "(b) static pod",
        scheduler_config: super::SHIPPED,
        config: include_str!("../../../deploy/static-pod/berth-config.yaml"),
        scheduler: "default-scheduler",
        admin_off_loopback: false,
    },
    Way {
        name: "(c) remote",
        scheduler_config: include_str!(
            "../../../deploy/kustomize/components/remote/kube-scheduler-config.yaml"
        ),
        config: include_str!("../../../deploy/kustomize/components/remote/berth.yaml"),
        scheduler: "berth",
        admin_off_loopback: true,
    },
];

/// Whether the roles in these manifests allow it.
fn is_allowed(manifests: &[&str], permission: &Permission) -> bool {
    let resource = match permission.subresource {
        "" => permission.resource.to_owned(),
        subresource => format!("{}/{subresource}", permission.resource),
    };
    let documents = manifests.iter().flat_map(|manifest| manifest.split("\n---\n"));
    let read = |document| serde_saphyr::from_str::<Value>(document).expect("YAML");
    documents.map(read).any(|role| {
        role["rules"].as_array().into_iter().flatten().any(|rule| {
            let has = |field: &str, name: &str| {
                rule[field].as_array().is_some_and(|names| names.iter().any(|listed| listed == name))
            };
            has("apiGroups", permission.group) && has("resources", &resource) && has("verbs", permission.verb)
        })
    })
}

/// A cluster with what is shipped, and with the roles in these manifests.
fn installed(way: &Way, roles: &[&str]) -> Facts {
    let mut facts = good();
    facts.scheduler_config = Some(way.scheduler_config.to_owned());
    facts.config = parse(way.config).expect(way.name);
    let needed = needed_to_run(&facts.config, |_| true, way.admin_off_loopback);
    let reviewed = needed.into_iter().map(|permission| {
        let allowed = is_allowed(roles, &permission);
        Reviewed { permission, allowed }
    });
    server(&mut facts).permissions = Asked::Got(reviewed.collect());
    super::cluster(&mut facts).schedulers_of_groups = [(way.scheduler.to_owned(), 2)].into();
    running(&mut facts).is_guarded = Some(way.admin_off_loopback);
    if way.admin_off_loopback {
        let what = "GET /metrics at 127.0.0.1:8889".to_owned();
        let refusal = Refusal { what, status: 401, said: "send a token".to_owned(), had_token: false };
        running(&mut facts).metrics = Metrics::Refused(refusal);
    }
    facts
}

#[test]
fn what_is_shipped_has_no_error_and_who_may_scrape_is_all_that_is_left_open() {
    for way in &WAYS {
        let report = examine(&installed(way, &[RIGHTS]));
        let open = [(Code::AdminRefused, Warning), (Code::PermissionMissing, Warning)];
        let open = if way.admin_off_loopback { &open[..] } else { &[] };
        assert_eq!(found(&report), open, "{}: {report}", way.name);
        for finding in report.findings().filter(|finding| finding.code == Code::PermissionMissing) {
            for part in ["admin-access", "adminAccess.enabled"] {
                assert!(finding.remedy.contains(part), "{}", finding.remedy);
            }
            assert!(finding.reason.contains("tokenreviews") && finding.reason.contains("subjectaccess"));
        }
        let report = examine(&installed(way, &[RIGHTS, REVIEWS]));
        assert_eq!(found(&report), open.get(..1).unwrap_or_default(), "{}: {report}", way.name);
    }
}

/// Clusters in which the files may be looked at: kubeadm's static pod, pods of the kube-scheduler that is installed with Berth, both,
/// and neither.
fn clusters() -> [(&'static str, Vec<SchedulerPod>); 4] {
    let static_pod = scheduler(Whose::ControlPlane, "v1.36.4", true);
    let in_pod = scheduler(Whose::Berth, "v1.36.4", false);
    [
        ("kubeadm, before", vec![static_pod.clone()]),
        ("kubeadm, afterwards", vec![static_pod.clone(), in_pod.clone(), in_pod.clone(), static_pod]),
        ("managed, before", Vec::new()),
        ("managed, afterwards", vec![in_pod.clone(), in_pod]),
    ]
}

#[test]
fn what_is_shipped_is_good_wherever_kube_scheduler_runs() {
    for way in &WAYS {
        for (name, pods) in clusters() {
            let mut facts = installed(way, &[RIGHTS, REVIEWS]);
            running(&mut facts).metrics = Metrics::Page(super::metrics(""));
            server(&mut facts).schedulers = pods;
            let report = examine(&facts);
            assert_eq!(found(&report), [], "{} on {name}: {report}", way.name);
        }
    }
}

/// As docs/install.md says of a control plane that calls the remote Berth: an address, and not the name.
#[test]
fn the_name_of_the_service_is_an_error_in_the_configuration_of_a_static_pod() {
    let [.., remote] = WAYS;
    let text = remote
        .scheduler_config
        .replace("resourceName: berth", "")
        .replace("schedulerName: berth", "schedulerName: default-scheduler");
    for (name, pods, severity) in
        [("kubeadm", clusters()[1].1.clone(), Error), ("managed", clusters()[3].1.clone(), Warning)]
    {
        let mut facts = installed(&remote, &[RIGHTS, REVIEWS]);
        facts.scheduler_config = Some(text.clone());
        running(&mut facts).metrics = Metrics::Page(super::metrics(""));
        super::cluster(&mut facts).schedulers_of_groups.clear();
        server(&mut facts).schedulers = pods;
        let report = examine(&facts);
        assert_eq!(found(&report), [(Code::ClusterDnsName, severity)], "{name}: {report}");
    }
}

#[test]
fn no_shipped_configuration_of_kube_scheduler_is_left_out() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
            if is_yaml && text.contains("\nkind: KubeSchedulerConfiguration\n") && !text.contains("{{") {
                assert!(WAYS.iter().any(|way| way.scheduler_config == text), "{}", path.display());
            }
        }
    }
}
