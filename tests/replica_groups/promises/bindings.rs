//! What must hold when a member is bound.

use super::Violation;
use crate::scenario::NodeSpec;
use crate::truth::{Part, Pod};
use crate::world::World;

impl World<'_> {
    pub fn check_binding(&self, pod: &Pod, node: &str) -> Result<(), Violation> {
        let (Some(part), Some(node)) = (&pod.part, self.truth.nodes.get(node)) else { return Ok(()) };
        self.check_together(pod, part, node)?;
        self.check_preferred(pod, part, node)?;
        self.check_alone(pod, part, node)
    }

    fn check_together(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let (set, record) = (self.truth.set_of(part.group), &self.truth.groups[part.group].record);
        let Some(level) = set.required.filter(|_| !record.disturbed) else { return Ok(()) };
        let domain = node.domain(level);
        let apart = self
            .truth
            .running_members(part.group)
            .find(|(_, other)| domain.is_none() || other.domain(level) != domain);
        match apart {
            Some((other, place)) => {
                let text =
                    format!("{} goes to {}, but {} is on {}", pod.uid, node.name, other.uid, place.name);
                Err(Violation::new("together", text))
            }
            None if domain.is_none() => {
                Err(Violation::new("together", format!("{} goes to {} in no domain", pod.uid, node.name)))
            }
            None => Ok(()),
        }
    }

    fn check_preferred(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let (set, record) = (self.truth.set_of(part.group), &self.truth.groups[part.group].record);
        let expected = record.expects_preferred && !record.excused && !record.disturbed;
        let Some(level) = set.preferred.filter(|_| expected) else { return Ok(()) };
        let domain = node.domain(level);
        match self.truth.running_members(part.group).find(|(_, other)| other.domain(level) != domain) {
            Some((other, place)) => {
                let text =
                    format!("{} goes to {}, but {} is on {}", pod.uid, node.name, other.uid, place.name);
                Err(Violation::new("preferred where possible", text))
            }
            None => Ok(()),
        }
    }

    fn check_alone(&self, pod: &Pod, part: &Part, node: &NodeSpec) -> Result<(), Violation> {
        let group = part.group;
        if self.truth.groups[group].record.disturbed {
            return Ok(());
        }
        for other in (0..self.truth.groups.len()).filter(|other| !self.truth.groups[*other].record.disturbed)
        {
            // Each measures by its own domains.
            for asking in [group, other] {
                let asked = if asking == group { other } else { group };
                let level = self.truth.set_of(asking).required;
                let Some(level) = level.filter(|_| self.truth.objects(asking, asked)) else { continue };
                let shared = |place: &NodeSpec| {
                    place.domain(level).is_some() && place.domain(level) == node.domain(level)
                };
                if let Some((neighbour, _)) =
                    self.truth.running_members(other).find(|(_, place)| shared(place))
                {
                    let text = format!(
                        "{} goes to {}, where {} is in the same {level:?}",
                        pod.uid, node.name, neighbour.uid
                    );
                    return Err(Violation::new("exclusive", text));
                }
            }
        }
        Ok(())
    }
}
