//! Default spreading in a burst: Berth against kube-scheduler's own plugin, in the same run.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;

use crate::controlplane::{ControlPlane, Options};
use crate::fixtures::{BindingsWatch, RACK, create, create_all, deployment, nodes, pods, service};
use crate::progress::report;
use crate::recorder::Recorder;
use crate::scheduling::{SHIPPED, berth, ensure_cache_is_right};

const MINUTE: Duration = Duration::from_mins(1);
const ROUNDS: usize = 3;
const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";
const PHYSICAL_HOST: &str = "example.com/physical-host";
/// Every node is looked at, by both sides. In a sample the best node is often missing: where a burst then ends is a draw,
/// and two draws cannot be compared exactly.
const EVERY_NODE: &str = "percentageOfNodesToScore: 100\n";
const IN_TREE: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// Who spreads.
#[derive(Clone, Copy)]
enum Who<'a> {
    /// kube-scheduler, with these arguments for its plugin, if not the default ones.
    InTree(&'a str),
    /// Berth, with this `topologySpread` section, if not the default one.
    Berth(&'a str),
}

/// How a burst ended, and how bad it was on the way.
#[derive(Debug)]
struct Outcome {
    last: BTreeMap<&'static str, usize>,
    worst: BTreeMap<&'static str, usize>,
    took: Duration,
}

/// The difference between the fullest and the emptiest domain of a key.
struct Skew {
    domain_of: HashMap<String, String>,
    pods: HashMap<String, usize>,
}

impl Skew {
    fn new(nodes: &[Node], key: &str) -> Self {
        let domain = |node: &Node| {
            let name = node.metadata.name.clone()?;
            Some((name, node.metadata.labels.as_ref()?.get(key)?.clone()))
        };
        let domain_of: HashMap<_, _> = nodes.iter().filter_map(domain).collect();
        let pods = domain_of.values().map(|domain| (domain.clone(), 0)).collect();
        Self { domain_of, pods }
    }

    /// Takes in a placement and tells the skew then.
    fn place(&mut self, node: &str) -> Result<usize> {
        let domain = self.domain_of.get(node).with_context(|| format!("{node} has no domain"))?;
        *self.pods.entry(domain.clone()).or_default() += 1;
        let most = self.pods.values().max().copied().unwrap_or(0);
        Ok(most - self.pods.values().min().copied().unwrap_or(0))
    }
}

/// `count` pods of one Service on 500 nodes in 3 zones and 25 racks, created at once.
async fn burst(who: Who<'_>, count: usize) -> Result<Outcome> {
    let mut outcome = None;
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        let nodes = nodes(500).zones(3).racks(25).build();
        create_all(&client, &nodes).await?;
        create(&client, &service("web")).await?;
        let mut processes = None;
        let _scheduler = match who {
            Who::InTree(args) => plane.start_scheduler(&format!("{IN_TREE}{EVERY_NODE}{args}"), None).await?,
            Who::Berth(section) => {
                let config = plane.workspace().write("berth.yaml", &berth_config(section))?;
                let berth = plane.start_berth(berth().config(&config)).await?;
                let config = format!("{SHIPPED}{EVERY_NODE}");
                let scheduler = plane.start_scheduler(&config, Some(&berth.url())).await?;
                processes = Some(berth);
                scheduler
            }
        };
        let bindings = BindingsWatch::start(&client).await?;
        let started = Instant::now();
        create_all(&client, &pods("web", count, |pod| pod.label("app", "web").cpu("10m"))).await?;
        bindings.wait_until_bound(count, 4 * MINUTE).await?;
        let took = started.elapsed();
        bindings.ensure_bound_once()?;
        if let Some(berth) = &processes {
            ensure_cache_is_right(berth, count as u64).await?;
            let waited = berth.metrics().await?;
            let (seconds, times) = (
                waited.sum("berth_filter_wait_seconds_sum", &[]),
                waited.sum("berth_filter_wait_seconds_count", &[]),
            );
            report(&format!("filter waited {times} times for a bind call, {seconds:.2} s in all"));
        }
        let mut last = BTreeMap::new();
        let mut worst = BTreeMap::new();
        for key in [ZONE, RACK, HOST] {
            let mut skew = Skew::new(&nodes, key);
            for node in bindings.transitions().iter().filter_map(|transition| transition.to.as_deref()) {
                let now = skew.place(node)?;
                last.insert(key, now);
                let worst = worst.entry(key).or_insert(0);
                *worst = now.max(*worst);
            }
        }
        outcome = Some(Outcome { last, worst, took });
        Ok(())
    })
    .await?;
    outcome.context("no outcome")
}

fn berth_config(section: &str) -> String {
    format!("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\ntopologySpread: {section}\n")
}

/// Both, in turns. One burst says little: what a watch sees on the way depends on the moment.
async fn bursts(in_tree: Who<'_>, ours: Who<'_>, count: usize) -> Result<(Vec<Outcome>, Vec<Outcome>)> {
    let (mut theirs, mut mine) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(burst(in_tree, count).await?);
        mine.push(burst(ours, count).await?);
    }
    for (who, outcomes) in [("in-tree", &theirs), ("Berth", &mine)] {
        for outcome in outcomes {
            report(&format!("{who:<8} {outcome:?}"));
        }
    }
    Ok((theirs, mine))
}

