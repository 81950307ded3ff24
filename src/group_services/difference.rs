//! What has to be done so that those Services are there that are to be.

use std::collections::HashMap;
use std::sync::Arc;

use super::desired::{Care, Desired, Entry};
use crate::model::{ManagedService, Name, ObjectKey, Service};
use crate::view::View;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A Service is missing.
    Create(Entry),
    /// One is not as it was made, or has other owners by now.
    Repair(Entry, Arc<Service>),
    /// One is not wanted any more, or cannot be repaired.
    Delete(ObjectKey, Arc<ManagedService>),
}

impl Action {
    /// The Service that it is about.
    pub(crate) fn key(&self) -> &ObjectKey {
        match self {
            Action::Create(entry) | Action::Repair(entry, _) => &entry.service.key,
            Action::Delete(key, _) => key,
        }
    }

    /// The version of the Service that it was decided on; `None` if there was none.
    pub(crate) fn version(&self) -> Option<&Name> {
        match self {
            Action::Create(_) => None,
            Action::Repair(_, seen) => seen.managed.as_ref().map(|managed| &managed.version),
            Action::Delete(_, managed) => Some(&managed.version),
        }
    }
}

/// What to do. Only Services that Berth made are ever repaired or deleted. Namespaces take turns, so that one with very many
/// groups does not hold up the others.
pub(crate) fn difference(desired: &Desired, view: &View) -> Vec<Action> {
    let mut actions = Vec::new();
    for service in view.all_services() {
        let Some(managed) = service.managed.as_ref().filter(|managed| !managed.terminating) else { continue };
        let entry = desired.services.get(&service.key);
        let entry = entry.filter(|entry| entry.service.made_for == managed.made_for);
        actions.extend(match entry {
            None => Some(Action::Delete(service.key.clone(), managed.clone())),
            Some(entry) if entry.care == Care::None => None,
            // That cannot be changed: it is made anew.
            Some(_) if !managed.is_headless => Some(Action::Delete(service.key.clone(), managed.clone())),
            Some(entry) if is_as_made(entry, service, managed) => None,
            Some(entry) => Some(Action::Repair(entry.clone(), service.clone())),
        });
    }
    let missing = desired.services.values().filter(|entry| entry.care == Care::Full);
    let missing = missing.filter(|entry| view.service(&entry.service.key).is_none());
    actions.extend(missing.cloned().map(Action::Create));
    in_turns(actions)
}

fn is_as_made(entry: &Entry, service: &Service, managed: &ManagedService) -> bool {
    service.selector == entry.service.selector
        && managed.owners == entry.service.owners
        && managed.publishes_not_ready
}

fn in_turns(mut actions: Vec<Action>) -> Vec<Action> {
    actions.sort_by(|a, b| a.key().cmp(b.key()));
    let mut before: HashMap<Name, usize> = HashMap::new();
    let mut turns: Vec<_> = actions
        .into_iter()
        .map(|action| {
            let turn = before.entry(action.key().namespace.clone()).or_default();
            *turn += 1;
            (*turn, action)
        })
        .collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, action)| action).collect()
}
