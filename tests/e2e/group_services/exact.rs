//! Which Services there are, and whom they select, against the pods that there are.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

const LWS: &str = "leaderworkerset.sigs.k8s.io";

/// What is known of a group from its pods.
#[derive(Default)]
struct Group {
    leader: Option<String>,
    pods: BTreeSet<String>,
    /// Pods that have an address.
    reachable: BTreeSet<String>,
}

/// The Services that bear Berth's mark.
pub async fn managed(client: &Client) -> Result<Vec<Service>> {
    let marked = ListParams::default().labels("app.kubernetes.io/managed-by=berth");
    Ok(Api::default_namespaced(client.clone()).list(&marked).await?.items)
}

/// The first thing that is not as it is to be; so many groups there are to be, if anybody knows.
pub async fn difference(client: &Client, expected: Option<usize>) -> Result<Option<String>> {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let groups = groups(&pods.list(&ListParams::default().labels(&format!("{LWS}/name"))).await?.items);
    if expected.is_some_and(|expected| expected != groups.len()) {
        return Ok(Some(format!("{} groups instead of {expected:?}", groups.len())));
    }
    let services = managed(client).await?;
    let mut seen = BTreeSet::new();
    for service in &services {
        let name = service.name_any();
        let made_for = service.annotations().get("berth.dev/service-of").cloned().unwrap_or_default();
        let Some(group) = groups.get(&made_for) else {
            return Ok(Some(format!("{name} is for {made_for:?}")));
        };
        if !seen.insert(made_for.clone()) {
            return Ok(Some(format!("{made_for} has two Services")));
        }
        let plain = made_for.trim_start_matches("LeaderWorkerSet/").replace('/', "-");
        if !name.starts_with(&plain) {
            return Ok(Some(format!("{name} is the Service of {made_for}")));
        }
        let spec = service.spec.clone().unwrap_or_default();
        if spec.cluster_ip.as_deref() != Some("None") || spec.publish_not_ready_addresses != Some(true) {
            return Ok(Some(format!("{name} is not headless, or hides who is not ready")));
        }
        let owners: Vec<_> = service.owner_references().iter().map(|owner| owner.uid.clone()).collect();
        if owners.iter().collect::<Vec<_>>() != group.leader.iter().collect::<Vec<_>>() {
            return Ok(Some(format!("{name} goes with {owners:?}, and the leader is {:?}", group.leader)));
        }
        let endpoints = endpoints(client, &name).await?;
        if endpoints != group.pods || group.reachable != group.pods {
            return Ok(Some(format!("{name} has {endpoints:?}, and the group {:?}", group.pods)));
        }
    }
    let missing = groups.keys().find(|group| !seen.contains(*group));
    Ok(missing.map(|group| format!("{group} has no Service")))
}

fn groups(pods: &[Pod]) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for pod in pods {
        let label = |name: &str| pod.labels().get(&format!("{LWS}/{name}")).cloned().unwrap_or_default();
        let name = format!("LeaderWorkerSet/{}/{}", label("name"), label("group-index"));
        let group = groups.entry(name).or_default();
        let uid = pod.uid().unwrap_or_default();
        if label("worker-index") == "0" {
            group.leader = Some(uid.clone());
        }
        if pod.status.as_ref().is_some_and(|status| status.pod_ip.is_some()) {
            group.reachable.insert(uid.clone());
        }
        group.pods.insert(uid);
    }
    groups
}

/// The UIDs of the pods that kube-controller-manager found for a Service.
async fn endpoints(client: &Client, service: &str) -> Result<BTreeSet<String>> {
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    let own = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    let slices = slices.list(&own).await?.items;
    let endpoints = slices.into_iter().filter_map(|slice| slice.endpoints).flatten();
    Ok(endpoints.filter_map(|endpoint| endpoint.target_ref?.uid).collect())
}
