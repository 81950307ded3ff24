//! `berth demo`, as somebody runs it who has just built Berth.

use std::io;
use std::process::{Command, Output};

fn demo() -> io::Result<Output> {
    let program = env!("CARGO_BIN_EXE_berth");
    Command::new(program).arg("demo").output()
}

#[test]
fn the_story_is_told_to_its_end_in_plain_text() {
    let output = demo().expect("berth demo starts");
    let told = String::from_utf8(output.stdout).expect("text");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}\n{complaints}", output.status);
    assert!(complaints.is_empty(), "{complaints}");
    assert!(!told.contains('\x1b'), "escape codes where nobody can see colours");
    for line in told.lines() {
        assert!(line.chars().count() <= 80, "wider than a terminal: {line}");
    }
    for zone in ["a", "b", "c"] {
        let header = format!("zone-{zone}");
        // Before, after, and full; the sums by zone come on top.
        assert!(told.matches(&header).count() >= 3, "{header} is not on all maps");
        for rack in 1..=4 {
            assert_eq!(told.matches(&format!("rack-{zone}{rack} [")).count(), 3, "rack-{zone}{rack}");
        }
    }
    for expected in [
        "Berth has read 60 nodes and 12 pods",
        "156 of 156 pods have a node",
        "all of it over 1 TCP connection",
        "a member of llm would cost its replica",
        "has room as well, but filter names",
        "llm has 4 of 4 members",
        "229 pods bound; Berth knows 239 pods",
        r#"400  {"error":"exactly one of NodeNames and Nodes must be given"}"#,
        "is already assigned to node",
        "0 entries left in the ledger",
        "berth serve --snapshot",
        "make test",
    ] {
        assert!(told.contains(expected), "not told: {expected}\n{told}");
    }
}

#[test]
fn the_squares_add_up_to_the_pods_placed() {
    let told = String::from_utf8(demo().expect("berth demo starts").stdout).expect("text");
    let maps: Vec<usize> = told
        .lines()
        .filter(|line| line.contains("rack-"))
        .map(|line| line.split(['[', ']']).filter_map(|square| square.parse::<usize>().ok()).sum())
        .collect();
    // Four lines of racks per map.
    assert_eq!(maps.len(), 12, "{told}");
    assert_eq!(maps[..4].iter().sum::<usize>(), 12);
    assert_eq!(maps[4..8].iter().sum::<usize>(), 168);
    assert_eq!(maps[8..].iter().sum::<usize>(), 239, "full, but for the place of the pod that has finished");
}

#[test]
fn the_same_story_is_told_every_time() {
    // Addresses and times differ from run to run, the map must not.
    let map = || {
        let told = String::from_utf8(demo().expect("berth demo starts").stdout).expect("text");
        told.lines().filter(|line| line.contains("rack-")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(map(), map());
}
