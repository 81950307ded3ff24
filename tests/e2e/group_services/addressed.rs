//! What members of a real set are told when they are created, by the webhook that is shipped.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep};

use super::bed::{ASKS, give_rights};
use super::exact::difference;
use crate::fixtures::{create, leader_worker_set};
use crate::leader_worker_sets::racks::rack;
use crate::own_nodes::bed::{Bed, MINUTE};

const ON: &str = "replicaGroups: {services: {enabled: true}}\n";
const VARIABLE: &str = "LWS_LEADER_ADDRESS";

#[tokio::test]
async fn members_find_each_other_by_name_in_the_service_of_their_group() -> Result<()> {
    Bed::play(rack("only", 6), ON, async |bed| {
        give_rights(&bed.client).await?;
        let set = leader_worker_set("llm").replicas(2).size(3);
        create(&bed.client, &set.pods(|pod| pod.annotation(ASKS.0, ASKS.1).cpu("10m")).build()).await?;
        for pod in bed.until_created(6).await? {
            let name = pod.name_any();
            let service = &name[..5];
            let subdomain = pod.spec.as_ref().and_then(|spec| spec.subdomain.as_deref());
            ensure!(subdomain == Some(service), "{name} is in {subdomain:?}");
            let expected = format!("{service}.{service}.default");
            let values = values(&pod);
            ensure!(
                !values.is_empty() && values.iter().all(|value| *value == expected),
                "{name}: {values:?}"
            );
        }
        bed.watch.wait_until_bound(6, MINUTE).await?;
        let began = Instant::now();
        while let Some(wrong) = difference(&bed.client, Some(2)).await? {
            ensure!(began.elapsed() < MINUTE, "{wrong}");
            sleep(Duration::from_millis(200)).await;
        }
        for service in ["llm-0", "llm-1"] {
            let expected =
                BTreeSet::from([service.to_owned(), format!("{service}-1"), format!("{service}-2")]);
            let named = host_names(&bed.client, service).await?;
            ensure!(named == expected, "{service} knows {named:?}");
        }
        Ok(())
    })
    .await
}

/// The variable in each container.
fn values(pod: &Pod) -> Vec<String> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let variables = containers.flat_map(|container| container.env.iter().flatten());
    variables
        .filter(|variable| variable.name == VARIABLE)
        .filter_map(|variable| variable.value.clone())
        .collect()
}

/// The host names that DNS would know in a Service.
async fn host_names(client: &Client, service: &str) -> Result<BTreeSet<String>> {
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    let own = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    let slices = slices.list(&own).await?.items;
    let endpoints = slices.into_iter().filter_map(|slice| slice.endpoints).flatten();
    endpoints.map(|endpoint| endpoint.hostname.context("an endpoint without a host name")).collect()
}
