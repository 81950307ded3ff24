//! Accounts with given rights, and their tokens.

use std::path::PathBuf;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::controlplane::ControlPlane;
use crate::fixtures::create;

/// A kubeconfig of a service account that is there.
pub async fn kubeconfig_of(plane: &ControlPlane, namespace: &str, name: &str) -> Result<PathBuf> {
    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client(), namespace);
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}}))?;
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
    let token = answer.status.and_then(|status| status.token).context("the API server made no token")?;
    plane.write_kubeconfig(&format!("kubeconfig-{name}"), &token)
}

/// Makes an account that may do this and nothing else, and returns its kubeconfig.
pub async fn account_with(plane: &ControlPlane, name: &str, rules: &[Value]) -> Result<PathBuf> {
    let client = plane.client();
    let account: ServiceAccount =
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "default"}}))?;
    create(&client, &account).await?;
    let role: ClusterRole = serde_json::from_value(json!({"metadata": {"name": name}, "rules": rules}))?;
    create(&client, &role).await?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({"metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]}))?;
    create(&client, &binding).await?;
    kubeconfig_of(plane, "default", name).await
}
