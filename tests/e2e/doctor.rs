//! `berth doctor` against a real API server: permissions by its own authorizer, labels of its own nodes.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{create, create_all, nodes, pod};

const ACCOUNT: &str = "system:serviceaccount:berth-system:berth";

/// Everything that Berth needs, but for Services, which it may list and not watch.
fn role() -> Value {
    let read = ["list", "watch"];
    json!({"metadata": {"name": "berth"}, "rules": [
        {"apiGroups": [""], "verbs": read, "resources": ["nodes", "pods", "namespaces", "replicationcontrollers",
            "persistentvolumeclaims", "persistentvolumes", "limitranges", "resourcequotas"]},
        {"apiGroups": [""], "verbs": ["list"], "resources": ["services"]},
        {"apiGroups": ["apps"], "verbs": read, "resources": ["replicasets", "statefulsets"]},
        {"apiGroups": ["batch"], "verbs": read, "resources": ["jobs"]},
        {"apiGroups": ["storage.k8s.io"], "verbs": read, "resources": ["storageclasses"]},
        {"apiGroups": ["scheduling.k8s.io"], "verbs": read, "resources": ["priorityclasses"]},
        {"apiGroups": [""], "verbs": ["create"], "resources": ["pods/binding", "events"]},
        {"apiGroups": [""], "verbs": ["patch"], "resources": ["pods/status"]}]})
}

/// The reasons of what is found, each with its code.
fn findings(output: &Output) -> Result<Vec<(String, String)>> {
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let checks = report["checks"].as_array().context("checks")?;
    let findings = checks.iter().flat_map(|check| check["findings"].as_array().into_iter().flatten());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(findings.map(|finding| (text(&finding["code"]), text(&finding["reason"]))).collect())
}

/// Creating roles and bindings takes more than `create`: the verbs `bind` and `escalate`, or all the rights that are given away.
async fn ensure_what_is_given_away_is_looked_at(
    client: &Client,
    doctor: &impl AsyncFn(&[&str]) -> std::io::Result<Output>,
) -> Result<()> {
    let rbac = "rbac.authorization.k8s.io";
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let creates =
        json!([{"apiGroups": ["", "apps", "policy", rbac], "resources": ["*"], "verbs": ["create"]}]);
    // kube-scheduler's role has verbs of its own, about devices.
    let of_scheduler = Api::<ClusterRole>::all(client.clone()).get("system:kube-scheduler").await?;
    let mut has_all = vec![json!({"apiGroups": ["*"], "resources": ["*"], "verbs": verbs})];
    for rule in of_scheduler.rules.into_iter().flatten() {
        has_all.push(serde_json::to_value(rule)?);
    }
    let has_all = json!(has_all);
    let gives = json!([creates[0], {"apiGroups": [rbac], "resources": ["roles", "clusterroles"], "verbs": ["bind", "escalate"]}]);
    for (user, rules, missing) in [("creates", creates, 4), ("has-all", has_all, 0), ("gives", gives, 0)] {
        let role = json!({"metadata": {"name": user}, "rules": rules});
        create::<ClusterRole>(client, &serde_json::from_value(role)?).await?;
        let binding = json!({"metadata": {"name": user}, "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": user}});
        create::<ClusterRoleBinding>(client, &serde_json::from_value(binding)?).await?;
        let output = doctor(&["--as", user]).await?;
        let found = findings(&output)?;
        let is_about_gifts = |(code, reason): &(String, String)| {
            code == "MayNotInstall" && (reason.contains(" bind ") || reason.contains(" escalate "))
        };
        ensure!(found.iter().all(is_about_gifts) && found.len() == missing, "{user}: {found:?}");
    }
    let left = Api::<ClusterRole>::all(client.clone()).list(&ListParams::default()).await?;
    ensure!(left.iter().all(|role| !role.name_any().contains("dry-run")), "doctor has made a role");
    Ok(())
}

#[tokio::test]
async fn missing_permissions_and_labels_are_found() -> Result<()> {
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let client = plane.client();
        let doctor = async |more: &[&str]| {
            let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_berth"));
            command
                .args(["doctor", "--pre", "-o", "json", "--kubeconfig"])
                .arg(plane.kubeconfig())
                .args(more);
            command.output().await
        };
        create_all(&client, &nodes(3).zones(3).racks(3).build()).await?;
        create::<ClusterRole>(&client, &serde_json::from_value(role())?).await?;
        let binding = json!({"metadata": {"name": "berth"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "berth"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "berth-system", "name": "berth"}]});
        create::<ClusterRoleBinding>(&client, &serde_json::from_value(binding)?).await?;

        let good = doctor(&[]).await?;
        ensure!(good.status.code() == Some(0) && findings(&good)?.is_empty(), "{:?}", findings(&good)?);
        let stranger = doctor(&["--as", "nobody"]).await?;
        let refused = findings(&stranger)?;
        ensure!(stranger.status.code() == Some(1), "{refused:?}");
        ensure!(
            refused.iter().all(|(code, _)| code == "MayNotInstall") && refused.len() == 16,
            "{refused:?}"
        );
        ensure_what_is_given_away_is_looked_at(&client, &doctor).await?;

        // Berth itself is not there; what its account may do is known all the same.
        let installed = async |more: &[&str]| {
            let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_berth"));
            command.args(["doctor", "-o", "json", "--server", "http://127.0.0.1:1", "--as", ACCOUNT]);
            command.arg("--kubeconfig").arg(plane.kubeconfig()).args(more).output().await
        };
        create(
            &client,
            &pod("m")
                .annotation("berth.dev/group", "g")
                .annotation("berth.dev/required-topology", "example.com/block")
                .build(),
        )
        .await?;
        let found = findings(&installed(&[]).await?)?;
        let codes: Vec<_> = found.iter().map(|(code, _)| code.as_str()).collect();
        ensure!(codes == ["AdminUnreachable", "PermissionMissing", "TopologyLabelUnknown"], "{found:?}");
        ensure!(found[1].1.contains(&format!("{ACCOUNT} may not watch services")), "{found:?}");
        ensure!(found[2].1.contains("example.com/block"), "{found:?}");
        Ok(())
    })
    .await
}
