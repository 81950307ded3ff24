//! What is said on a member when its group gets no Service: once in a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::cluster::EventRecorder;
use crate::cluster::event_recorder::PodEvent;
use crate::model::{Name, ObjectKey, Uid};

/// The same is not said again of a group for so long.
const QUIET: Duration = Duration::from_mins(10);
/// So many different things are said in that time.
const MOST_SAID: usize = 1024;

/// What was said lately, of which group.
#[derive(Default)]
pub(super) struct News(HashMap<(Name, Name, String), Instant>);

impl News {
    /// Says on a member of a group why it has no Service.
    pub(super) fn tell(
        &mut self,
        recorder: &EventRecorder,
        (pod, uid): &(ObjectKey, Uid),
        group: &Name,
        reason: &'static str,
        message: &str,
    ) {
        let now = Instant::now();
        self.0.retain(|_, said| now.duration_since(*said) < QUIET);
        let key = (pod.namespace.clone(), group.clone(), message.to_owned());
        if self.0.contains_key(&key) || self.0.len() >= MOST_SAID {
            return;
        }
        self.0.insert(key, now);
        tracing::warn!(%pod, group = &**group, reason, message, "group has no Service of its own");
        let (pod, uid, message) = (pod.clone(), uid.clone(), message.to_owned());
        recorder.announce(PodEvent { pod, uid, reason, message, is_warning: true });
    }
}
