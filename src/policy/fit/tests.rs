use std::sync::Arc;

use super::Predicate;
use super::{Demand, Verdict};
use crate::fixtures::{NodeBuilder, node, pod};
use crate::model::requirements::Toleration;
use crate::model::{HostPort, Name, PodConstraints, Requirements, Resources, Taint, Used};

fn resources(milli_cpu: i64, memory: i64, gpus: i64) -> Resources {
    Resources::new(milli_cpu, memory, 0, [(Name::from("a.com/gpu"), gpus)])
}

fn big_node() -> NodeBuilder {
    node("n").allocatable(resources(4_000, 1_000, 8))
}

fn used(pods: i64, resources: Resources) -> Used {
    Used { resources, pods }
}

const fn blocked(predicate: Predicate, resolvable: bool) -> Verdict {
    Verdict::DoesNotFit { predicate, resolvable }
}

#[test]
fn room_is_what_is_left_and_a_node_that_is_too_small_stays_so() {
    let requirements = Requirements::default();
    for (name, requests, used, expected) in [
        ("an empty node", resources(4_000, 1_000, 8), Used::default(), Verdict::Fits),
        ("exactly what is left", resources(1_000, 0, 1), used(1, resources(3_000, 1_000, 7)), Verdict::Fits),
        (
            "a bit too much",
            resources(1_001, 0, 0),
            used(1, resources(3_000, 0, 0)),
            blocked(Predicate::Resources, true),
        ),
        ("too small", resources(4_001, 0, 0), Used::default(), blocked(Predicate::Resources, false)),
        (
            "too small in one respect is enough",
            resources(1, 1_001, 0),
            used(1, resources(4_000, 0, 0)),
            blocked(Predicate::Resources, false),
        ),
        ("no GPU left", resources(0, 0, 1), used(1, resources(0, 0, 8)), blocked(Predicate::Resources, true)),
        ("too few GPUs", resources(0, 0, 9), Used::default(), blocked(Predicate::Resources, false)),
        (
            "nothing asked of an overfull node",
            resources(0, 0, 0),
            used(9, resources(9_000, 0, 9)),
            Verdict::Fits,
        ),
        ("the last place", resources(0, 0, 0), used(109, Resources::default()), Verdict::Fits),
        (
            "no place",
            resources(0, 0, 0),
            used(110, Resources::default()),
            blocked(Predicate::Resources, true),
        ),
        (
            "a resource that no node has",
            Resources::new(0, 0, 0, [("b.com/x".into(), 1)]),
            Used::default(),
            blocked(Predicate::Resources, false),
        ),
    ] {
        let demand = Demand { requests: &requests, requirements: &requirements, host_ports: &[] };
        assert_eq!(demand.fits(&big_node().build(), &used, &[]), expected, "{name}");
    }
}

#[test]
fn the_first_obstacle_is_named_and_only_room_can_be_made() {
    let tolerating = |key: &str| Requirements {
        tolerations: vec![Toleration {
            key: key.into(),
            operator: "Exists".into(),
            value: "".into(),
            effect: "".into(),
        }],
        ..Requirements::default()
    };
    let elsewhere = Requirements {
        node_selector: [("disk".into(), "ssd".into())].into_iter().collect(),
        ..tolerating("")
    };
    let mut cordoned = big_node().build();
    cordoned.unschedulable = true;
    let mut tainted = big_node().build();
    tainted.taints = [Taint { key: "a".into(), value: "".into(), effect: "NoSchedule".into() }].into();
    let full = used(110, Resources::default());
    let requests = Resources::default();
    for (name, requirements, node, used, expected) in [
        ("cordoned", Requirements::default(), &cordoned, &full, blocked(Predicate::Unschedulable, false)),
        (
            "cordon tolerated",
            tolerating("node.kubernetes.io/unschedulable"),
            &cordoned,
            &full,
            blocked(Predicate::Resources, true),
        ),
        ("tainted", Requirements::default(), &tainted, &full, blocked(Predicate::Taints, false)),
        ("taint tolerated", tolerating("a"), &tainted, &Used::default(), Verdict::Fits),
        ("selector", elsewhere, &tainted, &full, blocked(Predicate::NodeAffinity, false)),
    ] {
        let demand = Demand { requests: &requests, requirements: &requirements, host_ports: &[] };
        assert_eq!(demand.fits(node, used, &[]), expected, "{name}");
    }
}

/// Few enough to try them all.
#[test]
fn counting_how_often_a_pod_fits_is_placing_it_again_and_again() {
    let mut node = node("n").allocatable(resources(10, 10, 10)).build();
    node.allowed_pods = 8;
    let requirements = Requirements::default();
    let shapes = |cpu, memory, gpus| -> Vec<Resources> {
        let pairs = (0..cpu).flat_map(|cpu| (0..memory).map(move |memory| (cpu, memory)));
        pairs.flat_map(|(cpu, memory)| (0..gpus).map(move |gpus| resources(cpu, memory, gpus))).collect()
    };
    let taken = shapes(12, 12, 12);
    for requests in shapes(5, 4, 3) {
        let demand = Demand { requests: &requests, requirements: &requirements, host_ports: &[] };
        for resources in &taken {
            for pods in 0..10 {
                let mut used = used(pods, resources.clone());
                let counted = demand.capacity(&node, &used);
                let mut placed = 0;
                while demand.fits(&node, &used, &[]) == Verdict::Fits {
                    used.arrive(&requests);
                    placed += 1;
                }
                assert_eq!(counted, placed, "{requests:?} where {pods} pods have taken {resources:?}");
            }
        }
    }
}

#[test]
fn a_port_of_the_host_is_taken_by_one_pod_and_could_be_given_up() {
    let port = |number| HostPort { ip: None, protocol: "TCP".into(), number };
    let occupying = |ports: &[i32]| {
        let host_ports = ports.iter().map(|number| port(*number)).collect();
        let mut pod = pod("p").build();
        pod.constraints = Some(Arc::new(PodConstraints { host_ports, ..PodConstraints::default() }));
        Arc::new(pod)
    };
    let applicant = occupying(&[80, 443]);
    for (name, pods, expected) in [
        ("nobody is there", vec![], Verdict::Fits),
        ("other ports", vec![occupying(&[]), occupying(&[81])], Verdict::Fits),
        ("one of the two", vec![occupying(&[81]), occupying(&[443])], blocked(Predicate::HostPorts, true)),
    ] {
        let verdict = Demand::of(&applicant).fits(&big_node().build(), &Used::default(), &pods);
        assert_eq!(verdict, expected, "{name}");
    }
}
