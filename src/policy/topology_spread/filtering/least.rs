//! The emptiest domain, also if one of the domains changes.

use crate::view::DomainId;

/// What the fullest domain is compared with: the least count of all domains, or 0 if there are too few of them.
pub struct Least {
    pods: Vec<Option<i64>>,
    enough: bool,
    /// The domain with the least, and the least of all others.
    lowest: DomainId,
    next: Option<i64>,
}

impl Least {
    pub fn of(min_domains: usize, pods: Vec<Option<i64>>) -> Self {
        let known = || pods.iter().enumerate().filter_map(|(domain, pods)| Some((domain, (*pods)?)));
        let lowest = known().min_by_key(|(_, pods)| *pods).map_or(0, |(domain, _)| domain);
        let next = known().filter(|(domain, _)| *domain != lowest).map(|(_, pods)| pods).min();
        let enough = known().count() >= min_domains;
        Self { pods, enough, lowest, next }
    }

    /// The count of one domain.
    pub fn pods_in(&self, domain: DomainId) -> i64 {
        self.pods[domain].unwrap_or(0)
    }

    /// Whether it is 0 whatever the counts are, because there are too few domains.
    pub fn is_fixed(&self) -> bool {
        !self.enough
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
        let changed = self.pods[domain].unwrap_or(0) + change;
        let others = if domain == self.lowest { self.next } else { Some(lowest) };
        others.map_or(changed, |others| others.min(changed))
    }
}

#[cfg(test)]
mod tests {
    use super::Least;

    #[test]
    fn a_change_of_one_domain_is_as_good_as_counting_again() {
        for pods in [vec![Some(2), Some(0), None, Some(1)], vec![Some(3)], vec![None], vec![Some(1), Some(1)]]
        {
            for min_domains in [1, 2, 9] {
                for domain in (0..pods.len()).filter(|domain| pods[*domain].is_some()) {
                    for change in -1..=3 {
                        let mut changed = pods.clone();
                        changed[domain] = changed[domain].map(|pods| pods + change);
                        let expected = Least::of(min_domains, changed).with(domain, 0);
                        let found = Least::of(min_domains, pods.clone()).with(domain, change);
                        assert_eq!(found, expected, "{pods:?} {min_domains} {domain} {change}");
                    }
                }
            }
        }
    }

    #[test]
    fn too_few_domains_count_as_an_empty_one() {
        assert_eq!(Least::of(3, vec![Some(4), Some(5)]).with(0, 0), 0);
        assert_eq!(Least::of(2, vec![Some(4), Some(5)]).with(0, 0), 4);
    }
}
