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
    // Without Berth and with it, before the story and in it, and after the first group; then on the last map.
    assert_eq!(told.matches("rack-a5 [").count(), 6, "rack-a5");
    for expected in [
        "Berth has read 60 nodes and 12 pods",
        "156 of 156 pods have a node",
        "all of it over 1 TCP connection",
        "a member of llm would cost its replica",
        "has room as well, but filter names",
        "llm has 4 of 4 members",
        "265 pods bound; Berth knows 259 pods",
        "Neither runs, and neither makes room.",
        "alpha is whole: 16 of 16 pods in rack-a5",
        "5 nodes: replica group does not fit as a whole into the required domain,",
        "room is reserved for another",
        "room is reserved for a replica group",
        "beta is whole: 16 of 16 pods in rack-a5",
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
        .filter(|line| line.starts_with("  rack-"))
        .map(|line| line.split(['[', ']']).filter_map(|square| square.parse::<usize>().ok()).sum())
        .collect();
    // Four lines of racks per map, and on the last one the rack that has joined.
    assert_eq!(maps.len(), 13, "{told}");
    assert_eq!(maps[..4].iter().sum::<usize>(), 12);
    assert_eq!(maps[4..8].iter().sum::<usize>(), 168);
    assert_eq!(maps[8..].iter().sum::<usize>(), 259, "full, but for the place of the pod that has finished");
}

#[test]
fn the_letters_add_up_to_groups_that_are_whole_or_absent_but_for_the_wedge() {
    let told = String::from_utf8(demo().expect("berth demo starts").stdout).expect("text");
    let pictures: Vec<_> = told.lines().filter(|line| line.starts_with("      rack-a5 [")).collect();
    let count = |picture: &str, letter: char| picture.matches(letter).count();
    let [wedge, first, second] = pictures[..] else { panic!("three pictures:\n{told}") };
    for (picture, members) in [(first, (16, 0)), (second, (0, 16))] {
        assert_eq!((count(picture, 'A'), count(picture, 'B')), members, "{picture}");
    }
    assert!((1..16).contains(&count(wedge, 'A')) && (1..16).contains(&count(wedge, 'B')), "{wedge}");
    for picture in pictures {
        let places: usize =
            "ABs.".chars().map(|letter| count(picture.trim_start_matches("      rack-a5"), letter)).sum();
        assert_eq!(places, 20, "{picture}");
    }
}

#[test]
fn it_begins_with_the_wedge_and_ends_with_what_was_shown() {
    let told = String::from_utf8(demo().expect("berth demo starts").stdout).expect("text");
    let picture = |beginning: &str| {
        let line = told.lines().position(|line| line.starts_with(beginning));
        let line = line.unwrap_or_else(|| panic!("no {beginning:?} in\n{told}"));
        (
            line,
            told.lines().nth(line).map(|line| line[beginning.len()..].trim().to_owned()).unwrap_or_default(),
        )
    };
    let (unaided, aided) = (picture("  pod by pod "), picture("  with Berth "));
    assert!(aided.0 < 10, "before anything else:\n{told}");
    let story: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("      rack-a5 [")).collect();
    for (at, (_, lead)) in [unaided, aided].iter().enumerate() {
        assert_eq!(lead.strip_prefix("rack-a5 ["), Some(story[at]), "what the story shows itself");
    }
    let last: Vec<_> = told.lines().rev().take(3).collect();
    for (line, says) in last.iter().rev().zip([
        ["groups", "of 16 run; with Berth 16 of 16"],
        ["spreading", "web spread"],
        ["eviction", "llm keeps 4 of 4 members"],
    ]) {
        assert!(says.iter().all(|part| line.contains(part)), "{says:?} in {line:?}");
    }
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
