//! One round: groups arrive all at once, and everybody is bound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};

use super::bound::BoundPods;
use crate::berth_process::BerthProcess;
use crate::controlplane::{ControlPlane, Scheduler, scheduler_config};
use crate::fixtures::{RACK, create_all, pod};
use crate::preemption::setup::Setup;

pub const SIZE: usize = 8;
const GROUP: &str = "example.com/group";
const LIMIT: Duration = Duration::from_mins(5);
const CALM: Duration = Duration::from_millis(500);

/// Who keeps groups together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// kube-scheduler, with its default configuration; the pods have required affinity to their group.
    InTree,
    /// Berth, with the configuration that it ships; the pods are annotated.
    Berth,
}

/// When kube-scheduler sees the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As they are created: the API server creates and kube-scheduler places at the same time, on the same cores.
    AsTheyCome,
    /// All have come while kube-scheduler was held up.
    AllAtOnce,
}

/// What was measured.
pub struct Round {
    who: Who,
    when: When,
    pods: usize,
    /// Until the last binding, from the first creation, or from when kube-scheduler goes on.
    took: Duration,
    /// How long creating the pods took.
    creation: Duration,
    cpu: Cpu,
    pub whole: usize,
    pub broken: usize,
    told: String,
}

/// Time on a processor.
#[derive(Clone, Copy)]
struct Cpu {
    scheduler: Duration,
    berth: Duration,
    control_plane: Duration,
}

/// The processes that are measured.
struct Running<'a> {
    plane: &'a ControlPlane,
    berth: Option<BerthProcess>,
    scheduler: Scheduler,
}

impl Round {
    pub async fn play(plane: &ControlPlane, who: Who, when: When, groups: usize) -> Result<Self> {
        let client = plane.client();
        let setup = match who {
            Who::InTree => Setup { scheduler: scheduler_config::PLAIN.to_owned(), berth: None },
            Who::Berth => Setup::shipped(""),
        };
        let (berth, scheduler) = setup.start(plane).await?;
        let mut running = Running { plane, berth, scheduler };
        // Both have their caches warm, and have met each other.
        arrive(&client, &members(who, "warm", 1)).await?;

        let pods = members(who, "group", groups);
        let (before, took, creation) = match when {
            When::AsTheyCome => {
                let before = running.cpu()?;
                let (took, creation) = arrive(&client, &pods).await?;
                (before, took, creation)
            }
            When::AllAtOnce => running.catch_up(&client, &pods).await?,
        };
        let cpu = running.cpu()?.since(before);
        let (whole, broken) = count_groups(&client).await?;
        let told = running.told().await?;
        drop(running);
        clear(&client).await?;
        Ok(Self { who, when, pods: pods.len(), took, creation, cpu, whole, broken, told })
    }

    /// Time on a processor for each pod, in milliseconds: of all that runs, and of the API server with its database.
    pub fn cpu_per_pod(&self) -> (f64, f64) {
        let Cpu { scheduler, berth, control_plane } = self.cpu;
        let per_pod = |time: Duration| time.as_secs_f64() * 1e3 / self.pods as f64;
        (per_pod(scheduler + berth + control_plane), per_pod(control_plane))
    }

    /// Pods per second.
    pub fn rate(&self) -> f64 {
        self.pods as f64 / self.took.as_secs_f64()
    }
}

impl Display for Round {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Cpu { scheduler, berth, control_plane } = self.cpu;
        let per_pod = |time: Duration| time.as_secs_f64() * 1e3 / self.pods as f64;
        write!(
            f,
            "{:<8} {:?}: {:.0} pods/s: {} pods in {:.2?}, created within {:.2?}; {} groups whole, {} in pieces; CPU per pod: \
             kube-scheduler {:.2} ms, Berth {:.2} ms, API server and etcd {:.2} ms{}",
            format!("{:?}", self.who),
            self.when,
            self.rate(),
            self.pods,
            self.took,
            self.creation,
            self.whole,
            self.broken,
            per_pod(scheduler),
            per_pod(berth),
            per_pod(control_plane),
            self.told,
        )
    }
}

