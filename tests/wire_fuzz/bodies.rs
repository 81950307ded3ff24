//! Bodies from sound to nonsense.

use std::fmt;

use berth::verbs::Verb;

use super::tree::{Tree, object, raw, text};
use crate::support::random::shrink::without_pieces;
use crate::support::random::{Rng, Shrink};

/// The nodes that the cluster knows.
pub const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

#[derive(Clone)]
pub struct Input {
    pub bytes: Vec<u8>,
    /// Nothing was broken: the answer must be 200.
    pub sound: bool,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body: String = String::from_utf8_lossy(&self.bytes).chars().take(4_000).collect();
        write!(f, "{} body {body:?}", if self.sound { "sound" } else { "broken" })
    }
}

/// What bytes were taken from is not sound any more.
impl Shrink for Input {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        without_pieces(&self.bytes).map(|bytes| Self { bytes, sound: false })
    }
}

pub fn any_input(verb: Verb, rng: &mut Rng) -> Input {
    if rng.one_in(8) {
        return noise(rng);
    }
    let mut tree = match verb {
        Verb::Filter | Verb::Prioritize => scheduling(rng),
        Verb::Preempt => preemption(rng),
        Verb::Bind => binding(rng),
    };
    if rng.one_in(2) {
        tree.recase(rng);
    }
    spoilt(tree, rng)
}

/// A review of a pod. Its keys are what they are in any case.
pub fn any_review(rng: &mut Rng) -> Input {
    if rng.one_in(8) {
        return noise(rng);
    }
    let tree = review(rng);
    spoilt(tree, rng)
}

fn noise(rng: &mut Rng) -> Input {
    let length = rng.below(120);
    Input { bytes: (0..length).map(|_| rng.byte()).collect(), sound: false }
}

/// Sound at times, else broken.
fn spoilt(mut tree: Tree, rng: &mut Rng) -> Input {
    let sound = rng.one_in(6);
    if !sound && !rng.one_in(3) {
        for _ in 0..=rng.below(3) {
            tree.mutate(rng);
        }
        return Input { bytes: rendered(&tree, rng), sound: false };
    }
    let mut bytes = rendered(&tree, rng);
    if !sound {
        scramble(&mut bytes, rng);
    }
    Input { bytes, sound }
}

fn rendered(tree: &Tree, rng: &mut Rng) -> Vec<u8> {
    let mut out = String::new();
    tree.render(&mut out, rng);
    out.into_bytes()
}

