//! Berth, as its callers see it: JSON in, JSON out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth::config::{self, Config};
use berth::json::{Slimmed, slim};
use berth::ledger::Reservation;
use berth::model::Object;
use berth::verbs::{Verb, Verbs};
use berth::view::change::Change;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::scenario::Times;
use crate::truth::Pod;
use crate::watch::Event;

/// Nobody is evicted here, so room that an eviction would make does not count. What is decided must not depend on how busy
/// the machine is.
const CONFIG: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n\
    replicaGroups: {countOnPreemption: false, limits: ";

/// How many members still to come may have room kept for them, of all groups of a namespace.
pub const SLOTS: usize = 100;
/// For how long room is kept at most.
pub const LONGEST: Duration = Duration::from_mins(4);

pub fn config(times: Times) -> Config {
    let exclusive =
        "widestExclusive: Cluster, exclusiveByNamespace: [{namespaces: [hostile], widest: Namespace}]";
    let (slots, longest) = (SLOTS, LONGEST.as_secs());
    let room = format!("slotsPerNamespace: {slots}, longestReservation: {longest}s");
    let (reservation, ledger) = (times.reservation.as_secs(), times.ledger.as_secs());
    let times = format!(
        "reservationTtl: {reservation}s}}\nserver: {{timeouts: {{decision: 60s}}, ledgerTtl: {ledger}s}}"
    );
    config::parse(&format!("{CONFIG}{{{exclusive}, {room}}}, {times}\n")).expect("a sound configuration")
}

pub struct Berth(Verbs);

/// The nodes that are left, and why each of the others is not.
pub type Filtered = (Vec<String>, BTreeMap<String, String>);

/// What is reserved for a group.
#[derive(Debug)]
pub struct Owed {
    pub namespace: String,
    pub in_place: usize,
    domain: Option<String>,
    missing: usize,
    /// What each slot is for.
    slots: Vec<String>,
}

impl Owed {
    /// Whether it is the same, perhaps with some slots to spare.
    pub fn covers(&self, other: &Self) -> bool {
        let mut left = self.slots.clone();
        let has = |slot: &String| left.iter().position(|own| own == slot).map(|at| left.remove(at)).is_some();
        self.domain == other.domain && self.missing == other.missing && other.slots.iter().all(has)
    }
}

impl Berth {
    /// Knows these objects and nothing else.
    pub fn start(config: &Config, api: &ApiServer, objects: impl Iterator<Item = Event>) -> Self {
        let mut verbs = Verbs::in_memory(config.clone(), Vec::new()).expect("metrics");
        verbs.binder = api.binder();
        let berth = Self(verbs);
        berth.hear(objects);
        berth
    }

    pub fn hear(&self, events: impl IntoIterator<Item = Event>) {
        let change = |event| match event {
            Event::Shown(kind, text) => Change::Upsert(self.read(kind, &text)),
            Event::Gone(kind, key) => Change::Remove(kind, key),
        };
        self.0.store.apply(events.into_iter().map(change));
        // As a service of Berth's own does whenever something has changed.
        self.0.bring_reservations_up_to_date().expect("nothing panics");
    }

    fn read(&self, kind: berth::model::Kind, text: &str) -> Object {
        match slim(kind, text, &self.0.interner) {
            Ok(Slimmed::Kept(object)) => object,
            other => panic!("{other:?} of {text}"),
        }
    }

    /// What is reserved, by group.
    pub fn owed(&self) -> BTreeMap<String, Owed> {
        self.0.bring_reservations_up_to_date().expect("nothing panics");
        let view = self.0.store.view();
        let owed = |kept: &Arc<Reservation>| {
            let mut slots: Vec<_> = kept.slots.iter().map(|slot| format!("{:?}", slot.requests)).collect();
            slots.sort_unstable();
            let in_place = view.placed_members(&kept.group).len();
            let domain = kept.domain.as_ref().map(|(_, value)| value.to_string());
            let namespace = kept.group.set.namespace.to_string();
            (format!("{:?}", kept.group), Owed { namespace, in_place, domain, missing: kept.missing, slots })
        };
        view.ledger().reservations().iter().filter(|kept| kept.missing > 0).map(owed).collect()
    }

    /// Whether something that was reserved has expired.
    pub fn has_given_up(&self) -> bool {
        self.0.store.view().ledger().reservations().endings().expired > 0
    }

    pub fn keeps_room(&self) -> bool {
        self.0.store.view().ledger().reservations().iter().any(|kept| !kept.slots.is_empty())
    }

    pub fn has_pods_under_way(&self) -> bool {
        !self.0.store.view().ledger().has_nobody_under_way()
    }

    pub fn advance(&self, time: Duration) {
        self.0.store.write(|view| view.advance(time));
    }

    /// How many slots are kept for groups of a namespace.
    pub fn slots_in(&self, namespace: &str) -> BTreeMap<String, usize> {
        let view = self.0.store.view();
        let reservations = view.ledger().reservations().iter();
        let of_it = reservations.filter(|kept| *kept.group.set.namespace == *namespace);
        of_it.map(|kept| (format!("{:?}", kept.group), kept.slots.len())).collect()
    }

    /// The nodes that are left, or why nothing was decided.
    pub fn filter(&self, pod: &Value, nodes: &[String]) -> Result<Vec<String>, String> {
        self.filter_with_reasons(pod, nodes).map(|(left, _)| left)
    }

    /// The same, and why others are not.
    pub fn filter_with_reasons(&self, pod: &Value, nodes: &[String]) -> Result<Filtered, String> {
        let answer = self.ask(Verb::Filter, pod, nodes);
        let map = |field: &str| -> BTreeMap<String, String> {
            serde_json::from_value(answer[field].clone()).expect("a map of texts")
        };
        match answer["Error"].as_str() {
            Some("") => {
                let left = serde_json::from_value(answer["NodeNames"].clone()).expect("a list of names");
                let mut reasons = map("FailedNodes");
                reasons.extend(map("FailedAndUnresolvableNodes"));
                Ok((left, reasons))
            }
            error => Err(error.unwrap_or("no Error in the answer").to_owned()),
        }
    }

    /// One score per node.
    pub fn prioritize(&self, pod: &Value, nodes: &[String]) -> Vec<i64> {
        let answer = self.ask(Verb::Prioritize, pod, nodes);
        let scores: Vec<i64> =
            answer.as_array().expect("a list").iter().filter_map(|entry| entry["Score"].as_i64()).collect();
        assert_eq!(scores.len(), nodes.len(), "a score for each");
        scores
    }

    fn ask(&self, verb: Verb, pod: &Value, nodes: &[String]) -> Value {
        let body = json!({"Pod": pod, "Nodes": null, "NodeNames": nodes}).to_string();
        let answer = self.0.decide(verb, body.as_bytes()).expect("a sound call").expect("an answer");
        serde_json::from_slice(&answer).expect("JSON")
    }

    /// Whether Berth says that the pod is bound, when the API server answers with this status; `None` if Berth does not
    /// even ask it, because the group is in another domain by now.
    pub fn bind(&self, api: &ApiServer, pod: &Pod, node: &str, status: StatusCode) -> Option<bool> {
        let body =
            json!({"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node})
                .to_string();
        let (answer, asked) = api.answering(status, self.0.bind(body.as_bytes()));
        let path = format!("/api/v1/namespaces/{}/pods/{}/binding", pod.namespace, pod.name);
        let answer = answer.expect("a sound call");
        let text = String::from_utf8_lossy(&answer);
        if asked.is_none() && text.contains("declined") {
            return None;
        }
        assert_eq!(asked.as_deref(), Some(&*path), "the binding goes to the API server");
        Some(text == r#"{"Error":""}"#)
    }
}
