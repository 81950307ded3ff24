//! A control plane whose API server asks Berth about new pods, as the shipped webhooks say.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Options, Scheduler};
use crate::fixtures::{BindingsWatch, LeaderWorkerSetBuilder, RACK, create, create_all, node, pod};
use crate::scheduling::{SHIPPED, berth};

/// The label and the taint of node groups.
pub const POOL: &str = "example.com/node-group";
pub const MINUTE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(200);
const WEBHOOKS: &str = include_str!("../../../deploy/kustomize/components/admission/webhooks.yaml");

pub struct Bed {
    pub client: Client,
    pub watch: BindingsWatch,
    pub berth: BerthProcess,
    _scheduler: Scheduler,
}

impl Bed {
    /// Plays a story on a cluster of these nodes. Berth's configuration gets these sections.
    pub async fn play(
        nodes: Vec<Node>,
        sections: &str,
        story: impl AsyncFnOnce(&mut Bed) -> Result<()>,
    ) -> Result<()> {
        let options = Options { leader_worker_sets: true, ..Options::default() };
        ControlPlane::run(options, async |plane| {
            let mut bed = Self::open(plane, &nodes, sections).await?;
            Box::pin(story(&mut bed)).await?;
            bed.watch.ensure_bound_once()
        })
        .await
    }

