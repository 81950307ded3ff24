//! Writes what is due, some at a time.

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::super::Verbs;
use crate::cluster::nominator::{Nomination, Written};
use crate::model::Uid;

/// How many are written at a time: a burst must not take the API server from others. As many as bindings.
const AT_ONCE: usize = 32;

impl Verbs {
    /// Writes nominations as they fall due.
    pub async fn write_nominations(&self) {
        let outbox = &self.nominations.outbox;
        outbox.forget_writers();
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < AT_ONCE {
                let Some(nomination) = outbox.take() else { break };
                // It may have waited for its turn for longer than the pod did.
                if self.nominations.is_still_due(&nomination, &self.store.snapshot()) {
                    under_way.push(self.write(nomination));
                } else {
                    outbox.done(&nomination.uid);
                }
            }
            tokio::select! {
                Some(uid) = under_way.next() => outbox.done(&uid),
                () = outbox.filled() => {}
            }
        }
    }

    async fn write(&self, nomination: Nomination) -> Uid {
        let result = match (self.nominations.nominator.write(&nomination).await, &nomination.node) {
            (Ok(Written::Superseded), _) => "superseded",
            (Ok(Written::Done), Some(_)) => "written",
            (Ok(Written::Done), None) => "taken_back",
            (Err(error), _) => {
                tracing::debug!(pod = %nomination.pod, error, "nomination not written");
                self.nominations.forget_wanted(&nomination);
                "failed"
            }
        };
        self.metrics.nominations.with_label_values(&[result]).inc();
        nomination.uid
    }
}
