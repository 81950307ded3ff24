//! Plays kube-scheduler: one pod at a time through filter, prioritize and bind.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cluster::{Cluster, Node};
use super::line::{Answer, Line};
use super::workload::{NAMESPACE, Pod};
use crate::verbs::Verb;

/// The scheduler: knows its nodes' room, and about everything else asks Berth.
pub struct Scheduler {
    line: Line,
    /// Pods for which Berth turned a node down or preferred one, so that it is not praised for nothing.
    pub swayed: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FilterAnswer {
    node_names: Option<Vec<String>>,
    failed_nodes: Option<BTreeMap<String, String>>,
    failed_and_unresolvable_nodes: Option<BTreeMap<String, String>>,
    error: String,
}

/// What became of a pod.
pub struct Attempt {
    /// Where it is now; nowhere if it has to wait.
    pub node: Option<String>,
    /// Berth's words for the nodes that it turned down, and how many they were.
    pub turned_down: BTreeMap<String, usize>,
}

/// What filter left of the nodes.
struct Offer {
    nodes: Vec<String>,
    turned_down: BTreeMap<String, usize>,
}

/// What a node is worth.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HostScore {
    /// The node.
    pub host: String,
    /// More is better.
    pub score: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PreemptAnswer {
    node_name_to_meta_victims: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BindAnswer {
    error: String,
}

impl Scheduler {
    /// A scheduler with a connection of its own.
    pub async fn connect(verbs: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self { line: Line::open(verbs).await?, swayed: 0 })
    }

    /// Hangs up.
    pub async fn disconnect(self) {
        self.line.close().await;
    }

    /// Places a pod, in the cluster and in Berth's view of it.
    pub async fn place(&mut self, pod: Pod, cluster: &mut Cluster) -> anyhow::Result<()> {
        let name = pod.name.clone();
        let Attempt { node, turned_down } = self.attempt(pod, cluster).await?;
        if node.is_none() {
            let reasons: Vec<_> = turned_down.into_keys().collect();
            bail!("no node is left for {name}: {}", reasons.join("; "));
        }
        Ok(())
    }

    /// Places a pod if Berth names a node for it.
    pub async fn attempt(&mut self, pod: Pod, cluster: &mut Cluster) -> anyhow::Result<Attempt> {
        let fitting = names_with_room(cluster);
        let Offer { nodes, turned_down } = self.filter(&pod, pod.pending(), &fitting).await?;
        if nodes.is_empty() {
            return Ok(Attempt { node: None, turned_down });
        }
        let scores = self.prioritize(&pod, &nodes).await?;
        let indifferent = scores.windows(2).all(|pair| pair[0].score == pair[1].score);
        self.swayed += usize::from(nodes.len() < fitting.len() || !indifferent);
        let node = choose(&pod, cluster, &scores)?.name.clone();
        self.settle(pod, &node, cluster).await?;
        Ok(Attempt { node: Some(node), turned_down })
    }

    /// Places a pod for which room was made on a node. Gives back all nodes that Berth named.
    pub async fn place_nominated(
        &mut self,
        pod: Pod,
        nominated: &str,
        cluster: &mut Cluster,
    ) -> anyhow::Result<Vec<String>> {
        let offer = self.filter(&pod, pod.nominated(nominated), &names_with_room(cluster)).await?;
        let offered = offer.nodes;
        // With one node left nobody is asked for scores.
        if let [only] = &offered[..] {
            self.settle(pod, only, cluster).await?;
        }
        Ok(offered)
    }

    async fn settle(&mut self, pod: Pod, node: &str, cluster: &mut Cluster) -> anyhow::Result<()> {
        let refusal = self.bind(&pod, node).await?;
        if !refusal.is_empty() {
            bail!("Berth did not bind {} to {node}: {refusal}", pod.name);
        }
        // It was found by this name a moment ago.
        if let Some(node) = cluster.node_mut(node) {
            node.pods.push(pod);
        }
        Ok(())
    }

    /// Asks where an eviction is worth it: candidates are nodes, each with the one pod that would have to go.
    pub async fn preempt(&mut self, pod: &Pod, candidates: &[(String, Pod)]) -> anyhow::Result<Vec<String>> {
        let victims = |victim: &Pod| json!({"Pods": [{"UID": victim.uid()}], "NumPDBViolations": 0});
        let candidates: serde_json::Map<_, _> =
            candidates.iter().map(|(node, victim)| (node.clone(), victims(victim))).collect();
        let args = json!({"Pod": pod.pending(), "NodeNameToMetaVictims": candidates});
        let answer: PreemptAnswer = self.ask(Verb::Preempt, args.to_string()).await?;
        Ok(answer.node_name_to_meta_victims.into_keys().collect())
    }

    /// Asks for a binding and tells why it was refused; nothing if it was not.
    pub async fn bind(&mut self, pod: &Pod, node: &str) -> anyhow::Result<String> {
        let args = json!({"PodName": pod.name, "PodNamespace": NAMESPACE, "PodUID": pod.uid(), "Node": node});
        let answer: BindAnswer = self.ask(Verb::Bind, args.to_string()).await?;
        Ok(answer.error)
    }

    /// Sends any body to a verb, also one that deserves no decision.
    pub async fn send(&mut self, verb: Verb, body: String) -> anyhow::Result<Answer> {
        self.line.post(&format!("/{}", verb.label()), body).await
    }

    async fn filter(&mut self, pod: &Pod, object: Value, nodes: &[String]) -> anyhow::Result<Offer> {
        let args = json!({"Pod": object, "Nodes": null, "NodeNames": nodes});
        let answer: FilterAnswer = self.ask(Verb::Filter, args.to_string()).await?;
        if !answer.error.is_empty() {
            bail!("Berth could not decide on {}: {}", pod.name, answer.error);
        }
        let failed = [answer.failed_nodes, answer.failed_and_unresolvable_nodes];
        let mut turned_down = BTreeMap::new();
        for reason in failed.into_iter().flatten().flat_map(BTreeMap::into_values) {
            *turned_down.entry(reason).or_default() += 1;
        }
        Ok(Offer { nodes: answer.node_names.unwrap_or_default(), turned_down })
    }

    async fn prioritize(&mut self, pod: &Pod, nodes: &[String]) -> anyhow::Result<Vec<HostScore>> {
        let args = json!({"Pod": pod.pending(), "Nodes": null, "NodeNames": nodes});
        self.ask(Verb::Prioritize, args.to_string()).await
    }

    async fn ask<T: DeserializeOwned>(&mut self, verb: Verb, body: String) -> anyhow::Result<T> {
        let Answer { status, body } = self.send(verb, body).await?;
        let verb = verb.label();
        if !status.is_success() {
            bail!("{verb} was answered {status}: {body}");
        }
        serde_json::from_str(&body).with_context(|| format!("{verb} was answered in an unknown form: {body}"))
    }
}

fn names_with_room(cluster: &Cluster) -> Vec<String> {
    cluster.nodes.iter().filter(|node| node.has_room()).map(|node| node.name.clone()).collect()
}

/// The node to use:
///
/// 1. the best score, which is Berth's word;
/// 2. the fewest pods;
/// 3. a hash of pod and node, so that ties do not fall in the order of the list.
pub fn choose<'a>(pod: &Pod, cluster: &'a Cluster, scores: &[HostScore]) -> anyhow::Result<&'a Node> {
    let mut best = None;
    for HostScore { host, score } in scores {
        let node = cluster.node(host).with_context(|| format!("Berth named a node nobody knows: {host}"))?;
        let rank = (*score, Reverse(node.pods.len()), draw(pod, node));
        if best.as_ref().is_none_or(|(highest, _)| rank > *highest) {
            best = Some((rank, node));
        }
    }
    let (_, node) = best.with_context(|| format!("Berth scored no node for {}", pod.name))?;
    Ok(node)
}

fn draw(pod: &Pod, node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&pod.name, &node.name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{HostScore, choose};
    use crate::demo::cluster::Cluster;
    use crate::demo::workload::{Pod, WEB};

    #[test]
    fn the_score_outranks_the_pods_on_a_node_and_those_outrank_the_draw() {
        let pod = Pod { name: "p".to_owned(), number: 0, workload: WEB };
        let cluster = Cluster::built_in();
        // As built in: four pods on a1-1, two on b1-1, one on b3-5, none on c1-1.
        for (scores, expected) in [
            (vec![("node-a1-1", 7), ("node-c1-1", 6)], Some("node-a1-1")),
            (vec![("node-b1-1", 0), ("node-b3-5", 0)], Some("node-b3-5")),
            (vec![("node-c1-1", 0), ("node-b3-5", 0)], Some("node-c1-1")),
            (vec![("elsewhere", 0)], None),
            (vec![], None),
        ] {
            let scores: Vec<_> =
                scores.into_iter().map(|(host, score)| HostScore { host: host.to_owned(), score }).collect();
            let chosen = choose(&pod, &cluster, &scores).ok().map(|node| node.name.as_str());
            assert_eq!(chosen, expected);
        }
    }
}
