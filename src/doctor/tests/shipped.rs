//! What `deploy` ships, each way of installing as it is when nothing was changed.

use serde_json::Value;

use super::{Facts, Reviewed, examine, found, good, needed_to_run, running, server};
use crate::config::parse;
use crate::doctor::facts::Asked;
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::Warning;
use crate::doctor::permissions::Permission;
use crate::doctor::running::{Metrics, Refusal};

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
            has("apiGroups", permission.group)
                && has("resources", &resource)
                && has("verbs", permission.verb)
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
