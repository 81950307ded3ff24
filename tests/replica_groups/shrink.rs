//! What can be left out of a history.

use crate::scenario::Scenario;
use crate::support::random::Shrink;
use crate::support::random::shrink::without_pieces;

impl Shrink for Scenario {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let shorter = without_pieces(&self.steps).map(|steps| Self { steps, ..self.clone() });
        let nodes = without_pieces(&self.nodes).filter(|nodes| !nodes.is_empty());
        shorter.chain(nodes.map(|nodes| Self { nodes, ..self.clone() }))
    }
}