/// Flips, cuts, repeats and injects bytes.
fn scramble(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len().max(1)).min(bytes.len());
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            2 if at < bytes.len() => bytes[at] = rng.byte(),
            3 => bytes.insert(at, rng.pick(&[0xff, 0xc0, 0x00, b'"', b'{', b'}', b'\\', b','])),
            4 => {
                let end = (at + rng.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + rng.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

fn name(rng: &mut Rng) -> String {
    let odd =
        ["", "näh", "節点", "🦀", "a\"b", "back\\slash", "line\nbreak", "\u{0}", "\u{2028}", "null", "x"];
    if rng.one_in(5) { rng.pick(&odd).to_owned() } else { rng.pick(&NODES).to_owned() }
}

fn names(rng: &mut Rng) -> Vec<String> {
    (0..rng.below(5)).map(|_| name(rng)).collect()
}

fn pod(rng: &mut Rng) -> Tree {
    let uid = format!("uid-{}", rng.below(50));
    object([
        (
            "metadata",
            object([
                ("name", text(&format!("pod-{}", rng.below(50)))),
                ("namespace", text("default")),
                ("uid", text(&uid)),
                ("creationTimestamp", raw("null")),
                ("labels", object([("app", text(&name(rng)))])),
                (
                    "ownerReferences",
                    Tree::List(vec![object([
                        ("apiVersion", text("apps/v1")),
                        ("kind", text("ReplicaSet")),
                        ("name", text("web")),
                        ("controller", raw("true")),
                    ])]),
                ),
            ]),
        ),
        ("spec", object([("priority", raw("7")), ("nodeName", raw("null")), ("containers", raw("null"))])),
        (
            "status",
            object([
                ("phase", text("Pending")),
                (
                    "conditions",
                    Tree::List(vec![object([
                        ("type", text("PodScheduled")),
                        ("status", text("False")),
                        ("reason", text("Unschedulable")),
                        ("lastTransitionTime", raw("null")),
                    ])]),
                ),
            ]),
        ),
    ])
}

/// A pod that asks for nodes of its group, in many wrong ways, or one that asks for nothing.
fn review(rng: &mut Rng) -> Tree {
    let word = |rng: &mut Rng| {
        let words = ["example.com/pool", "pool", "NoSchedule", "NoExecute", "no key", "", "7", "0", "g"];
        if rng.one_in(4) { name(rng) } else { rng.pick(&words).to_owned() }
    };
    let keys = [
        "berth.dev/replicaUniqueNodeSelector",
        "berth.dev/replicaUniqueTolerationKey",
        "berth.dev/replicaUniqueTolerationEffect",
        "leaderworkerset.sigs.k8s.io/replicaUniqueNodeSelector",
        "leaderworkerset.sigs.k8s.io/replicaUniqueTolerationKey",
        "leaderworkerset.sigs.k8s.io/replicaUniqueTolerationEffect",
        "berth.dev/group",
        "berth.dev/group-index",
    ];
    let mut annotations = Vec::new();
    for key in keys {
        if rng.one_in(2) {
            annotations.push((key, text(&word(rng))));
        }
    }
    let mut labels = Vec::new();
    for key in [
        "leaderworkerset.sigs.k8s.io/name",
        "leaderworkerset.sigs.k8s.io/group-index",
        "kueue.x-k8s.io/pod-group-name",
    ] {
        if rng.one_in(2) {
            labels.push((key, text(&word(rng))));
        }
    }
    let toleration =
        object([("key", text(&word(rng))), ("operator", text("Equal")), ("value", text(&word(rng)))]);
    let selector = (word(rng), word(rng));
    let spec = match rng.below(4) {
        0 => object([]),
        1 => object([("nodeSelector", raw("null")), ("tolerations", raw("null"))]),
        2 => object([("nodeSelector", object([(selector.0.as_str(), text(&selector.1))]))]),
        _ => {
            object([("tolerations", Tree::List(vec![toleration])), ("containers", raw("[{\"name\":\"c\"}]"))])
        }
    };
    let metadata = [(if rng.one_in(4) { "generateName" } else { "name" }, text("p-0"))];
    let metadata =
        metadata.into_iter().chain([("labels", object(labels)), ("annotations", object(annotations))]);
    let kind = |group: &str| object([("group", text(group)), ("version", text("v1")), ("kind", text("Pod"))]);
    let operation = if rng.one_in(8) { "UPDATE" } else { "CREATE" };
    object([
        ("apiVersion", text("admission.k8s.io/v1")),
        ("kind", text("AdmissionReview")),
        (
            "request",
            object([
                ("uid", text("review-1")),
                ("kind", kind("")),
                ("namespace", text("default")),
                ("operation", text(operation)),
                ("object", object([("metadata", object(metadata)), ("spec", spec)])),
                ("oldObject", raw("null")),
                ("dryRun", raw(if rng.one_in(2) { "true" } else { "false" })),
            ]),
        ),
    ])
}

fn scheduling(rng: &mut Rng) -> Tree {
    let names = names(rng);
    let (nodes, node_names) = if rng.one_in(2) {
        (raw("null"), Tree::List(names.iter().map(|name| text(name)).collect()))
    } else {
        let node = |name: &String| {
            let metadata = object([("name", text(name)), ("labels", object([("zone", text("z"))]))]);
            object([("metadata", metadata), ("spec", object([])), ("status", raw("{\"a\":[1,2.5]}"))])
        };
        let items = Tree::List(names.iter().map(node).collect());
        (object([("metadata", object([])), ("items", items)]), raw("null"))
    };
    object([("Pod", pod(rng)), ("Nodes", nodes), ("NodeNames", node_names)])
}

fn preemption(rng: &mut Rng) -> Tree {
    let whole = rng.one_in(2);
    let mut victims = Vec::new();
    for node in names(rng) {
        let mut pods = Vec::new();
        for _ in 0..rng.below(4) {
            let uid = format!("victim-{}", rng.below(9));
            pods.push(if whole {
                object([
                    ("metadata", object([("name", text("v")), ("uid", text(&uid))])),
                    ("spec", raw("{}")),
                ])
            } else {
                object([("UID", text(&uid))])
            });
        }
        let pods = if rng.one_in(8) { raw("null") } else { Tree::List(pods) };
        let violations = raw(&rng.below(3).to_string());
        victims.push((node, object([("Pods", pods), ("NumPDBViolations", violations)])));
    }
    let victims = Tree::Object(victims);
    let (full, meta) = if whole { (victims, raw("null")) } else { (raw("null"), victims) };
    object([("Pod", pod(rng)), ("NodeNameToVictims", full), ("NodeNameToMetaVictims", meta)])
}

fn binding(rng: &mut Rng) -> Tree {
    let number = rng.below(500);
    object([
        ("PodName", text(&format!("pod-{number}"))),
        ("PodNamespace", text("default")),
        ("PodUID", text(&format!("uid-{number}"))),
        ("Node", text(rng.pick(&NODES))),
    ])
}
