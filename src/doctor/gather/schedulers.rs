//! The kube-schedulers that run as pods.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::Client;
use kube::api::{Api, ListParams};

use crate::doctor::schedulers::{SchedulerPod, Whose};
use crate::doctor::versions::Version;

/// By which labels they are found: as kubeadm labels the control plane's, and as those are that are installed with Berth.
const LABELS: [(Whose, &str); 2] =
    [(Whose::ControlPlane, "component=kube-scheduler"), (Whose::Berth, "app.kubernetes.io/name=berth")];

/// Looks for them. Who may not see them learns nothing, and little depends on it.
pub(super) async fn schedulers(client: &Client) -> Vec<SchedulerPod> {
    let pods = Api::<Pod>::all(client.clone());
    let mut schedulers = Vec::new();
    for (whose, labels) in LABELS {
        let Ok(found) = pods.list(&ListParams::default().labels(labels)).await else { continue };
        let specs = found.items.into_iter().filter_map(|pod| pod.spec);
        schedulers.extend(specs.filter_map(|spec| scheduler(whose, &spec)));
    }
    schedulers
}

/// The kube-scheduler in a pod, if there is one.
fn scheduler(whose: Whose, spec: &PodSpec) -> Option<SchedulerPod> {
    let mut images = spec.containers.iter().filter_map(|container| container.image.as_deref());
    let tag = images.find_map(scheduler_tag)?;
    let host_network = spec.host_network.unwrap_or(false);
    Some(SchedulerPod { whose, version: Version::parse(tag), host_network })
}

/// The tag of an image, empty if it has none, if it is one of kube-scheduler.
fn scheduler_tag(image: &str) -> Option<&str> {
    let image = image.split('@').next()?;
    let name = image.rsplit('/').next()?;
    let (name, tag) = name.split_once(':').unwrap_or((name, ""));
    name.contains("kube-scheduler").then_some(tag)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Whose, scheduler, scheduler_tag};
    use crate::doctor::versions::Version;

    #[test]
    fn images_of_kube_scheduler_are_known_by_their_name_and_may_have_a_tag() {
        for (image, expected) in [
            ("registry.example/kube-scheduler:v1.36.4", Some("v1.36.4")),
            ("registry.example:5000/a/kube-scheduler-amd64:v1.35.0@sha256:0", Some("v1.35.0")),
            ("registry.example:5000/kube-scheduler@sha256:0", Some("")),
            ("kube-scheduler", Some("")),
            ("registry.example/berth:v1.2.3", None),
            ("registry.example/kube-scheduler/tools:v1.2.3", None),
        ] {
            assert_eq!(scheduler_tag(image), expected, "{image}");
        }
    }

    #[test]
    fn pods_tell_whether_they_are_on_their_hosts_network() {
        let seen = |spec: Value| scheduler(Whose::Berth, &serde_json::from_value(spec).expect("a pod"));
        let berth = json!({"name": "berth", "image": "berth:0.1.0"});
        let kube_scheduler = json!({"name": "kube-scheduler", "image": "r.example/kube-scheduler:v1.36.4"});
        assert_eq!(
            seen(json!({"hostNetwork": true, "containers": [berth]})),
            None,
            "no kube-scheduler in it"
        );
        for (host_network, expected) in [(json!(true), true), (json!(false), false), (Value::Null, false)] {
            let found = seen(json!({"hostNetwork": host_network, "containers": [berth, kube_scheduler]}));
            let found = found.expect("a kube-scheduler");
            assert_eq!((found.host_network, found.whose), (expected, Whose::Berth));
            assert_eq!(found.version, Version::parse("v1.36.4"));
        }
    }
}
