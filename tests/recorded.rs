//! What a real kube-scheduler sent, decoded and answered to the byte. `make record` records anew.
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use std::path::PathBuf;

use berth::config::Config;
use berth::json::{self, Interner};
use berth::verbs::{Verb, Verbs};
use berth::wire::{BindArgs, PreemptArgs, SchedulingArgs};

fn recorded(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `make record`", path.display()))
}

#[tokio::test]
async fn every_verb_in_both_forms_is_answered_to_the_byte() {
    for form in ["names", "objects"] {
        for verb in Verb::ALL {
            let name = verb.label();
            let request = recorded(&format!("{name}-{form}.request.json"));
            let expected = recorded(&format!("{name}-{form}.response.json"));
            let verbs = Verbs::in_memory(Config::default(), Vec::new()).expect("in memory");
            let answer = match verb {
                Verb::Bind => verbs.bind(&request).await.map(Some),
                _ => verbs.decide(verb, &request),
            };
            let answer = answer.unwrap_or_else(|error| panic!("{name} {form}: {error}"));
            let answer = answer.expect("an answer");
            assert_eq!(String::from_utf8_lossy(&answer), String::from_utf8_lossy(&expected), "{name} {form}");
        }
    }
}

#[test]
fn pods_and_candidates_are_what_kube_scheduler_meant() {
    for form in ["names", "objects"] {
        for verb in ["filter", "prioritize"] {
            let request = recorded(&format!("{verb}-{form}.request.json"));
            let args = SchedulingArgs::decode(&request).expect(verb);
            let pod = json::pod(&args.pod, &Interner::default());
            assert_eq!(pod.key.to_string(), "default/first", "{verb} {form}");
            assert_eq!(pod.labels.get("app").map(|value| &**value), Some("web"));
            assert_eq!((pod.node, pod.uid.len()), (None, 36), "{verb} {form}");
            let mut names = args.candidates.names.clone();
            names.sort();
            assert_eq!(names, ["node-a", "node-b"], "{verb} {form}");
            assert_eq!(args.candidates.objects.is_some(), form == "objects");
        }
    }
}

#[test]
fn victims_and_bindings_are_what_kube_scheduler_meant() {
    for form in ["names", "objects"] {
        let request = recorded(&format!("preempt-{form}.request.json"));
        let args = PreemptArgs::decode(&request).expect("victims");
        assert_eq!(json::pod(&args.pod, &Interner::default()).priority, 1000);
        assert_eq!(args.candidates.len(), 2, "{form}");
        for candidate in &args.candidates {
            let uids = candidate.uids.as_ref().expect("victims");
            assert_eq!(uids.iter().map(|uid| uid.len()).collect::<Vec<_>>(), [36], "{form}");
            assert_eq!(candidate.budget_violations, 0);
        }
        let request = recorded(&format!("bind-{form}.request.json"));
        let args = BindArgs::decode(&request).expect("binding");
        assert_eq!((&*args.namespace, &*args.name, args.uid.len()), ("default", "first", 36));
        assert!(args.node.starts_with("node-"));
    }
}
