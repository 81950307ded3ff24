//! The topology keys of the members' anti-affinity, as small numbers.

use super::super::limits::MOST_ANTI_AFFINITY_KEYS;
use crate::model::Name;
use crate::view::{DomainId, Domains, HostDomain, HostId, View};

/// The number of a key among those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(u32);

/// Some of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeySet(u32);

const _: () = assert!(MOST_ANTI_AFFINITY_KEYS <= u32::BITS as usize, "every key has a bit");

impl KeySet {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a key.
    pub fn insert(&mut self, key: KeyId) {
        self.0 |= 1 << key.0;
    }

    /// Adds a key, if there is one.
    pub fn extend(&mut self, key: Option<KeyId>) {
        if let Some(key) = key {
            self.insert(key);
        }
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = KeyId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lowest = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(KeyId(lowest))
        })
    }
}

/// The keys of a group, and the domains of each.
pub struct Keys<'a>(Vec<(&'a Name, &'a Domains)>);

impl<'a> Keys<'a> {
    /// Each of them once. A key whose domains the view does not provide is left out, which [`super::super::search`] sees to.
    pub fn of(names: impl Iterator<Item = &'a Name>, view: &'a View) -> Self {
        let mut keys: Vec<(&Name, &Domains)> = Vec::new();
        for name in names {
            if !keys.iter().any(|(known, _)| *known == name) {
                keys.extend(view.domains(name).map(|domains| (name, &**domains)));
            }
        }
        keys.truncate(MOST_ANTI_AFFINITY_KEYS);
        Self(keys)
    }

    /// The number of a key.
    pub fn find(&self, name: &str) -> Option<KeyId> {
        let at = self.0.iter().position(|(known, _)| ***known == *name)?;
        u32::try_from(at).ok().map(KeyId)
    }

    /// The domains of a key.
    pub fn domains(&self, name: &str) -> Option<&'a Domains> {
        self.0.iter().find(|(known, _)| ***known == *name).map(|(_, domains)| *domains)
    }

    /// The key of a number.
    pub fn name(&self, key: KeyId) -> &'a Name {
        self.0[key.0 as usize].0
    }

    /// The domain that a host is in, if its node has the label.
    pub fn domain_of(&self, key: KeyId, host: HostId) -> Option<DomainId> {
        match self.0[key.0 as usize].1.of(host) {
            HostDomain::In(domain) => Some(domain),
            HostDomain::MissingLabel | HostDomain::UnknownNode => None,
        }
    }
}
