//! The last word before a bind: it must not tear a group apart.
//!
//! Filter let the pod in a while ago. Meanwhile its volumes may have taken longer than anybody waited, and the others may
//! have gone elsewhere.

use super::host_set::most_common;
use crate::model::Pod;
use crate::view::View;

/// Whether a member on this node would be in another domain of the required topology than the members in place.
pub fn tears_apart(pod: &Pod, node: &str, view: &View) -> bool {
    let Some((membership, key)) =
        pod.group.as_ref().and_then(|membership| Some((membership, membership.topology.required.as_ref()?)))
    else {
        return false;
    };
    let domain_of = |node: &str| view.node(node).and_then(|node| node.labels.get(key));
    let others = view.placed_members(&membership.group).filter(|member| member.uid != pod.uid);
    let domains = others.filter_map(|member| domain_of(view.place_of(&member.uid)?));
    most_common(domains).0.is_some_and(|anchor| domain_of(node) != Some(anchor))
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Situation, member};
    use super::tears_apart;
    use crate::fixtures::pod;

    #[test]
    fn a_member_joins_the_others_or_is_not_bound() {
        let racks = || Situation::racks(&[("a", &[8]), ("b", &[8, 8])]);
        let placed = |index: usize, node: &str| member("g", index, 4, 1).on(node).build();
        let asking = member("g", 0, 4, 1).build();
        for (name, situation, node, expected) in [
            ("nobody is in place", racks(), "b0", false),
            ("the others are there", racks().with(placed(1, "b0")), "b1", false),
            ("the others are elsewhere", racks().with(placed(1, "a0")), "b1", true),
            (
                "most are",
                racks().with(placed(1, "a0")).with(placed(2, "b0")).with(placed(3, "b1")),
                "a0",
                true,
            ),
            ("the node is not known", racks().with(placed(1, "a0")), "c0", true),
            ("it is bound already", racks().with(placed(0, "a0")), "b0", false),
        ] {
            assert_eq!(tears_apart(&asking, node, &situation.view), expected, "{name}");
        }
        let single = pod("single").build();
        assert!(!tears_apart(&single, "a0", &racks().with(placed(1, "b0")).view));
    }
}