fn median(outcomes: &[Outcome], skew: impl Fn(&Outcome) -> usize) -> usize {
    let mut skews: Vec<_> = outcomes.iter().map(skew).collect();
    skews.sort_unstable();
    skews[skews.len() / 2]
}

#[tokio::test]
async fn soft_defaults_spread_a_burst_as_well_as_in_tree() -> Result<()> {
    let (in_tree, ours) = bursts(Who::InTree(""), Who::Berth("{defaultingType: System}"), 1500).await?;
    for key in [ZONE, HOST] {
        let last = [&in_tree, &ours].map(|outcomes| median(outcomes, |outcome| outcome.last[key]));
        ensure!(last[1] <= last[0] + 1, "{key} at the end, in-tree and Berth: {last:?}");
        let worst = [&in_tree, &ours].map(|outcomes| median(outcomes, |outcome| outcome.worst[key]));
        ensure!(worst[1] <= worst[0] + 1, "{key} on the way, in-tree and Berth: {worst:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_hard_default_holds_in_a_burst() -> Result<()> {
    let constraint = "{maxSkew: 1, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}";
    let list = format!("{{defaultingType: List, defaultConstraints: [{constraint}]}}");
    let args = format!("profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n    args: {list}\n");
    let (in_tree, ours) = bursts(Who::InTree(&args), Who::Berth(&list), 400).await?;
    for outcome in &ours {
        ensure!(outcome.last[RACK] <= 1, "the limit does not hold at the end: {outcome:?}");
    }
    // Binds complete out of order, also in-tree: what a watch sees on the way may exceed the limit for a moment.
    let worst = [&in_tree, &ours].map(|outcomes| median(outcomes, |outcome| outcome.worst[RACK]));
    ensure!(worst[1] <= worst[0].max(1), "on the way, in-tree and Berth: {worst:?}");
    Ok(())
}

/// A Deployment on 48 nodes in 3 zones and 12 racks, two nodes to a physical host; what Berth answered to prioritize,
/// and how it was spread.
async fn deploy(section: &str, replicas: i32) -> Result<(Vec<i64>, BTreeMap<&'static str, usize>)> {
    let mut result = None;
    ControlPlane::run(Options::default(), async |plane| {
        let client = plane.client();
        let mut nodes = nodes(48).zones(3).racks(12).build();
        for (at, node) in nodes.iter_mut().enumerate() {
            let labels = node.metadata.labels.get_or_insert_default();
            labels.insert(PHYSICAL_HOST.to_owned(), format!("machine-{}", at / 2));
        }
        create_all(&client, &nodes).await?;
        let config = plane.workspace().write("berth.yaml", &berth_config(section))?;
        let berth = plane.start_berth(berth().config(&config)).await?;
        let recorder = Recorder::start(berth.verbs_address(), 10_000).await?;
        let _scheduler = plane.start_scheduler(SHIPPED, Some(&recorder.url())).await?;
        let bindings = BindingsWatch::start(&client).await?;
        let count = usize::try_from(replicas)?;
        create(&client, &deployment("web").replicas(replicas).pods(|pod| pod.cpu("10m")).build()).await?;
        bindings.wait_until_bound(count, MINUTE).await?;

        let mut scores = Vec::new();
        for exchange in recorder.take().iter().filter(|exchange| exchange.path == "/prioritize") {
            let answer: Vec<serde_json::Value> = serde_json::from_slice(&exchange.response)?;
            scores.extend(answer.iter().filter_map(|host| host["Score"].as_i64()));
        }
        ensure!(scores.len() >= count, "kube-scheduler asked for {} scores only", scores.len());
        let mut skews = BTreeMap::new();
        for key in [ZONE, RACK, PHYSICAL_HOST, HOST] {
            let mut skew = Skew::new(&nodes, key);
            for node in bindings.placements().values() {
                skews.insert(key, skew.place(node)?);
            }
        }
        report(&format!("{replicas} pods with {section}: {skews:?}"));
        result = Some((scores, skews));
        Ok(())
    })
    .await?;
    result.context("no result")
}

#[tokio::test]
async fn custom_topology_keys_are_spread_over() -> Result<()> {
    let constraint = |key| format!("{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: ScheduleAnyway}}");
    let section = format!(
        "{{defaultingType: List, defaultConstraints: [{}, {}]}}",
        constraint(RACK),
        constraint(PHYSICAL_HOST)
    );
    let (_, skews) = deploy(&section, 96).await?;
    ensure!(skews[RACK] <= 1 && skews[PHYSICAL_HOST] <= 1, "{skews:?}");
    Ok(())
}

#[tokio::test]
async fn system_defaults_spread_over_zones_and_hosts() -> Result<()> {
    let (scores, skews) = deploy("{defaultingType: System}", 96).await?;
    ensure!(scores.contains(&10) && scores.iter().any(|score| *score < 10), "no preference was expressed");
    ensure!(skews[ZONE] <= 3 && skews[HOST] <= 2, "{skews:?}");
    Ok(())
}

#[tokio::test]
async fn an_empty_list_switches_defaults_off() -> Result<()> {
    let (scores, _) = deploy("{defaultingType: List, defaultConstraints: []}", 48).await?;
    ensure!(scores.iter().all(|score| *score == 0), "a preference was expressed");
    Ok(())
}