impl Running<'_> {
    fn cpu(&self) -> Result<Cpu> {
        let berth = self.berth.as_ref().map_or(Ok(Duration::ZERO), BerthProcess::cpu_time)?;
        let (scheduler, control_plane) = (self.scheduler.process.cpu_time()?, self.plane.cpu_time()?);
        Ok(Cpu { scheduler, berth, control_plane })
    }

    /// kube-scheduler is held up until all pods have come and everything else has calmed down.
    async fn catch_up(&mut self, client: &Client, pods: &[Pod]) -> Result<(Cpu, Duration, Duration)> {
        let bound = BoundPods::from_now(client).await?;
        self.scheduler.process.signal("STOP")?;
        let began = Instant::now();
        create_all(client, pods).await?;
        let creation = began.elapsed();
        let mut last = self.cpu()?;
        loop {
            tokio::time::sleep(CALM).await;
            let now = self.cpu()?;
            let Cpu { berth, control_plane, .. } = now.since(last);
            if berth + control_plane < CALM / 10 {
                break;
            }
            ensure!(began.elapsed() < LIMIT, "it does not calm down");
            last = now;
        }
        let before = self.cpu()?;
        let began = Instant::now();
        self.scheduler.process.signal("CONT")?;
        bound.wait_for(pods.len(), LIMIT).await?;
        Ok((before, began.elapsed(), creation))
    }

    /// What Berth counted.
    async fn told(&self) -> Result<String> {
        let Some(berth) = &self.berth else { return Ok(String::new()) };
        let metrics = berth.metrics().await?;
        let calls = |verb| metrics.sum("berth_request_duration_seconds_count", &[("verb", verb)]);
        let nominations = |result| metrics.sum("berth_nominations_total", &[("result", result)]);
        Ok(format!(
            "; {} filter calls, {} prioritize calls, nominations: {} written, {} superseded, {} taken back, {} failed; \
             {} calls without a decision",
            calls("filter"),
            calls("prioritize"),
            nominations("written"),
            nominations("superseded"),
            nominations("taken_back"),
            nominations("failed"),
            metrics.sum("berth_undecided_total", &[]),
        ))
    }
}

impl Cpu {
    fn since(self, before: Self) -> Self {
        Self {
            scheduler: self.scheduler.saturating_sub(before.scheduler),
            berth: self.berth.saturating_sub(before.berth),
            control_plane: self.control_plane.saturating_sub(before.control_plane),
        }
    }
}

/// The same pods for both, but for what keeps them together.
fn members(who: Who, name: &str, groups: usize) -> Vec<Pod> {
    let member = |group: usize, index: usize| {
        let group = format!("{name}-{group}");
        let pod = pod(&format!("{group}-{index}")).cpu("2").label(GROUP, &group);
        let pod = match who {
            Who::InTree => pod.beside_equals(GROUP, RACK),
            Who::Berth => pod
                .annotation("berth.dev/group", &group)
                .annotation("berth.dev/group-size", &SIZE.to_string())
                .annotation("berth.dev/group-index", &index.to_string())
                .annotation("berth.dev/required-topology", RACK),
        };
        pod.build()
    };
    (0..groups).flat_map(|group| (0..SIZE).map(move |index| member(group, index))).collect()
}

/// Creates pods and waits until all are bound: how long that took, and how long creating them did.
async fn arrive(client: &Client, pods: &[Pod]) -> Result<(Duration, Duration)> {
    let bound = BoundPods::from_now(client).await?;
    let began = Instant::now();
    let create = async {
        create_all(client, pods).await?;
        Ok(began.elapsed())
    };
    let (created, ()) = tokio::try_join!(create, bound.wait_for(pods.len(), LIMIT))?;
    Ok((began.elapsed(), created))
}

/// How many groups are whole, and how many are in pieces.
async fn count_groups(client: &Client) -> Result<(usize, usize)> {
    let nodes = Api::<Node>::all(client.clone()).list_metadata(&ListParams::default()).await?;
    let racks: BTreeMap<String, String> = nodes
        .into_iter()
        .filter_map(|node| Some((node.name_any(), node.labels().get(RACK)?.clone())))
        .collect();
    let mut groups: BTreeMap<String, Vec<Option<&String>>> = BTreeMap::new();
    for pod in Api::<Pod>::default_namespaced(client.clone()).list(&ListParams::default()).await? {
        let group = pod.labels().get(GROUP).context("a pod of somebody else")?.clone();
        let node = pod.spec.and_then(|spec| spec.node_name);
        groups.entry(group).or_default().push(node.and_then(|node| racks.get(&node)));
    }
    groups.retain(|name, _| !name.starts_with("warm"));
    let is_whole = |members: &&Vec<Option<&String>>| {
        let racks: BTreeSet<_> = members.iter().collect();
        members.len() == SIZE && racks.len() == 1 && !racks.contains(&None)
    };
    let whole = groups.values().filter(is_whole).count();
    Ok((whole, groups.len() - whole))
}

/// Nothing of this round is left for the next.
async fn clear(client: &Client) -> Result<()> {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let at_once = DeleteParams::default().grace_period(0);
    pods.delete_collection(&at_once, &ListParams::default()).await?;
    let deadline = Instant::now() + LIMIT;
    while !pods.list_metadata(&ListParams::default().limit(1)).await?.items.is_empty() {
        ensure!(Instant::now() < deadline, "pods do not go");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
