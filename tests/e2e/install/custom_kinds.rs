//! Kinds that others install, as far as it takes to accept objects of them.

use anyhow::Result;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::preemption::play::until;

/// Defines a kind without saying what is in it.
pub async fn define(client: &Client, group: &str, kind: &str, plural: &str) -> Result<()> {
    let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&crd));
    let name = format!("{plural}.{group}");
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}}))?;
    definitions.create(&PostParams::default(), &definition).await?;
    let objects = objects(client, group, kind, plural);
    until(&format!("{name} to be served"), async || {
        Ok(objects.list(&kube::api::ListParams::default()).await.is_ok())
    })
    .await
}

/// The objects of a kind in the namespace `default`.
pub fn objects(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    Api::namespaced_with(client.clone(), "default", &resource)
}
