//! How often histories reach what they are made for.

use crate::support::random::counts::Counts;

/// What happened in a history.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one thing that may have happened")]
pub struct Seen {
    pub whole: bool,
    pub member_refused: bool,
    pub first_refused: bool,
    pub member_narrowed: bool,
    pub single_kept_out: bool,
    pub exclusive_kept_apart: bool,
    pub preferred_kept: bool,
    pub preferred_left: bool,
    pub asked_to_retry: bool,
    pub restarted_in_pieces: bool,
    pub expired_in_pieces: bool,
    pub waited_for_room: bool,
    pub taken_over: bool,
    pub bound_to_volume: bool,
    pub finished_in_pieces: bool,
    pub spread_chosen: bool,
    pub best_fit_chosen: bool,
    pub recovered: bool,
    pub handed_over_in_pieces: bool,
    pub hostile_reserved: bool,
    pub hostile_limited: bool,
    pub bound_late: bool,
    pub late_bind_declined: bool,
    pub bound_on_its_own: bool,
    pub declined_for_want_of_room: bool,
    pub subgroups_whole: bool,
    pub subgroups_apart: bool,
}

/// What is looked for, and in how many of a thousand histories at least.
type Row = (&'static str, usize, fn(&Seen) -> bool);

const ROWS: [Row; 27] = [
    ("a group is placed whole", 600, |seen| seen.whole),
    ("a member is refused though it would fit as a pod", 400, |seen| seen.member_refused),
    ("so is the first one", 400, |seen| seen.first_refused),
    ("a member may use some of the nodes", 700, |seen| seen.member_narrowed),
    ("a single pod is kept from reserved room", 100, |seen| seen.single_kept_out),
    ("a domain is left to those that want to be alone", 150, |seen| seen.exclusive_kept_apart),
    ("a group is in one preferred domain", 150, |seen| seen.preferred_kept),
    ("a group is in several, for want of room", 30, |seen| seen.preferred_left),
    ("nothing is decided and the pod is to be tried again", 50, |seen| seen.asked_to_retry),
    ("Berth starts anew while a group is in pieces", 30, |seen| seen.restarted_in_pieces),
    ("a reservation expires while a group is in pieces", 50, |seen| seen.expired_in_pieces),
    ("a group waits until there is room", 400, |seen| seen.waited_for_room),
    ("another Berth takes over while a group is in pieces", 20, |seen| seen.taken_over),
    ("a volume keeps a member from nodes where it would fit", 100, |seen| seen.bound_to_volume),
    ("a member finishes while others are missing", 20, |seen| seen.finished_in_pieces),
    ("a bind comes later than its attempt is remembered", 40, |seen| seen.bound_late),
    ("such a bind is declined", 1, |seen| seen.late_bind_declined),
    ("a first member is bound when only the room for the others has expired", 5, |seen| {
        seen.bound_on_its_own
    }),
    ("it is declined for want of that room", 1, |seen| seen.declined_for_want_of_room),
    ("a group of subgroups is placed whole", 30, |seen| seen.subgroups_whole),
    ("its subgroups are in several racks", 20, |seen| seen.subgroups_apart),
    ("a group begins where fewer of its set are", 15, |seen| seen.spread_chosen),
    ("a group begins in the tightest of several domains", 20, |seen| seen.best_fit_chosen),
    ("a group is whole again after it lost a member", 20, |seen| seen.recovered),
    ("kube-scheduler asks another Berth while a group is in pieces", 30, |seen| seen.handed_over_in_pieces),
    ("room is kept for groups of a hostile tenant", 10, |seen| seen.hostile_reserved),
    ("a hostile tenant is told of a limit", 20, |seen| seen.hostile_limited),
];

pub fn counts() -> Counts {
    Counts::new(ROWS.into_iter().map(|(name, least, _)| (name, least)))
}

pub fn count(counts: &mut Counts, seen: &Seen) {
    counts.count(ROWS.into_iter().map(|(_, _, happened)| happened(seen)));
}
