//! What accounts have to be allowed, and what they are.

use super::finding::{Code, Finding};
use crate::config::Config;
use crate::model::Kind;

/// Something that an account may be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Permission {
    /// The API group; empty for the core group.
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    pub(super) subresource: &'static str,
    pub(super) verb: &'static str,
    /// Where; `None` everywhere.
    pub(super) namespace: Option<String>,
    /// Of which object; empty for all.
    pub(super) object: &'static str,
    /// What it is needed for.
    pub(super) purpose: Purpose,
}

/// What a permission is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To follow a kind.
    Follow(Kind),
    /// To bind pods.
    Bind,
    /// To write plans to pods.
    Nominate,
    /// To post Events.
    Tell,
    /// To find out who asks for the admin endpoints.
    Review,
    /// To keep Services of groups.
    Serve,
    /// To be the one of several Berths that does.
    Lead,
    /// To install Berth.
    Install,
    /// To give away, with a role or its binding, rights that one may not have.
    GiveAway,
    /// To install Berth with Helm.
    InstallWithHelm,
}

impl Permission {
    const fn new(
        group: &'static str,
        resource: &'static str,
        subresource: &'static str,
        verb: &'static str,
        purpose: Purpose,
    ) -> Self {
        Self { group, resource, subresource, verb, namespace: None, object: "", purpose }
    }

