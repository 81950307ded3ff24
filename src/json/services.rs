//! Services: their selectors, and what is kept of those that Berth made.

use std::sync::Arc;

use super::shapes::{Meta, Owner as OwnerObject, ServiceObject, ServiceSpec};
use super::{Interner, key_of};
use crate::model::managed_service::{MADE_AS, MADE_FOR, MANAGED_BY};
use crate::model::{ManagedService, ObjectKey, Owner, Service};

pub(super) fn read(object: &ServiceObject, interner: &Interner) -> Service {
    let key = key_of(&object.metadata, interner);
    let none = ServiceSpec::default();
    let spec = object.spec.as_ref().unwrap_or(&none);
    let pairs = spec.selector.iter().flat_map(|selector| &selector.0).map(|(k, v)| (k, v));
    let selector = interner.labels(pairs);
    let managed = managed(&key, &object.metadata, spec, interner).map(Arc::new);
    Service { key, selector, managed }
}

/// What is kept of one that Berth made. All marks have to be there: whoever takes one away, or makes a copy, takes the
/// Service over.
fn managed(key: &ObjectKey, meta: &Meta, spec: &ServiceSpec, interner: &Interner) -> Option<ManagedService> {
    let labels = meta.labels.as_ref().map(|labels| &labels.0)?;
    labels.iter().find(|(label, value)| (&**label, &**value) == MANAGED_BY)?;
    let annotation = |wanted: &str| {
        let all = meta.annotations.as_ref().map(|annotations| &annotations.0)?;
        all.iter().find(|(name, _)| name == wanted).map(|(_, value)| value)
    };
    annotation(MADE_AS).filter(|made_as| **made_as == key.to_string())?;
    let owner = |owner: &OwnerObject| Owner {
        api_version: interner.name(&owner.api_version),
        kind: interner.name(&owner.kind),
        name: interner.name(&owner.name),
        uid: owner.uid.as_deref().unwrap_or_default().into(),
    };
    Some(ManagedService {
        made_for: annotation(MADE_FOR)?.as_str().into(),
        uid: meta.uid.as_deref()?.into(),
        version: meta.resource_version.as_deref()?.into(),
        owners: meta.owner_references.iter().flatten().map(owner).collect(),
        is_headless: spec.cluster_ip.as_deref() == Some("None")
            && spec.kind.as_deref().is_none_or(|kind| kind == "ClusterIP"),
        publishes_not_ready: spec.publish_not_ready_addresses == Some(true),
        terminating: meta.deletion_timestamp.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use crate::fixtures::object;
    use crate::model::{ManagedService, Object};

    fn managed(metadata: &str, spec: &str) -> Option<ManagedService> {
        let text = format!(r#"{{"apiVersion":"v1","kind":"Service","metadata":{metadata},"spec":{spec}}}"#);
        let Object::Service(service) = object(&text) else { panic!("a Service") };
        service.managed.as_deref().cloned()
    }

    fn metadata(namespace: &str, name: &str, more: &str) -> String {
        format!(
            r#"{{"namespace":"{namespace}","name":"{name}","uid":"u","resourceVersion":"7",
                "labels":{{"app.kubernetes.io/managed-by":"berth"}},
                "annotations":{{"berth.dev/service-of":"LeaderWorkerSet/llm/0",
                "berth.dev/service-identity":"ns/llm-0"}}{more}}}"#
        )
    }

    #[test]
    fn only_what_berth_made_is_managed_and_no_copy_of_it() {
        let headless = r#"{"clusterIP":"None","publishNotReadyAddresses":true}"#;
        let owner = r#","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"llm-0","uid":"p"}]"#;
        let made = managed(&metadata("ns", "llm-0", owner), headless).expect("it is ours");
        assert_eq!((&*made.made_for, &*made.uid, &*made.version), ("LeaderWorkerSet/llm/0", "u", "7"));
        assert!(made.is_headless && made.publishes_not_ready && !made.terminating);
        assert_eq!(made.owners.iter().map(|owner| &*owner.uid).collect::<Vec<_>>(), ["p"]);

        let plain = managed(&metadata("ns", "llm-0", r#","deletionTimestamp":"now""#), "{}");
        let plain = plain.expect("still ours, whatever somebody made of it");
        assert!(!plain.is_headless && !plain.publishes_not_ready && plain.terminating);
        let external = r#"{"type":"ExternalName","clusterIP":"None"}"#;
        assert!(!managed(&metadata("ns", "llm-0", ""), external).expect("ours").is_headless);

        for (name, copy) in [
            ("another name", metadata("ns", "llm-1", "")),
            ("another namespace", metadata("other", "llm-0", "")),
            ("another manager", metadata("ns", "llm-0", "").replace(r#":"berth""#, r#":"Helm""#)),
            ("a mark is gone", metadata("ns", "llm-0", "").replace("service-of", "forgotten")),
        ] {
            assert_eq!(managed(&copy, headless), None, "{name}");
        }
    }
}
