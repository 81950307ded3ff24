//! A member that is gone comes back into the domain of its group: its room is kept from that moment on.

use crate::scenario::Kind;
use crate::world::World;

impl World<'_> {
    /// A member is deleted: from now on its room is kept for its successor, for one time to live.
    pub fn lose_member(&mut self, uid: &str) {
        let pod = &self.truth.pods[uid];
        let (Some(part), had_place) = (pod.part.clone(), pod.node.is_some()) else { return };
        let (set, whole) = (self.truth.set_of(part.group), self.truth.is_whole(part.group));
        // Nobody describes the successor if members differ.
        let is_guessed = set.kind == Kind::Annotated && !set.is_uniform();
        let now = self.now;
        let record = &mut self.truth.groups[part.group].record;
        record.excused |= is_guessed;
        record.expects_preferred = false;
        record.attempted = Some(now);
        if had_place && !record.excused {
            record.lost_member = true;
            record.progress = now;
            if whole {
                record.since = now;
            }
        }
    }

    /// A member that was leaving is gone: it is from now on that its room is kept.
    pub fn extend_recovery(&mut self, uid: &str) {
        let Some(part) = self.truth.pods.get(uid).and_then(|pod| pod.part.clone()) else { return };
        let record = &mut self.truth.groups[part.group].record;
        record.attempted = Some(self.now);
        if record.lost_member && !record.excused {
            record.progress = self.now;
        }
    }
}
