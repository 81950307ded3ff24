//! Bind: the pod goes to its node.

use std::sync::Arc;

use super::Verbs;
use crate::cluster::binder::{BindError, BindOrder};
use crate::config::Mode;
use crate::model::{Name, ObjectKey, Pod};
use crate::off_loop::off_the_event_loop;
use crate::policy::replica_group::{begins_unforeseen, breach};
use crate::view::View;
use crate::wire::{BindArgs, WireError, reply};

impl Verbs {
    /// Answers bind. The placement is in the ledger before the API server hears of it, so no decision
    /// made meanwhile can miss it.
    pub async fn bind(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let args = BindArgs::decode(body)?;
        let order = BindOrder {
            uid: Name::from(&*args.uid),
            key: ObjectKey::new(&*args.namespace, &*args.name),
            node: self.interner.name(&args.node),
        };
        let mut breach = self.breach_of_beginning(&order);
        let snapshot = self.store.write_by_settings(|view, config, _| {
            // Looked at in the very step that takes the place, so that of two members at once the second sees the first.
            if breach.is_none() && config.replica_groups.mode == Mode::Enforce {
                breach = breach_by(&order, view);
            }
            if breach.is_none() {
                view.assume(&order.uid, &order.key, order.node.clone(), config.server.ledger_ttl.0);
            }
            Vec::new()
        });
        let result = if let Some(reason) = breach {
            Err(BindError::Declined(reason))
        } else {
            self.group_events.bind_called(&order.uid, snapshot.view());
            self.binder.bind(&order).await
        };
        self.record_binding(&order, &result);
        Ok(reply::bind(&result.map_or_else(|error| error.to_string(), |()| String::new())))
    }

    /// Why a first member may not begin where nobody has let it in lately: filter would not let it in now. If it would, room is
    /// reserved for the others.
    fn breach_of_beginning(&self, order: &BindOrder) -> Option<&'static str> {
        let snapshot = self.store.snapshot();
        if snapshot.config().replica_groups.mode != Mode::Enforce {
            return None;
        }
        let pod = shown(order, snapshot.view())?;
        if !begins_unforeseen(pod, &order.node, snapshot.view()) {
            return None;
        }
        breach(pod, &order.node, snapshot.view()).or_else(|| {
            let is_let_in = off_the_event_loop(|| self.lets_in(pod.clone(), &order.node));
            (!is_let_in).then_some("by now the replica group would not be let in there")
        })
    }

    /// Records what became of a binding.
    fn record_binding(&self, order: &BindOrder, result: &Result<(), BindError>) {
        let label = match result {
            Ok(()) => {
                self.group_events.bound(&order.uid, &self.store.view());
                "bound"
            }
            Err(BindError::Refused(_)) => {
                self.store.write(|view| view.refuse(&order.uid, &order.node));
                "refused"
            }
            Err(BindError::Declined(_)) => {
                self.store.write(|view| view.withdraw(&order.uid));
                "declined"
            }
            // Kept in the ledger: the pod may well be on the node.
            Err(BindError::Unknown(_)) => "unknown",
        };
        self.metrics.bindings.with_label_values(&[label]).inc();
        if let Err(error) = result {
            tracing::warn!(pod = %order.key, node = &*order.node, reason = %error, "pod not bound");
        }
    }
}

/// What the bind would break of what groups are promised.
fn breach_by(order: &BindOrder, view: &View) -> Option<&'static str> {
    breach(shown(order, view)?, &order.node, view)
}

/// The pod as the watch shows it, or as it was when it was let in.
fn shown<'v>(order: &BindOrder, view: &'v View) -> Option<&'v Arc<Pod>> {
    view.pod(&order.uid).or_else(|| view.ledger().get(&order.uid).map(|entry| &entry.pod))
}
