//! How often the cases reach what they are made for.

use serde_json::Value;

use crate::case::{Case, is_finished};
use crate::outcome::{Outcome, Verdict};
use crate::support::random::counts::Counts;

/// A case, and what kube-scheduler says of it.
pub struct Seen<'a> {
    pub case: &'a Case,
    pub outcome: &'a Outcome,
}

/// What is looked for, and in how many of a thousand cases at least.
type Row = (&'static str, usize, fn(&Seen<'_>) -> bool);

const ROWS: [Row; 43] = [
    ("all plugins: fits", 150, |seen| seen.outcome.verdicts.contains(&Verdict::Fits)),
    ("all plugins: resolvable", 150, |seen| seen.outcome.verdicts.contains(&Verdict::Resolvable)),
    ("all plugins: unresolvable", 150, |seen| seen.outcome.verdicts.contains(&Verdict::Unresolvable)),
    ("cordon: fits", 700, |seen| says(seen, "NodeUnschedulable", Verdict::Fits)),
    ("cordon: in the way", 100, |seen| says(seen, "NodeUnschedulable", Verdict::Unresolvable)),
    ("cordon: tolerated", 50, |seen| {
        let cordoned = |name: &&str| {
            seen.case
                .nodes()
                .any(|node| node["metadata"]["name"] == **name && node["spec"]["unschedulable"] == true)
        };
        let verdicts = seen.case.candidates().into_iter().zip(&seen.outcome.plugins["NodeUnschedulable"]);
        verdicts.into_iter().any(|(name, verdict)| cordoned(&name) && *verdict == Verdict::Fits)
    }),
    ("taint: in the way", 150, |seen| says(seen, "TaintToleration", Verdict::Unresolvable)),
    ("taint: fits", 500, |seen| says(seen, "TaintToleration", Verdict::Fits)),
    ("affinity: in the way", 150, |seen| says(seen, "NodeAffinity", Verdict::Unresolvable)),
    ("affinity: some fit and some do not", 50, |seen| {
        says(seen, "NodeAffinity", Verdict::Unresolvable) && says(seen, "NodeAffinity", Verdict::Fits)
    }),
    ("affinity: left out beforehand", 5, |seen| gives(seen, "left out beforehand")),
    ("affinity: a contradiction", 20, |seen| gives(seen, "pod affinity terms conflict")),
    ("ports: fits", 500, |seen| says(seen, "NodePorts", Verdict::Fits)),
    ("ports: taken", 100, |seen| says(seen, "NodePorts", Verdict::Resolvable)),
    ("ports: some fit and some do not", 50, |seen| {
        says(seen, "NodePorts", Verdict::Resolvable) && says(seen, "NodePorts", Verdict::Fits)
    }),
    ("ports: of sidecars", 20, |seen| {
        let init = seen.case.pod()["spec"]["initContainers"].as_array().into_iter().flatten();
        init.into_iter()
            .any(|container| container["restartPolicy"] == "Always" && container.get("ports").is_some())
    }),
    ("room: fits", 500, |seen| says(seen, "NodeResourcesFit", Verdict::Fits)),
    ("room: resolvable", 150, |seen| says(seen, "NodeResourcesFit", Verdict::Resolvable)),
    ("room: unresolvable", 150, |seen| says(seen, "NodeResourcesFit", Verdict::Unresolvable)),
    ("room: too many pods", 100, |seen| gives(seen, "Too many pods")),
    ("room: cpu", 100, |seen| gives(seen, "Insufficient cpu")),
    ("room: memory", 100, |seen| gives(seen, "Insufficient memory")),
    ("room: disk", 50, |seen| gives(seen, "Insufficient ephemeral-storage")),
    ("room: extended resource", 50, |seen| gives(seen, "Insufficient a.com/gpu")),
    ("room: huge pages", 20, |seen| gives(seen, "Insufficient hugepages-2Mi")),
    ("room: volumes", 10, |seen| gives(seen, "Insufficient attachable-volumes-x")),
    ("room: Kubernetes' own", 5, |seen| gives(seen, "Insufficient x.kubernetes.io/y")),
    ("room: Kubernetes' own, no label key", 5, |seen| gives(seen, "Insufficient Bad.kubernetes.io/y")),
    ("room: more is taken than there is", 50, |seen| {
        seen.outcome.nodes.values().any(|node| {
            node.requested
                .iter()
                .any(|(name, taken)| *taken > node.allocatable.get(name).copied().unwrap_or(0))
        })
    }),
    ("pod: asks for nothing", 10, |seen| seen.outcome.requests.is_empty()),
    ("pod: init containers", 200, |seen| seen.case.pod()["spec"].get("initContainers").is_some()),
    ("pod: sidecars", 100, |seen| seen.case.pod()["spec"]["initContainers"].to_string().contains("Always")),
    ("pod: overhead", 100, |seen| seen.case.pod()["spec"].get("overhead").is_some()),
    ("pod: as a whole", 100, |seen| seen.case.pod()["spec"]["resources"].get("requests").is_some()),
    ("status: of containers", 200, |seen| {
        placed(seen).any(|pod| pod["status"].get("containerStatuses").is_some())
    }),
    ("status: of sidecars", 50, |seen| {
        placed(seen).any(|pod| {
            pod["status"].get("initContainerStatuses").is_some()
                && pod["spec"]["initContainers"].to_string().contains("Always")
        })
    }),
    ("status: as a whole", 50, |seen| {
        placed(seen).any(|pod| {
            pod["status"].get("resources").is_some() && pod["spec"]["resources"].get("requests").is_some()
        })
    }),
    ("status: cannot be resized", 100, |seen| {
        placed(seen).any(|pod| pod["status"]["conditions"].to_string().contains("Infeasible"))
    }),
    ("status: of the incoming pod", 20, |seen| seen.case.pod()["status"].get("containerStatuses").is_some()),
    ("a pod takes less than nothing", 10, |seen| {
        seen.outcome.allocated.values().any(|amounts| amounts.values().any(|amount| *amount < 0))
    }),
    ("quantity: malformed", 500, |seen| seen.outcome.quantities.contains(&None)),
    ("quantity: capped", 30, |seen| {
        seen.outcome.quantities.iter().flatten().any(|numbers| numbers.value == i64::MAX)
    }),
    ("quantity: thousandths overflow", 100, |seen| {
        seen.outcome
            .quantities
            .iter()
            .flatten()
            .any(|numbers| numbers.milli.signum() * numbers.value.signum() < 0)
    }),
];

pub fn counts() -> Counts {
    Counts::new(ROWS.iter().map(|(name, least, _)| (*name, *least)))
}

pub fn count(counts: &mut Counts, seen: &Seen<'_>) {
    counts.count(ROWS.iter().map(|(_, _, reaches)| reaches(seen)));
}

fn says(seen: &Seen<'_>, plugin: &str, verdict: Verdict) -> bool {
    seen.outcome.plugins[plugin].contains(&verdict)
}

fn gives(seen: &Seen<'_>, reason: &str) -> bool {
    seen.outcome.reasons.0.iter().any(|given| given == reason)
}

/// Pods on nodes that kube-scheduler knows.
fn placed<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a Value> {
    seen.case.pods().filter(|pod| pod["spec"].get("nodeName").is_some() && !is_finished(pod))
}
