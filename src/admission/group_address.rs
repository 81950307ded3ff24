//! How members of a group find each other through the group's own Service (KEP-173 of `LeaderWorkerSet`): the Service is
//! their subdomain, and a variable has the address of the first member.
//!
//! Nothing is overwritten that somebody chose. What the webhook of `LeaderWorkerSet` fills in where nobody chose, the name of
//! the set and the address made from it, is known by its value and replaced; so it does not matter which of both is asked
//! first.

use serde_json::{Value, json};

use super::patch::Operation;
use super::{Change, Mutation, Refusal, Subject};
use crate::group_services::{Address, address};
use crate::model::group::keys;

/// See the top of this file.
pub(super) const MUTATION: Mutation = Mutation { concerns, change };

const SUBDOMAIN: [&str; 2] = ["spec", "subdomain"];
const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];
/// Lists of containers that see the variable. Ephemeral ones are not there when a pod is created.
const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

fn concerns(subject: &Subject<'_>) -> bool {
    subject.config.replica_groups.services.enabled && subject.membership().is_some()
}

#[expect(clippy::unnecessary_wraps, reason = "as all mutations are asked; this one refuses nobody")]
fn change(subject: &Subject<'_>, object: &Value) -> Result<Change, Refusal> {
    let mut change = Change::default();
    let Some(address) = address(subject.pod, subject.view) else { return Ok(change) };
    let service = &*address.service;
    let subdomain = object["spec"]["subdomain"].as_str().unwrap_or_default();
    if !is_free(subdomain, service, address.default_subdomain.as_deref()) {
        change.warnings.push(format!(
            "spec.subdomain is {subdomain}: the pod has no host name in {service}, the Service of its replica group, and is \
             told no address of the leader there"
        ));
        return Ok(change);
    }
    if subdomain != service {
        change.operations.push(Operation::add(&SUBDOMAIN, service.into()));
    }
    if subject.pod.annotations.get(keys::SERVICE_NAME).map(|told| &**told) != Some(service) {
        change.operations.push(Operation::add_pair(object, &ANNOTATIONS, keys::SERVICE_NAME, service));
    }
    change.operations.extend(variables(subject, object, &address));
    Ok(change)
}

/// Whether nobody has chosen another subdomain.
fn is_free(subdomain: &str, service: &str, default: Option<&str>) -> bool {
    subdomain.is_empty() || subdomain == service || Some(subdomain) == default
}

/// The variable with the leader's address, in every container that has none.
fn variables(subject: &Subject<'_>, object: &Value, address: &Address) -> Vec<Operation> {
    let by_setting = &*subject.config.replica_groups.services.leader_address_variable;
    let variable = address.variable.unwrap_or(by_setting);
    let Some(leader) = address.leader.as_deref().filter(|_| !variable.is_empty()) else { return Vec::new() };
    let namespace = &subject.pod.key.namespace;
    let wanted = format!("{leader}.{}.{namespace}", address.service);
    let default = address.default_subdomain.as_ref();
    let default = default.map(|subdomain| format!("{leader}.{subdomain}.{namespace}"));
    let mut operations = Vec::new();
    for list in CONTAINERS {
        let containers = object["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, container) in containers.iter().enumerate() {
            let place = at.to_string();
            let env = ["spec", list, &place, "env"];
            let entries = container["env"].as_array().map(Vec::as_slice).unwrap_or_default();
            operations.extend(match entries.iter().position(|entry| entry["name"] == variable) {
                // First of all, so that other variables can be made from it.
                None => Some(Operation::prepend(object, &env, json!({"name": variable, "value": wanted}))),
                Some(known) if is_default(&entries[known], default.as_deref()) => {
                    let known = known.to_string();
                    Some(Operation::add(&[&env[..], &[&known, "value"]].concat(), wanted.as_str().into()))
                }
                Some(_) => None,
            });
        }
    }
    operations
}

/// Whether a variable is what its controller's webhook made it.
fn is_default(entry: &Value, default: Option<&str>) -> bool {
    let value = entry["value"].as_str();
    value.is_some() && value == default && entry["valueFrom"].is_null()
}
