//! The API server, permissions, nodes.

use super::{Case, case, cluster, config, names, scheduler, server};
use crate::config::Config;
use crate::doctor::facts::{Asked, Facts};
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};
use crate::doctor::permissions::{Permission, Purpose, Reviewed, needed_to_install, needed_to_run};
use crate::doctor::schedulers::Whose;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("no API server", Code::ApiServerUnreachable, Error, |f| {
            f.api_server = Asked::Failed("https://127.0.0.1:6443/: refused".to_owned());
        }),
        case("an old API server", Code::KubernetesUntried, Warning, |f| {
            server(f).version = "v1.28.0".to_owned();
            server(f).schedulers = Vec::new();
        }),
        case(
            "an API server of which only the kube-scheduler was tried",
            Code::KubernetesUntried,
            Warning,
            |f| {
                server(f).version = "v1.35.8".to_owned();
                server(f).schedulers = vec![scheduler(Whose::ControlPlane, "v1.35.8", true)];
            },
        ),
        case("a new API server", Code::KubernetesUntried, Warning, |f| {
            server(f).version = "v1.50.0".to_owned();
            server(f).schedulers = Vec::new();
        }),
        case("a newer kube-scheduler", Code::SchedulerSkew, Error, |f| {
            server(f).schedulers.push(scheduler(Whose::Berth, "1.37.1", false));
        }),
        case("a much older kube-scheduler", Code::SchedulerSkew, Error, |f| {
            server(f).schedulers = vec![scheduler(Whose::ControlPlane, "1.34.0", true)];
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
        case("no binding in kube-system", Code::MayNotInstall, Error, |f| lacks(f, "create", "kube-system")),
        case("a role of others that may not be bound", Code::MayNotInstall, Error, |f| {
            lacks(f, "bind", "kube-system");
        }),
        case("rights that may not be given away", Code::MayNotInstall, Error, |f| lacks(f, "escalate", "")),
        case("nowhere for Helm to remember", Code::MayNotInstall, Warning, |f| {
            let is_for_helm = |permission: &Permission| permission.purpose == Purpose::InstallWithHelm;
            refuse(f, is_for_helm);
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

/// Who installs may do everything but this.
fn refuse(f: &mut Facts, is_refused: impl Fn(&Permission) -> bool) {
    f.pre = true;
    let needed = needed_to_install("berth-system").into_iter();
    let reviewed: Vec<_> =
        needed.map(|permission| Reviewed { allowed: !is_refused(&permission), permission }).collect();
    assert_eq!(reviewed.iter().filter(|reviewed| !reviewed.allowed).count(), 1);
    server(f).permissions = Asked::Got(reviewed);
}

fn lacks(f: &mut Facts, verb: &str, namespace: &str) {
    refuse(f, |permission| {
        permission.verb == verb && permission.namespace.as_deref().unwrap_or_default() == namespace
    });
}

/// Each permission by itself.
pub(super) fn permission_cases() -> Vec<Case> {
    let needed = needed_to_run(&Config::default(), |_| true, true);
    let lacking = |at: usize| {
        case("one permission less", Code::PermissionMissing, Error, |f| {
            let Asked::Got(reviewed) = &mut server(f).permissions else { unreachable!("it was asked") };
            reviewed[at].allowed = false;
        })
    };
    let mut cases: Vec<_> = (0..needed.len()).map(lacking).collect();
    for (case, permission) in cases.iter_mut().zip(&needed) {
        if ["events", "tokenreviews", "subjectaccessreviews"].contains(&permission.resource) {
            case.severity = Warning;
        }
    }
    cases
}
