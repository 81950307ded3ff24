//! Room is not held for ever.

use super::Violation;
use crate::objects;
use crate::scenario::Needs;
use crate::truth::Pod;
use crate::world::World;

impl World<'_> {
    /// Long after the last sign of life of any group: whoever fits on a node is let in there.
    pub fn check_expiry(&mut self) -> Result<(), Violation> {
        // After a start, room for groups that run already is kept from the first call on.
        let _ = self.berth.filter(&objects::pod(&probe(1), &self.truth), &[]);
        // What one group gives up another may be owed, for as long again.
        for _ in 0..=self.truth.groups.len() {
            self.pass_long();
            self.berth.owed();
        }
        let occupancy = self.occupancy();
        let nodes: Vec<_> = self.truth.nodes.values().cloned().collect();
        for node in nodes {
            let cpu = occupancy.free_cpu(&node);
            if cpu < 1 {
                continue;
            }
            let probe = objects::pod(&probe(cpu), &self.truth);
            let answer = self.berth.filter(&probe, std::slice::from_ref(&node.name));
            // It was only a question: nothing is to be remembered of it.
            let _ = self.berth.filter(&probe, &[]);
            if answer.as_deref() != Ok(std::slice::from_ref(&node.name)) {
                let text = format!("a pod that asks for {cpu} CPUs is kept from {}: {answer:?}", node.name);
                return Err(Violation::new("no room is held for ever", text));
            }
        }
        Ok(())
    }
}

fn probe(cpu: i64) -> Pod {
    Pod {
        uid: "probe".to_owned(),
        name: "probe".to_owned(),
        namespace: "red",
        team: "probe".to_owned(),
        part: None,
        needs: Needs { cpu, gpus: 0, ssd: false, tolerates: true, apart: false, port: None },
        priority: 0,
        node: None,
        leaving: false,
        finished: false,
        failures: 0,
        claim: None,
        marks: Vec::new(),
    }
}
