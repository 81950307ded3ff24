//! The numbers behind a group's reason codes, for a question that asks for them.

use super::availability::Assumption;
use super::count::count;
use super::host_set::HostSet;
use super::problem::Problem;
use super::search::{Outcome, Search};
use crate::decision::{Choice, DomainFact, Facts, Reason, Shortage};
use crate::model::{GroupKey, Name};
use crate::view::DomainId;

/// Tells how the group fares in each domain, and what was chosen; domains in which most members fit come first.
pub fn tell(
    search: &Search<'_>,
    outcome: &Outcome,
    facts: &mut Facts,
    reason: impl Fn(Option<DomainId>) -> Reason,
) {
    let chosen = match outcome {
        Outcome::Found(plan) => Some(plan),
        Outcome::Undecided(_) | Outcome::None => None,
    };
    let domains: Vec<Option<DomainId>> =
        search.required.map_or_else(|| vec![None], |domains| domains.ids().map(Some).collect());
    let problem = search.problem(Assumption::Nothing, None);
    let fact = |domain: Option<DomainId>| {
        let set = search.host_set(domain);
        let capacity = set.as_ref().map(|set| count(set, &problem));
        let fits = capacity.as_ref().map_or(0, |capacity| capacity.fitting(search.members));
        let of = search.members.missing();
        DomainFact {
            domain: labelled(search, domain),
            fits,
            of,
            reason: chosen.is_none().then(|| reason(domain)),
            short: set.as_ref().filter(|_| fits < of).and_then(|set| shortage(set, &problem)),
            reserved_for: set.as_ref().map(|set| reserved_for(set, &problem)).unwrap_or_default(),
        }
    };
    facts.domains = domains.into_iter().map(fact).collect();
    facts.domains.sort_by(|a, b| b.fits.cmp(&a.fits).then_with(|| a.domain.cmp(&b.domain)));
    facts.choice = chosen.map(|plan| {
        let (among, rule) = plan.choice;
        Choice { domain: labelled(search, plan.domain), among, rule }
    });
}

fn labelled(search: &Search<'_>, domain: Option<DomainId>) -> Option<(Name, Name)> {
    let key = search.members.membership.topology.required.clone();
    key.zip(search.value_of(domain).cloned())
}

/// The resource of which the missing members lack most, as a share of what they request in all.
fn shortage(set: &HostSet<'_>, problem: &Problem<'_, '_>) -> Option<Shortage> {
    let mut worst: Option<(i128, i128, Shortage)> = None;
    for dimension in problem.members.missing.iter().flat_map(|class| class.requests.dimensions()) {
        let dimension = dimension.0;
        let requested: i128 = problem
            .members
            .missing
            .iter()
            .map(|class| i128::from(class.requests.amount(dimension).max(0)) * (class.count as i128))
            .sum();
        let free: i128 = set
            .hosts
            .iter()
            .filter_map(|id| problem.host(*id))
            .map(|(host, node)| {
                let used = problem.availability.used(host).resources.amount(dimension);
                i128::from(node.allocatable.amount(dimension).saturating_sub(used).max(0))
            })
            .sum();
        let by = requested - free;
        // Compared as fractions by/requested, without dividing.
        let is_worse = worst.as_ref().is_none_or(|(most, of, _)| by * of > most * requested);
        if by > 0 && is_worse {
            let short = Shortage { resource: dimension.name(), by: i64::try_from(by).unwrap_or(i64::MAX) };
            worst = Some((by, requested, short));
        }
    }
    worst.map(|(_, _, short)| short)
}

fn reserved_for(set: &HostSet<'_>, problem: &Problem<'_, '_>) -> Vec<std::sync::Arc<GroupKey>> {
    let hosts = set.hosts.iter().filter_map(|id| problem.host(*id));
    let held = hosts.flat_map(|(host, _)| problem.availability.respected_slots(&host.name));
    let mut groups: Vec<_> = held.map(|held| held.group.clone()).collect();
    groups.sort();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::super::situation::{RACK, Situation, cpus, member};
    use crate::decision::{ChoiceRule, Detail, Reason};
    use crate::fixtures::pod;

    #[test]
    fn facts_say_how_many_fit_what_is_short_and_for_whom_room_is_reserved() {
        let situation = Situation::racks(&[("a", &[4, 2]), ("b", &[4])])
            .with_reserved("other", &[("b0", 3)])
            .with(pod("p").requests(cpus(1)).on("a1").build());
        let asking = member("g", 0, 4, 2).build();
        let facts = situation.decide(&asking, Detail::Facts).facts().clone();
        let told: Vec<_> = facts
            .domains
            .iter()
            .map(|fact| {
                let domain = fact.domain.as_ref().map(|(_, value)| &**value);
                let short = fact.short.as_ref().map(|short| (&*short.resource, short.by));
                (domain, fact.fits, fact.of, fact.reason, short, fact.reserved_for.len())
            })
            .collect();
        assert_eq!(
            told,
            [
                (Some("a"), 2, 4, Some(Reason::DomainTooSmall), Some(("cpu", 3_000)), 0),
                (Some("b"), 0, 4, Some(Reason::DomainTooSmall), Some(("cpu", 7_000)), 1),
            ]
        );
        assert_eq!(facts.choice, None);
    }

    #[test]
    fn facts_say_what_was_chosen_and_why_and_codes_cost_none() {
        let situation = Situation::racks(&[("a", &[4]), ("b", &[8])]);
        let asking = member("g", 0, 2, 2).build();
        let choice = situation.decide(&asking, Detail::Facts).facts().choice.clone().expect("chosen");
        assert_eq!(choice.domain, Some((RACK.into(), "a".into())));
        assert_eq!((choice.among, choice.rule), (2, ChoiceRule::BestFit));
        assert_eq!(*situation.decide(&asking, Detail::Codes).facts(), crate::decision::Facts::default());
    }
}
