//! Members that nobody has seen yet and that no object behind the group describes.
//!
//! A controller makes all its pods from one template. So a member that is there tells what those ask for that its controller
//! has still to make. A stateful set may make the next one only when the last one is ready: to wait for it would be in vain.

use crate::model::group::DescribedBy;
use crate::model::{Kind, ObjectKey, Pod};
use crate::view::View;

/// Members that are there, and how many more like each of them are to come.
pub struct Siblings<'a>(Vec<(&'a Pod, usize)>);

impl<'a> Siblings<'a> {
    /// Of the group of a member.
    pub fn in_group_of(member: &'a Pod, view: &'a View) -> Self {
        let Some(membership) = &member.group else { return Self(Vec::new()) };
        match membership.group.source.described_by() {
            // It is not known (yet). Controllers of members may make those of other groups as well.
            DescribedBy::Object => return Self(Vec::new()),
            DescribedBy::AnyMember => return Self(vec![(member, usize::MAX)]),
            DescribedBy::Controllers => {}
        }
        let mut members: Vec<_> = view.members_of(&membership.group).collect();
        if !members.iter().any(|known| known.uid == member.uid) {
            members.push(member);
        }
        // In a certain order, for the order in which members are seen must not change a plan.
        members.sort_by(|a, b| a.key.cmp(&b.key));
        let mut made_by: Vec<((Kind, ObjectKey), &Pod, usize)> = Vec::new();
        for member in members {
            let Some(workload) = member.workload() else { continue };
            match made_by.iter_mut().find(|(known, ..)| *known == workload) {
                Some((_, _, count)) => *count += 1,
                None => made_by.push((workload, member, 1)),
            }
        }
        let left = made_by.into_iter().filter_map(|((kind, key), member, made)| {
            let to_make = view.workload(kind, &key)?.replicas as usize;
            Some((member, to_make.saturating_sub(made)))
        });
        Self(left.collect())
    }

    /// One that the next member to come will be like.
    pub fn next(&mut self) -> Option<&'a Pod> {
        let (member, left) = self.0.iter_mut().find(|(_, left)| *left > 0)?;
        *left -= 1;
        Some(member)
    }
}