    fn inside(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// As it stands in a role: `create pods/binding`, `list nodes`, `watch jobs.batch`; with the name of the object, if one is
    /// meant.
    pub(super) fn name(&self) -> String {
        let Self { group, resource, subresource, verb, object, .. } = self;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let dot = if group.is_empty() { "" } else { "." };
        let space = if object.is_empty() { "" } else { " " };
        format!("{verb} {resource}{dot}{group}{slash}{subresource}{space}{object}")
    }
}

/// All that Berth needs by its configuration. `installed` tells of the kinds that not every cluster has which ones this one
/// has; off loopback the admin port has to find out who asks.
pub(super) fn needed_to_run(
    config: &Config,
    installed: impl Fn(Kind) -> bool,
    admin_off_loopback: bool,
) -> Vec<Permission> {
    let recogniser = config.replica_groups.recogniser();
    let is_followed = |kind: &Kind| recogniser.reads(*kind) && (kind.is_built_in() || installed(*kind));
    let follow = |kind: Kind| {
        ["list", "watch"]
            .map(|verb| Permission::new(kind.group(), kind.plural(), "", verb, Purpose::Follow(kind)))
    };
    let mut needed: Vec<_> = Kind::ALL.into_iter().filter(is_followed).flat_map(follow).collect();
    needed.push(Permission::new("", "pods", "binding", "create", Purpose::Bind));
    if config.replica_groups.nominate && recogniser.listens() {
        needed.push(Permission::new("", "pods", "status", "patch", Purpose::Nominate));
    }
    needed.push(Permission::new("", "events", "", "create", Purpose::Tell));
    let services = &config.replica_groups.services;
    if services.enabled {
        let serve = |verb| Permission::new("", "services", "", verb, Purpose::Serve);
        needed.extend(["create", "patch", "delete"].map(serve));
        let lead = |verb| Permission {
            namespace: Some(services.lease.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            ..Permission::new("coordination.k8s.io", "leases", "", verb, Purpose::Lead)
        };
        needed.push(lead("create"));
    }
    if admin_off_loopback {
        let review = |group, resource| Permission::new(group, resource, "", "create", Purpose::Review);
        needed.push(review("authentication.k8s.io", "tokenreviews"));
        needed.push(review("authorization.k8s.io", "subjectaccessreviews"));
    }
    needed
}

/// What somebody needs who installs Berth into a namespace.
pub(super) fn needed_to_install(namespace: &str) -> Vec<Permission> {
    let create = |group, resource| Permission::new(group, resource, "", "create", Purpose::Install);
    let rbac = "rbac.authorization.k8s.io";
    let give = |verb, resource, object| {
        let permission = Permission::new(rbac, resource, "", verb, Purpose::GiveAway);
        Permission { object, ..permission }
    };
    let everywhere =
        [create("", "namespaces"), create(rbac, "clusterroles"), create(rbac, "clusterrolebindings")];
    let inside = [
        create("", "serviceaccounts"),
        create("", "configmaps"),
        create("", "services"),
        create("apps", "deployments"),
        create("policy", "poddisruptionbudgets"),
        create(rbac, "roles"),
        create(rbac, "rolebindings"),
        Permission::new("", "secrets", "", "create", Purpose::InstallWithHelm),
    ];
    let inside = inside.map(|permission| permission.inside(namespace));
    // kube-scheduler's port finds out there who calls it.
    let for_scheduler = [
        create(rbac, "rolebindings").inside("kube-system"),
        give("bind", "roles", "extension-apiserver-authentication-reader").inside("kube-system"),
        give("bind", "clusterroles", "system:kube-scheduler"),
        give("bind", "clusterroles", "system:volume-scheduler"),
    ];
    let role = give("escalate", "clusterroles", "berth");
    everywhere.into_iter().chain(inside).chain(for_scheduler).chain([role]).collect()
}

/// What the API server says about a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reviewed {
    pub(super) permission: Permission,
    pub(super) allowed: bool,
}

/// What is missing.
pub(super) fn judge(reviewed: &[Reviewed], account: &str) -> Vec<Finding> {
    let missing = reviewed.iter().filter(|reviewed| !reviewed.allowed).map(|reviewed| &reviewed.permission);
    let of_reviews = |permission: &&Permission| permission.purpose == Purpose::Review;
    let others = missing.clone().filter_map(|permission| lacks(permission, account));
    others.chain(lacks_reviews(&missing.filter(of_reviews).collect::<Vec<_>>(), account)).collect()
}

/// So it is as shipped: nobody has to be let in to the admin endpoints. There is one finding for all of it, for one component
/// brings all of it.
fn lacks_reviews(missing: &[&Permission], account: &str) -> Option<Finding> {
    let names: Vec<_> = missing.iter().map(|permission| permission.name()).collect();
    (!names.is_empty()).then(|| {
        let reason = format!(
            "{account} may not {}: the admin port refuses everything but /livez and /readyz, so nobody can scrape metrics",
            names.join(" and ")
        );
        let remedy = "if somebody is to scrape them, add the component admin-access to the kustomization, or set \
                      adminAccess.enabled: true in the chart; docs/install.md says what else that takes (Metrics)";
        Finding::warning(Code::PermissionMissing, reason, remedy)
    })
}

fn lacks(permission: &Permission, account: &str) -> Option<Finding> {
    let name = permission.name();
    let place = permission.namespace.as_ref().map_or(String::new(), |namespace| format!(" in {namespace}"));
    let reason = |consequence: &str| format!("{account} may not {name}{place}: {consequence}");
    let missing = Code::PermissionMissing;
    Some(match permission.purpose {
        Purpose::Follow(kind) => {
            let consequence = format!("Berth cannot follow {}, and is not ready", kind.label());
            Finding::error(missing, reason(&consequence), grant(&name))
        }
        Purpose::Bind => Finding::error(missing, reason("Berth cannot bind any pod"), grant(&name)),
        Purpose::Nominate => Finding::error(
            missing,
            reason(
                "plans of groups are not written to their members, and room that is given up is not announced",
            ),
            format!("{}, or set replicaGroups.nominate: false", grant(&name)),
        ),
        // Berth places pods all the same.
        Purpose::Tell => Finding::warning(
            missing,
            reason("Berth cannot say on pods how their groups are doing"),
            grant(&name),
        ),
        Purpose::Serve => Finding::error(
            missing,
            reason("groups that ask for a Service of their own get none, or none that is kept up"),
            format!("{}, or set replicaGroups.services.enabled: false", grant(&name)),
        ),
        Purpose::Lead => Finding::error(
            missing,
            reason("no Berth keeps the Services of groups"),
            format!("{}, or set replicaGroups.services.enabled: false", grant(&name)),
        ),
        Purpose::Review => return None,
        Purpose::Install => Finding::error(
            Code::MayNotInstall,
            reason("the manifests cannot be applied"),
            "ask an administrator of the cluster, or become one",
        ),
        Purpose::GiveAway => Finding::error(
            Code::MayNotInstall,
            reason("nor has it all the rights of that role itself, and nobody can give away more than that"),
            format!("ask an administrator of the cluster, or have \"{name}\" granted"),
        ),
        Purpose::InstallWithHelm => Finding::warning(
            Code::MayNotInstall,
            reason("Helm keeps there what it has installed, so helm install fails"),
            "install with kubectl apply -k, which does without, or ask an administrator of the cluster",
        ),
    })
}

fn grant(name: &str) -> String {
    format!("add a rule for \"{name}\" to the ClusterRole that is bound to the account")
}

#[cfg(test)]
mod tests {
    use super::{Permission, needed_to_install, needed_to_run};
    use crate::config::{Config, parse};

