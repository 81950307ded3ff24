//! Group objects are found when their API is installed, also later, and are never required.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::controlplane::{ControlPlane, Options};
use crate::scheduling::{berth, ensure_cache_is_right};

const GROUP: &str = "leaderworkerset.x-k8s.io";

#[tokio::test]
async fn a_group_api_that_is_installed_later_is_found() -> Result<()> {
    ControlPlane::run(Options { kubelets: false, ..Options::default() }, async |plane| {
        let client = plane.client();
        let berth = plane.start_berth(berth()).await?;
        let definition: CustomResourceDefinition = serde_json::from_value(json!({
            "metadata": {"name": format!("leaderworkersets.{GROUP}")},
            "spec": {"group": GROUP, "scope": "Namespaced",
                "names": {"plural": "leaderworkersets", "singular": "leaderworkerset", "kind": "LeaderWorkerSet"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}
        }))?;
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions.create(&PostParams::default(), &definition).await?;

        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "LeaderWorkerSet"));
        let sets: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
        let set: DynamicObject = serde_json::from_value(json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "LeaderWorkerSet", "metadata": {"name": "llm"},
            "spec": {"leaderWorkerTemplate": {"size": 4}}
        }))?;
        let deadline = Instant::now() + Duration::from_secs(100);
        while sets.create(&PostParams::default(), &set).await.is_err() {
            ensure!(Instant::now() < deadline, "the API is not served");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        while berth.metric_sum("berth_cache_objects", &[("kind", "LeaderWorkerSet")]).await? < 1.0 {
            ensure!(Instant::now() < deadline, "the set is not found");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        ensure_cache_is_right(&berth, 1).await
    })
    .await
}
