//! Berth's side: objects are slimmed, put into a view, and the pod is judged on it.

use std::collections::BTreeMap;

use berth::cluster::snapshot_file;
use berth::json::Interner;
use berth::json::{self, PodObject};
use berth::model::{Quantity, Resources};
use berth::policy::fit::{self, Demand, Predicate};
use berth::view::View;
use berth::view::change::Change;

use crate::case::{Case, is_finished};
use crate::outcome::{Amounts, Node, Numbers, Outcome, Reasons, Verdict};
use crate::reference::PLUGINS;

pub fn decide(case: &Case) -> Result<Outcome, String> {
    let interner = Interner::default();
    let view = view(case, &interner)?;
    let incoming: PodObject =
        serde_json::from_str(&case.pod().to_string()).map_err(|error| error.to_string())?;
    let pod = json::pod(&incoming, &interner);
    let requirements = json::requirements(&incoming);
    let applicant = Demand { requirements: &requirements, ..Demand::of(&pod) };

    let mut plugins: BTreeMap<String, Vec<Verdict>> =
        PLUGINS.iter().map(|plugin| ((*plugin).to_owned(), Vec::new())).collect();
    let mut verdicts = Vec::new();
    for name in case.candidates() {
        let host = view.host(name).ok_or("an unknown candidate")?;
        let node = host.node.as_ref().ok_or("a candidate without a node")?;
        for (plugin, predicate) in PLUGINS.iter().zip(Predicate::ALL) {
            let verdict = verdict(applicant.judge(predicate, node, &host.used, &host.pods));
            plugins.entry((*plugin).to_owned()).or_default().push(verdict);
        }
        verdicts.push(verdict(applicant.fits(node, &host.used, &host.pods)));
    }
    let mut allocated = BTreeMap::new();
    for shown in case.pods().filter(|pod| !is_finished(pod)) {
        let uid = shown["metadata"]["uid"].as_str().unwrap_or_default();
        let known = view.pod(uid).map(|pod| &pod.allocated);
        let known = known.or_else(|| (*pod.uid == *uid).then_some(&pod.allocated));
        allocated.insert(uid.to_owned(), amounts(known.ok_or("a pod is not in the view")?));
    }
    Ok(Outcome {
        plugins,
        verdicts,
        requests: amounts(&pod.requests),
        allocated,
        nodes: nodes(&view),
        quantities: case.quantities().into_iter().map(numbers).collect(),
        reasons: Reasons::default(),
    })
}

fn view(case: &Case, interner: &Interner) -> Result<View, String> {
    let cluster = snapshot_file::parse(&case.cluster(), interner).map_err(|error| error.to_string())?;
    if cluster.other_kinds.total() > 0 || cluster.undecodable.total() > 0 {
        return Err("Berth does not read all objects of the cluster".to_owned());
    }
    let mut view = View::default();
    for object in cluster.objects {
        view.apply(Change::Upsert(object));
    }
    Ok(view)
}

fn nodes(view: &View) -> BTreeMap<String, Node> {
    let hosts = view.hosts().filter_map(|host| Some((host, host.node.as_ref()?)));
    let read = hosts.map(|(host, node)| {
        let node = Node {
            allocatable: amounts(&node.allocatable),
            allowed_pods: node.allowed_pods,
            requested: amounts(&host.used.resources),
            pods: host.used.pods,
        };
        (host.name.to_string(), node)
    });
    read.collect()
}

fn amounts(resources: &Resources) -> Amounts {
    let three = [
        ("cpu", resources.milli_cpu),
        ("memory", resources.memory),
        ("ephemeral-storage", resources.ephemeral_storage),
    ];
    let all = three.into_iter().chain(resources.scalars().map(|(name, amount)| (&**name, amount)));
    all.filter(|(_, amount)| *amount != 0).map(|(name, amount)| (name.to_owned(), amount)).collect()
}

fn numbers(text: &str) -> Option<Numbers> {
    let quantity = Quantity::parse(text)?;
    Some(Numbers { value: quantity.value(), milli: quantity.milli_value() })
}

fn verdict(verdict: fit::Verdict) -> Verdict {
    match verdict {
        fit::Verdict::Fits => Verdict::Fits,
        fit::Verdict::DoesNotFit { resolvable: true, .. } => Verdict::Resolvable,
        fit::Verdict::DoesNotFit { resolvable: false, .. } => Verdict::Unresolvable,
    }
}