    async fn open(plane: &ControlPlane, nodes: &[Node], sections: &str) -> Result<Self> {
        let client = plane.client();
        create_all(&client, nodes).await?;
        let identity = plane.authority().issue(plane.workspace(), "berth")?;
        let authority = plane.authority().certificate.clone();
        let config = plane.workspace().write(
            "berth.yaml",
            &format!(
                "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n{sections}server:\n  tls:\n    certFile: {}\n    keyFile: {}\n",
                identity.certificate.display(),
                identity.key.display(),
            ),
        )?;
        let berth = plane.start_berth(berth().config(&config).with_admission()).await?;
        let secured = SHIPPED
            .replace("# enableHTTPS: true", "enableHTTPS: true")
            .replace("# tlsConfig:", "tlsConfig:")
            .replace("#   caFile: /etc/kubernetes/pki/ca.crt", &format!("  caFile: {}", authority.display()));
        let url = format!("https://{}", berth.verbs_address());
        let scheduler = plane.start_scheduler(&secured, Some(&url)).await?;
        let address = berth.admission_address().context("Berth answers no reviews")?;
        let webhook = format!("https://{address}/mutate");
        register(&client, &webhook, &std::fs::read(&authority)?).await?;
        let watch = BindingsWatch::start(&client).await?;
        let bed = Self { client, watch, berth, _scheduler: scheduler };
        bed.until_asked().await?;
        Ok(bed)
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    /// A pod as it would be created, without being created.
    pub async fn dry_run(&self, pod: &Pod) -> kube::Result<Pod> {
        let params = PostParams { dry_run: true, ..PostParams::default() };
        self.pods().create(&params, pod).await
    }

    /// kube-apiserver takes note of webhooks a moment after they were written.
    async fn until_asked(&self) -> Result<()> {
        let probe = pod("probe").annotation("berth.dev/group", "probe");
        let probe = probe.annotation("berth.dev/replicaUniqueNodeSelector", POOL).build();
        let began = Instant::now();
        loop {
            let made = self.dry_run(&probe).await?;
            if selector(&made).is_some() {
                return Ok(());
            }
            ensure!(began.elapsed() < MINUTE, "kube-apiserver does not ask Berth");
            sleep(POLL).await;
        }
    }

    /// Waits until there are so many pods of a set, and returns them by name.
    pub async fn until_created(&self, count: usize) -> Result<Vec<Pod>> {
        let began = Instant::now();
        loop {
            let pods = self.pods().list(&ListParams::default()).await?.items;
            if pods.len() >= count {
                return Ok(pods);
            }
            let names: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
            ensure!(began.elapsed() < MINUTE, "{count} pods were to come, there are {names:?}");
            sleep(POLL).await;
        }
    }

    /// Waits for what Berth says of a pod.
    pub async fn until_told(&self, pod: &str, part: &str) -> Result<()> {
        let events: Api<Event> = Api::default_namespaced(self.client.clone());
        let began = Instant::now();
        loop {
            let about = events.list(&ListParams::default()).await?.items;
            let about: Vec<_> = about
                .into_iter()
                .filter(|event| event.involved_object.name.as_deref() == Some(pod))
                .filter_map(|event| event.message)
                .collect();
            if about.iter().any(|message| message.contains(part)) {
                return Ok(());
            }
            ensure!(began.elapsed() < MINUTE, "nobody says {part:?} of {pod}, but {about:?}");
            sleep(POLL).await;
        }
    }

    /// Waits until a gauge of Berth's has a value.
    pub async fn until_measured(&self, name: &str, labels: &[(&str, &str)], expected: f64) -> Result<()> {
        let began = Instant::now();
        loop {
            let value = self.berth.metric_sum(name, labels).await?;
            if value == expected {
                return Ok(());
            }
            ensure!(began.elapsed() < MINUTE, "{name}{labels:?} is {value}, not {expected}");
            sleep(POLL).await;
        }
    }

    /// Where the pods that exist are bound to, by their names.
    pub fn placements(&self) -> BTreeMap<String, String> {
        let placed = self.watch.placements().into_iter();
        placed.map(|(pod, node)| (pod.trim_start_matches("default/").to_owned(), node)).collect()
    }

    /// So many nodes for one group only, as an autoscaler adds them.
    pub async fn add_node_group(&self, owner: &str, rack: &str, count: usize) -> Result<()> {
        create_all(&self.client, &node_group(owner, rack, count)).await
    }
}

/// Nodes for one group only, with room for one member each.
pub fn node_group(owner: &str, rack: &str, count: usize) -> Vec<Node> {
    let one = |at: usize| {
        let node = node(&format!("{owner}-node-{at}")).rack(rack).cpu("8");
        node.label(POOL, owner).taint(POOL, owner, "NoSchedule").build()
    };
    (0..count).map(one).collect()
}

/// A set whose members ask for nodes of their own.
pub fn asking(set: LeaderWorkerSetBuilder) -> LeaderWorkerSetBuilder {
    set.pods(|pod| {
        pod.cpu("6")
            .annotation("leaderworkerset.sigs.k8s.io/replicaUniqueNodeSelector", POOL)
            .annotation("leaderworkerset.sigs.k8s.io/replicaUniqueTolerationKey", POOL)
            .annotation("leaderworkerset.sigs.k8s.io/replicaUniqueTolerationEffect", "NoSchedule")
    })
}

pub fn exclusive(set: LeaderWorkerSetBuilder) -> LeaderWorkerSetBuilder {
    set.annotation("leaderworkerset.sigs.k8s.io/exclusive-topology", RACK)
}

pub fn selector(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_selector.as_ref()?.get(POOL).map(String::as_str)
}

/// The value and effect of the toleration for node groups.
pub fn toleration(pod: &Pod) -> Vec<(&str, &str)> {
    let all = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
    let own = all.filter(|toleration| toleration.key.as_deref() == Some(POOL));
    own.map(|toleration| {
        (toleration.value.as_deref().unwrap_or_default(), toleration.effect.as_deref().unwrap_or_default())
    })
    .collect()
}

/// The webhooks that Berth ships, but for where they point to.
async fn register(client: &Client, url: &str, authority: &[u8]) -> Result<()> {
    let mut shipped: Value = serde_saphyr::from_str(WEBHOOKS)?;
    let Some(webhooks) = shipped["webhooks"].as_array_mut() else { bail!("no webhooks") };
    for webhook in webhooks {
        webhook["clientConfig"] = json!({"url": url, "caBundle": BASE64_STANDARD.encode(authority)});
    }
    let configuration: MutatingWebhookConfiguration = serde_json::from_value(shipped)?;
    create(client, &configuration).await.map(drop)
}
