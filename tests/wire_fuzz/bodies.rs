//! Bodies from sound to nonsense.

use berth::verbs::Verb;

use super::dice::Dice;
use super::tree::{Tree, object, raw, text};

/// The nodes that the cluster knows.
pub const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

pub struct Input {
    pub bytes: Vec<u8>,
    /// Nothing was broken: the answer must be 200.
    pub sound: bool,
}

pub fn any_input(verb: Verb, dice: &mut Dice) -> Input {
    if dice.one_in(8) {
        let length = dice.below(120);
        return Input { bytes: (0..length).map(|_| dice.byte()).collect(), sound: false };
    }
    let mut tree = match verb {
        Verb::Filter | Verb::Prioritize => scheduling(dice),
        Verb::Preempt => preemption(dice),
        Verb::Bind => binding(dice),
    };
    if dice.one_in(2) {
        tree.recase(dice);
    }
    let sound = dice.one_in(6);
    if !sound && !dice.one_in(3) {
        for _ in 0..=dice.below(3) {
            tree.mutate(dice);
        }
        return Input { bytes: rendered(&tree, dice), sound: false };
    }
    let mut bytes = rendered(&tree, dice);
    if !sound {
        scramble(&mut bytes, dice);
    }
    Input { bytes, sound }
}

fn rendered(tree: &Tree, dice: &mut Dice) -> Vec<u8> {
    let mut out = String::new();
    tree.render(&mut out, dice);
    out.into_bytes()
}

/// Flips, cuts, repeats and injects bytes.
fn scramble(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len().max(1)).min(bytes.len());
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            2 if at < bytes.len() => bytes[at] = dice.byte(),
            3 => bytes.insert(at, dice.pick(&[0xff, 0xc0, 0x00, b'"', b'{', b'}', b'\\', b','])),
            4 => {
                let end = (at + dice.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + dice.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

fn name(dice: &mut Dice) -> String {
    let odd =
        ["", "näh", "節点", "🦀", "a\"b", "back\\slash", "line\nbreak", "\u{0}", "\u{2028}", "null", "x"];
    if dice.one_in(5) { dice.pick(&odd).to_owned() } else { dice.pick(&NODES).to_owned() }
}

fn names(dice: &mut Dice) -> Vec<String> {
    (0..dice.below(5)).map(|_| name(dice)).collect()
}

fn pod(dice: &mut Dice) -> Tree {
    let uid = format!("uid-{}", dice.below(50));
    object([
        (
            "metadata",
            object([
                ("name", text(&format!("pod-{}", dice.below(50)))),
                ("namespace", text("default")),
                ("uid", text(&uid)),
                ("creationTimestamp", raw("null")),
                ("labels", object([("app", text(&name(dice)))])),
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

fn scheduling(dice: &mut Dice) -> Tree {
    let names = names(dice);
    let (nodes, node_names) = if dice.one_in(2) {
        (raw("null"), Tree::List(names.iter().map(|name| text(name)).collect()))
    } else {
        let node = |name: &String| {
            let metadata = object([("name", text(name)), ("labels", object([("zone", text("z"))]))]);
            object([("metadata", metadata), ("spec", object([])), ("status", raw("{\"a\":[1,2.5]}"))])
        };
        let items = Tree::List(names.iter().map(node).collect());
        (object([("metadata", object([])), ("items", items)]), raw("null"))
    };
    object([("Pod", pod(dice)), ("Nodes", nodes), ("NodeNames", node_names)])
}

fn preemption(dice: &mut Dice) -> Tree {
    let whole = dice.one_in(2);
    let mut victims = Vec::new();
    for node in names(dice) {
        let mut pods = Vec::new();
        for _ in 0..dice.below(4) {
            let uid = format!("victim-{}", dice.below(9));
            pods.push(if whole {
                object([
                    ("metadata", object([("name", text("v")), ("uid", text(&uid))])),
                    ("spec", raw("{}")),
                ])
            } else {
                object([("UID", text(&uid))])
            });
        }
        let pods = if dice.one_in(8) { raw("null") } else { Tree::List(pods) };
        let violations = raw(&dice.below(3).to_string());
        victims.push((node, object([("Pods", pods), ("NumPDBViolations", violations)])));
    }
    let victims = Tree::Object(victims);
    let (full, meta) = if whole { (victims, raw("null")) } else { (raw("null"), victims) };
    object([("Pod", pod(dice)), ("NodeNameToVictims", full), ("NodeNameToMetaVictims", meta)])
}

fn binding(dice: &mut Dice) -> Tree {
    let number = dice.below(500);
    object([
        ("PodName", text(&format!("pod-{number}"))),
        ("PodNamespace", text("default")),
        ("PodUID", text(&format!("uid-{number}"))),
        ("Node", text(dice.pick(&NODES))),
    ])
}
