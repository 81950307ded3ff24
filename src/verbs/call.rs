//! Calls, decoded once.

use std::sync::Arc;

use crate::json::{self, Interner, PodObject};
use crate::model::{ObjectKey, Pod};
use crate::view::View;
use crate::wire::{Candidates, NodeVictims, PreemptArgs, SchedulingArgs, WireError};

/// The pod of a call, slimmed, with its part in a group.
pub struct CalledPod {
    pod: Arc<Pod>,
    /// [`View::recognition`] of the view that said so.
    recognition: u64,
}

impl CalledPod {
    /// The pod with its part in a group as a view sees it.
    pub fn new(pod: Arc<Pod>, view: &View) -> Self {
        Self { pod: recognised(pod, view), recognition: view.recognition() }
    }

    /// Its namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.pod.key
    }

    /// The pod as the call tells it.
    pub fn pod(&self) -> &Pod {
        &self.pod
    }

    /// Whether deciding about it means looking for room for a whole group. All other decisions take a glance at each node.
    pub fn is_placed_with_its_group(&self) -> bool {
        self.pod.is_placed_with_its_group()
    }

    fn read(object: &PodObject, interner: &Interner, view: &View) -> Self {
        Self::new(Arc::new(json::pod(object, interner)), view)
    }

    /// The pod as a view sees it, which may have been published since the call was decoded. Its group is recognised
    /// again only if groups are recognised differently there.
    pub fn seen_by(&self, view: &View) -> Arc<Pod> {
        if self.recognition == view.recognition() {
            self.pod.clone()
        } else {
            recognised(self.pod.clone(), view)
        }
    }
}

fn recognised(mut pod: Arc<Pod>, view: &View) -> Arc<Pod> {
    view.recognise_group(&mut pod);
    pod
}

/// A filter or prioritize call.
pub struct SchedulingCall<'a> {
    /// The pod to place.
    pub pod: CalledPod,
    /// The nodes to choose from.
    pub candidates: Candidates<'a>,
}

impl<'a> SchedulingCall<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8], interner: &Interner, view: &View) -> Result<Self, WireError> {
        let SchedulingArgs { pod, candidates } = SchedulingArgs::decode(body)?;
        Ok(Self { pod: CalledPod::read(&pod, interner, view), candidates })
    }
}

/// A preempt call.
pub struct PreemptCall<'a> {
    /// The pod that wants room.
    pub pod: CalledPod,
    /// What each candidate node would lose, in the caller's order.
    pub offered: Vec<NodeVictims<'a>>,
}

impl<'a> PreemptCall<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8], interner: &Interner, view: &View) -> Result<Self, WireError> {
        let PreemptArgs { pod, candidates } = PreemptArgs::decode(body)?;
        Ok(Self { pod: CalledPod::read(&pod, interner, view), offered: candidates })
    }
}