    const HEAD: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";

    fn names(permissions: &[Permission]) -> Vec<String> {
        permissions.iter().map(Permission::name).collect()
    }

    #[test]
    fn what_is_needed_follows_from_the_configuration() {
        let all = names(&needed_to_run(&Config::default(), |_| true, true));
        for name in [
            "list nodes",
            "watch nodes",
            "list replicasets.apps",
            "watch storageclasses.storage.k8s.io",
            "list leaderworkersets.leaderworkerset.x-k8s.io",
            "list jobs.batch",
            "create pods/binding",
            "patch pods/status",
            "create events",
            "create tokenreviews.authentication.k8s.io",
        ] {
            assert!(all.contains(&name.to_owned()), "{name} in {all:?}");
        }
        let without = names(&needed_to_run(&Config::default(), |_| false, false));
        for name in
            ["list leaderworkersets.leaderworkerset.x-k8s.io", "create tokenreviews.authentication.k8s.io"]
        {
            assert!(!without.contains(&name.to_owned()), "{name} in {without:?}");
        }
        assert!(without.contains(&"list jobs.batch".to_owned()), "every cluster has them");
        let no_groups = parse(&format!("{HEAD}replicaGroups: {{sources: []}}\n")).expect("a configuration");
        let few = names(&needed_to_run(&no_groups, |_| true, false));
        for name in ["list persistentvolumes", "patch pods/status", "list jobs.batch"] {
            assert!(!few.contains(&name.to_owned()), "{name} in {few:?}");
        }
        let one_source = parse(&format!("{HEAD}replicaGroups: {{sources: [LeaderWorkerSet]}}\n"));
        let some = names(&needed_to_run(&one_source.expect("a configuration"), |_| true, false));
        for name in ["list leaderworkersets.leaderworkerset.x-k8s.io", "list persistentvolumes"] {
            assert!(some.contains(&name.to_owned()), "{name} in {some:?}");
        }
        for name in ["list jobs.batch", "watch rayclusters.ray.io"] {
            assert!(all.contains(&name.replace("watch", "list")), "{name} in {all:?}");
            assert!(!some.contains(&name.to_owned()), "{name} in {some:?}");
        }
    }

    #[test]
    fn services_of_groups_need_rights_only_where_they_are_kept() {
        let on =
            format!("{HEAD}replicaGroups: {{services: {{enabled: true, lease: {{namespace: here}}}}}}\n");
        let on = needed_to_run(&parse(&on).expect("a configuration"), |_| true, false);
        let off = names(&needed_to_run(&Config::default(), |_| true, false));
        for name in
            ["create services", "patch services", "delete services", "create leases.coordination.k8s.io"]
        {
            assert!(names(&on).contains(&name.to_owned()), "{name}");
            assert!(!off.contains(&name.to_owned()), "{name}");
        }
        let lease = on.iter().find(|permission| permission.resource == "leases").expect("a lease");
        assert_eq!(lease.namespace.as_deref(), Some("here"));
    }

    #[test]
    fn who_installs_needs_roles_and_workloads() {
        let names = names(&needed_to_install("berth-system"));
        assert!(names.contains(&"create clusterroles.rbac.authorization.k8s.io".to_owned()), "{names:?}");
        assert!(names.contains(&"create deployments.apps".to_owned()), "{names:?}");
        let role = "bind clusterroles.rbac.authorization.k8s.io system:kube-scheduler".to_owned();
        assert!(names.contains(&role), "{names:?}");
    }
}
