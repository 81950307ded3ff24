//! The configuration file is picked up when it changes.

use std::os::unix::fs::symlink;
use std::path::Path;

use berth::app::Source;

use crate::support::running::Running;
use crate::support::small_cluster::{CONFIG_HEAD, SNAPSHOT};
use crate::support::waiting::until_true;

fn reloads(berth: &Running, result: &str) -> u64 {
    berth.count(&format!("berth_config_reloads_total{{result=\"{result}\"}}"))
}

fn in_force(berth: &Running, setting: &str) -> bool {
    berth.admin("/configz").body.contains(setting)
}

#[test]
fn a_good_change_takes_effect_and_a_bad_one_does_not() {
    let berth = Running::start("server: {ledgerTtl: 30s}\n");
    let file = berth.directory.path().join("berth.yaml");
    let write = |text: &str| std::fs::write(&file, format!("{CONFIG_HEAD}{text}")).expect("written");
    assert!(in_force(&berth, r#""ledgerTtl":"30s""#));
    assert_eq!((reloads(&berth, "success"), reloads(&berth, "failure")), (0, 0));

    write("server: {ledgerTtl: 45s, limits: {maxBodyBytes: 10}}\n");
    until_true("the change is taken up", || reloads(&berth, "success") == 1);
    assert!(in_force(&berth, r#""ledgerTtl":"45s""#));
    assert_eq!(berth.post("/filter", "longer than ten bytes").status, 413, "and is what requests meet");

    write("server: {ledgerTtl: soon}\n");
    until_true("the bad change is noticed", || reloads(&berth, "failure") == 1);
    assert!(in_force(&berth, r#""ledgerTtl":"45s""#), "the old one stays");
    assert_eq!(berth.count("berth_config_current"), 0);
    assert_eq!(berth.admin("/readyz").status, 200, "and nobody is worse off");

    std::fs::remove_file(&file).expect("removed");
    until_true("that the file is gone is noticed", || reloads(&berth, "failure") == 2);
    assert!(in_force(&berth, r#""ledgerTtl":"45s""#), "the old one stays");

    write("server: {ledgerTtl: 50s}\n");
    until_true("a good file is taken up again", || reloads(&berth, "success") == 2);
    assert!(in_force(&berth, r#""ledgerTtl":"50s""#));
    assert_eq!(berth.count("berth_config_current"), 1);
}

#[test]
fn what_takes_effect_at_the_next_start_is_not_shown_before_but_listed() {
    let berth = Running::start("server: {timeouts: {idle: 100s}}\n");
    let file = berth.directory.path().join("berth.yaml");
    let write = |text: &str| std::fs::write(&file, format!("{CONFIG_HEAD}{text}")).expect("written");
    let shown = || -> serde_json::Value {
        serde_json::from_str(&berth.admin("/configz").body).expect("what is shown is JSON")
    };
    let before = shown();
    assert_eq!(before["server"]["timeouts"]["idle"], "100s");
    assert!(before.get("pendingRestart").is_none(), "{before}");

    write(
        "server:\n  tls: {certFile: a, keyFile: b}\n  insecure: true\n  ledgerTtl: 45s\n  limits: {maxConnections: 7}\n  \
         timeouts: {idle: 200s, bind: 1s, drain: 1s, body: 3s}\n",
    );
    until_true("the change is taken up", || reloads(&berth, "success") == 1);
    let mut after = shown();
    let fields = [
        "server.tls",
        "server.insecure",
        "server.limits.maxConnections",
        "server.timeouts.idle",
        "server.timeouts.bind",
        "server.timeouts.drain",
    ];
    assert_eq!(after["pendingRestart"], serde_json::json!(fields));
    assert_eq!(
        (&after["server"]["ledgerTtl"], &after["server"]["timeouts"]["body"]),
        (&"45s".into(), &"3s".into())
    );
    after["server"]["ledgerTtl"] = before["server"]["ledgerTtl"].clone();
    after["server"]["timeouts"]["body"] = before["server"]["timeouts"]["body"].clone();
    after.as_object_mut().expect("a mapping").remove("pendingRestart");
    assert_eq!(after, before, "all else is as it was");

    write("server: {timeouts: {idle: 100s}, ledgerTtl: 46s}\n");
    until_true("what was taken back waits for nothing", || reloads(&berth, "success") == 2);
    assert!(shown().get("pendingRestart").is_none());
}

/// Lays a version down and swaps the link to it, as the kubelet does.
fn publish(volume: &Path, version: &str, text: &str) {
    let data = volume.join(version);
    std::fs::create_dir(&data).expect("a directory");
    std::fs::write(data.join("berth.yaml"), format!("{CONFIG_HEAD}{text}")).expect("written");
    symlink(version, volume.join("..data_tmp")).expect("a link");
    std::fs::rename(volume.join("..data_tmp"), volume.join("..data")).expect("swapped");
}

#[test]
fn a_config_map_volume_that_swaps_its_link_is_noticed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let volume = directory.path().to_owned();
    publish(&volume, "..2026_01_01", "server: {ledgerTtl: 31s}\n");
    let file = volume.join("berth.yaml");
    symlink("..data/berth.yaml", &file).expect("a link");
    let berth = Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()));
    assert!(in_force(&berth, r#""ledgerTtl":"31s""#));

    publish(&volume, "..2026_01_02", "server: {ledgerTtl: 32s}\n");
    std::fs::remove_dir_all(volume.join("..2026_01_01")).expect("removed");
    until_true("the swap is noticed", || in_force(&berth, r#""ledgerTtl":"32s""#));
    assert_eq!((reloads(&berth, "success"), reloads(&berth, "failure")), (1, 0));
}

const SPREAD_CLUSTER: &str = r#"{"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},
     "spec":{"selector":{"app":"web"}}},
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"example.com/rack":"r1"}}},
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n2","labels":{"example.com/rack":"r2"}}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"old","namespace":"default","uid":"old",
     "labels":{"app":"web"}},"spec":{"nodeName":"n1"}}]}"#;

#[test]
fn new_spreading_rules_hold_from_the_next_call() {
    let rules = |constraints: &str| {
        format!(
            "{CONFIG_HEAD}topologySpread: {{defaultingType: List, defaultConstraints: [{constraints}]}}\n"
        )
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, rules("")).expect("written");
    let source = Source::SnapshotText(SPREAD_CLUSTER.to_owned());
    let berth = Running::start_with(directory, file.clone(), source);
    let passing = || {
        let pod = r#"{"metadata":{"name":"new","namespace":"default","uid":"new","labels":{"app":"web"}}}"#;
        let answer = berth.post("/filter", format!(r#"{{"Pod":{pod},"NodeNames":["n1","n2"]}}"#));
        let answer: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        answer["NodeNames"].to_string()
    };
    assert_eq!(passing(), r#"["n1","n2"]"#, "no rules yet");

    let hard = "{maxSkew: 1, topologyKey: example.com/rack, whenUnsatisfiable: DoNotSchedule}";
    std::fs::write(&file, rules(hard)).expect("written");
    until_true("the rules are taken up", || reloads(&berth, "success") == 1);
    assert_eq!(passing(), r#"["n2"]"#, "r1 has a pod more than r2");

    std::fs::write(&file, rules("")).expect("written");
    until_true("the rules are taken back", || reloads(&berth, "success") == 2);
    assert_eq!(passing(), r#"["n1","n2"]"#, "and no rules again");
}

#[test]
fn preferring_nominated_nodes_can_be_switched_off_and_on_again() {
    let berth = Running::start("nominatedNode: {policy: Prefer}\n");
    let file = berth.directory.path().join("berth.yaml");
    let write = |text: &str| std::fs::write(&file, format!("{CONFIG_HEAD}{text}")).expect("written");
    let passing = || {
        let pod = r#"{"metadata":{"name":"p","uid":"u"},"status":{"nominatedNodeName":"node-b"}}"#;
        let answer = berth.post("/filter", format!(r#"{{"Pod":{pod},"NodeNames":["node-a","node-b"]}}"#));
        let answer: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        answer["NodeNames"].to_string()
    };
    assert_eq!(passing(), r#"["node-b"]"#);
    write("nominatedNode: {policy: Disabled}\n");
    until_true("it is off", || reloads(&berth, "success") == 1);
    assert_eq!(passing(), r#"["node-a","node-b"]"#);
    write("nominatedNode: {}\n");
    until_true("it is on again", || reloads(&berth, "success") == 2);
    assert_eq!(passing(), r#"["node-b"]"#);
}

#[test]
fn preemption_can_be_observed_before_it_is_enforced() {
    let berth = Running::start("preemption: {mode: Observe}\n");
    let file = berth.directory.path().join("berth.yaml");
    let write = |text: &str| std::fs::write(&file, format!("{CONFIG_HEAD}{text}")).expect("written");
    let kept = || {
        let candidates = r#""node-a":{"Pods":[{"UID":"uid-runs"}],"NumPDBViolations":1},
            "node-b":{"Pods":[],"NumPDBViolations":0}"#;
        let body =
            format!(r#"{{"Pod":{{"metadata":{{"name":"p"}}}},"NodeNameToMetaVictims":{{{candidates}}}}}"#);
        let answer = berth.post("/preempt", body);
        let answer: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        answer["NodeNameToMetaVictims"].as_object().expect("a map").len()
    };
    let counted = |mode: &str| {
        berth.count(&format!("berth_preemption_candidates_total{{mode=\"{mode}\",outcome=\"kept\"}}"))
    };
    assert_eq!((kept(), counted("observe"), counted("enforce")), (2, 1, 0));
    write("preemption: {mode: Enforce, decideUpTo: Node}\n");
    until_true("it is enforced", || reloads(&berth, "success") == 1);
    assert_eq!((kept(), counted("observe"), counted("enforce")), (2, 1, 1));
    write("preemption: {decideUpTo: Weather}\n");
    until_true("nonsense is refused", || reloads(&berth, "failure") == 1);
    assert!(in_force(&berth, r#""decideUpTo":"Node""#), "and the old settings stay");
}
