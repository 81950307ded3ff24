//! What README tells people to type is what Berth reads.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use berth::model::Kind;

const README: &str = include_str!("../README.md");

/// What follows a beginning in its line.
fn after(beginning: &str) -> &'static str {
    README
        .lines()
        .find_map(|line| line.trim().strip_prefix(beginning))
        .expect("a line of the snapshot command")
}

#[test]
fn the_snapshot_command_names_every_kind_that_berth_reads() {
    let everywhere: Vec<_> = after("kinds=").split(',').collect();
    let optional: Vec<_> = after("for kind in ").trim_end_matches("; do").split(' ').collect();
    let expected =
        |is_built_in: bool| Kind::ALL.into_iter().filter(move |kind| kind.is_built_in() == is_built_in);
    let plurals: Vec<_> = expected(true).map(Kind::plural).collect();
    assert_eq!(everywhere, plurals);
    let names: Vec<_> = expected(false).map(|kind| format!("{}.{}", kind.plural(), kind.group())).collect();
    assert_eq!(optional, names);
}

#[test]
fn the_permissions_name_every_kind_that_berth_watches() {
    let paragraph =
        README.split("\n\n").find(|text| text.starts_with("The account needs to `list`")).expect("it");
    for kind in Kind::ALL {
        assert!(paragraph.contains(kind.plural()), "{} are not among the permissions", kind.plural());
    }
}
