//! The emptiest domain, also if one of the domains changes.

use std::cell::{Cell, OnceCell};

use crate::view::DomainId;

/// What the fullest domain is compared with: the least count of all domains, or 0 if there are too few of them.
pub struct GlobalMinimum {
    pods: Vec<Option<i64>>,
    enough: bool,
    /// The domain with the least, and the least of all others.
    lowest: usize,
    next: Option<i64>,
    /// The counts in order; sorted when pods in flight first make it necessary.
    sorted: OnceCell<Vec<i64>>,
    /// The last answer of [`GlobalMinimum::at_most`]: it is asked for every candidate, mostly about the same.
    last_level: Cell<Option<(i64, i64)>>,
}

impl GlobalMinimum {
    pub fn of(min_domains: usize, pods: Vec<Option<i64>>) -> Self {
        let known = || pods.iter().enumerate().filter_map(|(domain, pods)| Some((domain, (*pods)?)));
        let lowest = known().min_by_key(|(_, pods)| *pods).map_or(0, |(domain, _)| domain);
        let next = known().filter(|(domain, _)| *domain != lowest).map(|(_, pods)| pods).min();
        let enough = known().count() >= min_domains;
        Self { pods, enough, lowest, next, sorted: OnceCell::new(), last_level: Cell::new(None) }
    }

    /// The count of one domain.
    pub fn pods_in(&self, domain: DomainId) -> i64 {
        self.pods[domain.index()].unwrap_or(0)
    }

    /// The least if the count of one domain changes by so much.
    pub fn with(&self, domain: DomainId, change: i64) -> i64 {
        if !self.enough {
            return 0;
        }
        let lowest = self.pods[self.lowest].unwrap_or(0);
        if change == 0 {
            return lowest;
        }
        let changed = self.pods[domain.index()].unwrap_or(0) + change;
        let others = if domain.index() == self.lowest { self.next } else { Some(lowest) };
        others.map_or(changed, |others| others.min(changed))
    }
}

impl GlobalMinimum {
    /// The most it can be if the count of one domain changes by so much, and so many pods come on top wherever they
    /// lift it most: they fill up the emptiest domains, like water.
    pub fn at_most(&self, domain: DomainId, change: i64, more: i64) -> i64 {
        if more == 0 || !self.enough {
            return self.with(domain, change);
        }
        // What comes to the one domain lifts no more than if it could go anywhere.
        let rising = more + change.max(0);
        if let Some((_, level)) = self.last_level.get().filter(|(of, _)| *of == rising) {
            return level;
        }
        let level = self.level_with(rising);
        self.last_level.set(Some((rising, level)));
        level
    }

    /// The least if so many pods come on top and fill up the emptiest domains.
    fn level_with(&self, more: i64) -> i64 {
        let pods = self.sorted.get_or_init(|| {
            let mut pods: Vec<i64> = self.pods.iter().flatten().copied().collect();
            pods.sort_unstable();
            pods
        });
        let mut left = more;
        let mut level = pods.first().copied().unwrap_or(0);
        for (below, next) in (1..).zip(pods.iter().skip(1).copied().chain([i64::MAX])) {
            let rise = (left / below).min(next - level);
            level += rise;
            left -= rise * below;
            if level < next {
                break;
            }
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::GlobalMinimum;
    use crate::view::DomainId;

    #[test]
    fn a_change_of_one_domain_is_as_good_as_counting_again() {
        for pods in [vec![Some(2), Some(0), None, Some(1)], vec![Some(3)], vec![None], vec![Some(1), Some(1)]]
        {
            for min_domains in [1, 2, 9] {
                for domain in (0..pods.len()).filter(|domain| pods[*domain].is_some()) {
                    for change in -1..=3 {
                        let mut changed = pods.clone();
                        changed[domain] = changed[domain].map(|pods| pods + change);
                        let id = DomainId::at(domain);
                        let expected = GlobalMinimum::of(min_domains, changed).with(id, 0);
                        let found = GlobalMinimum::of(min_domains, pods.clone()).with(id, change);
                        assert_eq!(found, expected, "{pods:?} {min_domains} {domain} {change}");
                    }
                }
            }
        }
    }

    #[test]
    fn pods_that_may_go_anywhere_fill_up_the_emptiest_domains() {
        for (pods, more, expected) in [
            (vec![1, 0, 0], 1, 0),
            (vec![1, 0, 0], 2, 1),
            (vec![1, 0, 0], 4, 1),
            (vec![1, 0, 0], 5, 2),
            (vec![0, 3], 1, 1),
            (vec![0, 3], 9, 6),
            (vec![4], 3, 7),
        ] {
            let least = GlobalMinimum::of(1, pods.iter().copied().map(Some).collect());
            assert_eq!(least.at_most(DomainId::at(0), 0, more), expected, "{pods:?} and {more} more");
        }
        let few = GlobalMinimum::of(9, vec![Some(1), Some(2)]);
        assert_eq!(few.at_most(DomainId::at(0), 0, 5), 0, "with too few domains it stays 0");
    }

    #[test]
    fn too_few_domains_count_as_an_empty_one() {
        assert_eq!(GlobalMinimum::of(3, vec![Some(4), Some(5)]).with(DomainId::at(0), 0), 0);
        assert_eq!(GlobalMinimum::of(2, vec![Some(4), Some(5)]).with(DomainId::at(0), 0), 4);
    }
}
