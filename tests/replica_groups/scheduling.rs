//! kube-scheduler's part: attempts, and bindings in the background.

use berth::model::Kind;
use hyper::StatusCode;

use crate::objects;
use crate::promises::Violation;
use crate::scenario::{Choice, NodeSpec, Outcome, Then};
use crate::world::{Attempt, LAG, World};

impl World<'_> {
    /// One scheduling attempt. Whether it got as far as choosing a node.
    pub fn try_pod(&mut self, uid: &str, choice: Choice) -> Result<bool, Violation> {
        let pod = self.truth.pods[uid].clone();
        if self.watch.hides_namesake_of(&pod) {
            // By name Berth could not tell which of them is the newer one: nobody is a whole generation ahead of it here.
            self.deliver(Kind::Pod, usize::MAX);
        }
        let occupancy = self.occupancy();
        let fits = |node: &&NodeSpec| self.truth.reaches_volume(&pod, node) && occupancy.admits(&pod, node);
        let fitting = self.truth.nodes.values().filter(fits);
        let candidates: Vec<String> = fitting.map(|node| node.name.clone()).collect();
        self.seen.bound_to_volume |= self
            .truth
            .nodes
            .values()
            .any(|node| !self.truth.reaches_volume(&pod, node) && occupancy.admits(&pod, node));
        if candidates.is_empty() {
            self.note(|| format!("{} fits nowhere", pod.uid));
            if self.offers.remove(uid).is_some() {
                // Not what the status said before, so it is written down.
                self.fail(uid);
            }
            return Ok(false);
        }
        let object = objects::pod(&pod, &self.truth);
        self.room_was_kept = self.berth.keeps_room();
        let answer = self.berth.filter_with_reasons(&object, &candidates);
        self.note(|| format!("filter {} {candidates:?} -> {answer:?}", pod.uid));
        let (offered, reasons) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.seen.asked_to_retry = true;
                self.offers.remove(uid);
                return if error.contains("internal error") || error.is_empty() {
                    Err(Violation::new("no panics", format!("{uid}: {error}")))
                } else {
                    Ok(false)
                };
            }
        };
        self.check_reasons(&pod, &candidates, &offered, &reasons)?;
        self.check_answer(&pod, &candidates, &offered)?;
        if offered.is_empty() {
            self.offers.remove(uid);
            if choice.pick.is_multiple_of(2) {
                self.fail(uid);
            }
            return Ok(false);
        }
        self.offers.insert(uid.to_owned(), self.now);
        self.excuse_the_outranked_by(&pod, &offered);
        let node = self.choose(&object, &offered, choice.pick);
        if let Then::Fail { told } = choice.then {
            self.note(|| format!("{uid} on {node}: the attempt fails, told: {told}"));
            if told {
                self.fail(uid);
            }
            return Ok(true);
        }
        self.note(|| format!("{uid} is to go to {node}"));
        let patient = choice.then == Then::BindLate;
        let (pod, since) = (pod.clone(), self.now);
        self.attempts.push(Attempt { pod, node: node.clone(), since, patient, orphaned: false });
        self.check_room_kept(uid, &node)?;
        if choice.then == Then::BindNow {
            self.bind(self.attempts.len() - 1, Outcome::Done)?;
        }
        Ok(true)
    }

    fn choose(&self, object: &serde_json::Value, offered: &[String], pick: usize) -> String {
        if !self.follows_scores {
            return offered[pick % offered.len()].clone();
        }
        let scores = self.berth.prioritize(object, offered);
        let highest = scores.iter().max().copied().unwrap_or_default();
        let best: Vec<&String> = offered
            .iter()
            .zip(&scores)
            .filter(|(_, score)| **score == highest)
            .map(|(node, _)| node)
            .collect();
        best[pick % best.len()].clone()
    }

    /// The pod's status says that an attempt failed.
    pub fn fail(&mut self, uid: &str) {
        if let Some(pod) = self.truth.pods.get_mut(uid) {
            pod.failures += 1;
            self.show_pod(uid);
        }
    }

    /// The bind call of an attempt under way.
    pub fn bind(&mut self, at: usize, outcome: Outcome) -> Result<(), Violation> {
        let is_late = self.is_forgotten(&self.attempts[at]);
        let is_on_its_own = self.is_room_given_up(&self.attempts[at]);
        let Attempt { pod, node, since, .. } = self.attempts.remove(at);
        let uid = &pod.uid;
        let (status, done) = match self.truth.pods.get(uid) {
            None => (StatusCode::NOT_FOUND, false),
            Some(known) if known.node.is_some() || known.leaving => (StatusCode::CONFLICT, false),
            Some(_) => match outcome {
                Outcome::Done => (StatusCode::CREATED, true),
                Outcome::DoneUnheard => (StatusCode::INTERNAL_SERVER_ERROR, true),
                Outcome::Unclear => (StatusCode::INTERNAL_SERVER_ERROR, false),
            },
        };
        let Some(bound) = self.berth.bind(self.api, &pod, &node, status) else {
            self.note(|| format!("bind {uid} -> {node}: declined"));
            self.seen.late_bind_declined |= is_late;
            // Berth may have heard of it after it let the pod in.
            let group = pod.part.as_ref().map(|part| part.group);
            let is_outdated = self.upset.is_some_and(|upset| upset + LAG >= since)
                || group.is_some_and(|group| {
                    self.may_have_given_up(group) || self.truth.groups[group].record.spent
                });
            self.seen.declined_for_want_of_room |= is_on_its_own && !is_late;
            self.check_declined(&pod, &node, is_late || is_outdated)?;
            self.fail(uid);
            return Ok(());
        };
        assert_eq!(bound, status == StatusCode::CREATED, "{uid}: {status}");
        if let Some(part) = &pod.part {
            // From here on room is kept anew, whatever comes of it.
            self.truth.groups[part.group].record.attempted = Some(self.now);
        }
        self.note(|| format!("bind {uid} -> {node}: {status}, done: {done}"));
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            // It may have been done: Berth has to count on it for as long as on an offer.
            self.offers.insert(uid.clone(), self.now);
        }
        if done {
            self.seen.bound_on_its_own |= is_on_its_own && !is_late;
            if is_late || is_on_its_own {
                self.check_late_beginning(&pod, &node)?;
            }
            if is_late {
                self.excuse_late_bind(&pod, &node);
            }
            self.check_binding(&pod, &node)?;
            self.make_volume(&pod, &node);
            self.truth.pods.entry(uid.clone()).and_modify(|pod| pod.node = Some(node));
            self.forget_offers_to(uid);
            self.show_pod(uid);
            self.remember_progress(&pod, since);
        }
        Ok(())
    }

    /// Whether an attempt is that of a first member, and what was kept for the others when it began has expired since: nobody has
    /// asked about them after it.
    fn is_room_given_up(&self, attempt: &Attempt) -> bool {
        let Some(part) = &attempt.pod.part else { return false };
        let of_group = |uid: &String| {
            let other = self.truth.pods.get(uid).and_then(|pod| pod.part.as_ref());
            *uid != attempt.pod.uid && other.is_some_and(|other| other.group == part.group)
        };
        attempt.since + self.times.reservation <= self.now
            && self.truth.running_members(part.group).next().is_none()
            && !self.offers.keys().any(of_group)
    }

    /// The attempt fails after filter.
    pub fn abandon(&mut self, at: usize, told: bool) {
        let attempt = self.attempts.remove(at);
        self.note(|| format!("{} is not bound after all, told: {told}", attempt.pod.uid));
        if told {
            self.fail(&attempt.pod.uid);
        }
    }
}
