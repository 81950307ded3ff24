//! The pod to place: its labels, its owners, and at times constraints of its own.

use serde_json::{Value, json};

use super::constraints;
use super::vocabulary::{NAMESPACES, pod_labels};
use crate::support::differential::demands;
use crate::support::random::Rng;

/// Owners by this name are looked for; others of that name are around.
pub const OWNERS: [&str; 2] = ["own", "other"];

pub fn pod(rng: &mut Rng) -> Value {
    let namespace = rng.weighted(&[(80, NAMESPACES[0]), (20, NAMESPACES[1])]);
    let mut metadata = json!({"name": "incoming", "namespace": namespace, "uid": "incoming"});
    let labels = pod_labels(rng);
    if !labels.is_empty() || rng.chance(50) {
        metadata["labels"] = labels.into();
    }
    let owners = owner_references(rng);
    if !owners.is_empty() {
        metadata["ownerReferences"] = owners.into();
    }
    let mut spec = demands::spec(rng);
    match rng.below(20) {
        0 => {
            let mut own = constraints::constraint(rng);
            own["labelSelector"] = json!({"matchLabels": metadata["labels"]});
            spec["topologySpreadConstraints"] = json!([own]);
        }
        // An empty list is none.
        1 => spec["topologySpreadConstraints"] = json!([]),
        _ => {}
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
}

/// At most one controller; the API server does not admit two.
fn owner_references(rng: &mut Rng) -> Vec<Value> {
    let mut owners = Vec::new();
    if rng.chance(75) {
        let (api_version, kind) = rng.weighted(&[
            (22, ("v1", "ReplicationController")),
            (28, ("apps/v1", "ReplicaSet")),
            (24, ("apps/v1", "StatefulSet")),
            (4, ("apps/v1", "Deployment")),
            (4, ("batch/v1", "Job")),
            (3, ("extensions/v1beta1", "ReplicaSet")),
            (3, ("apps/v1beta1", "StatefulSet")),
            (3, ("apps.example.com/v1", "StatefulSet")),
            (2, ("v1", "ReplicaSet")),
            (2, ("apps/v1", "ReplicationController")),
            // The core group may be spelt out as an empty one.
            (2, ("/v1", "ReplicationController")),
        ]);
        let controller = rng.weighted(&[(88, Some(true)), (6, Some(false)), (6, None)]);
        owners.push(owner_reference(rng, api_version, kind, controller));
    }
    if rng.chance(20) {
        let (api_version, kind) =
            rng.pick(&[("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("v1", "ConfigMap")]);
        let controller = rng.pick(&[Some(false), None]);
        let other = owner_reference(rng, api_version, kind, controller);
        owners.insert(rng.below(owners.len() + 1), other);
    }
    owners
}

fn owner_reference(rng: &mut Rng, api_version: &str, kind: &str, controller: Option<bool>) -> Value {
    let name = rng.weighted(&[(85, OWNERS[0]), (10, OWNERS[1]), (5, "gone")]);
    // Of another UID than the object by that name: an owner that was deleted and made anew.
    let mut owner = json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": "owner"});
    if let Some(controller) = controller {
        owner["controller"] = controller.into();
    }
    owner
}
