//! Where the subgroups of a group are: the domain that their members in place are in, else the one that a member is on its
//! way to. Whoever comes next goes there, or nowhere.

use std::collections::{BTreeMap, HashMap};

use super::host_set::most_common;
use super::in_flight::InFlight;
use super::members::{Members, PlacedMember, subgroup_of};
use crate::model::Name;
use crate::view::{DomainId, Domains, HostDomain, View};

/// The domains of a group's subgroups, of the topology of which each has one to itself.
#[derive(Default)]
pub struct SubgroupHomes {
    homes: HashMap<u32, DomainId>,
    /// Somebody is in place, or under way, and others are missing whom nobody can tell where to go.
    is_adrift: bool,
    /// So it is for the sake of a member under way, which will tell soon.
    is_unsettled: bool,
    /// Some are where they are only because a member is on its way there.
    depends_on_members_under_way: bool,
}

impl SubgroupHomes {
    /// Those of a group's subgroups, if it has any and the view knows their domains.
    pub fn of(members: &Members<'_>, in_flight: &InFlight<'_>, view: &View) -> Self {
        let mut homes = Self::default();
        let parts = members.membership.subgroup.as_ref();
        let Some((topology, domains)) =
            parts.and_then(|parts| Some((&parts.topology, view.domains(&parts.topology)?)))
        else {
            return homes;
        };
        let in_place = by_subgroup(members.placed.iter().chain(&members.stranded), domains);
        for (subgroup, values) in in_place {
            let home = most_common(values.into_iter().flatten()).0.and_then(|value| domains.find(value));
            match home {
                Some(home) => drop(homes.homes.insert(subgroup, home)),
                None => homes.is_adrift |= lacks_members(members, subgroup),
            }
        }
        let settled = homes.homes.clone();
        for entry in in_flight.offered_members() {
            let subgroup = view.group_size(&entry.pod).and_then(|size| subgroup_of(&entry.pod, size));
            let Some(subgroup) = subgroup.filter(|subgroup| !settled.contains_key(subgroup)) else {
                continue;
            };
            let known = entry.subgroup_domain.as_ref().filter(|(key, _)| key == topology);
            match known.and_then(|(_, value)| domains.find(value)) {
                Some(home) => {
                    homes.depends_on_members_under_way = true;
                    homes.homes.insert(subgroup, home);
                }
                None => homes.is_unsettled = true,
            }
        }
        homes
    }

    /// The domain that a subgroup is in, or on its way to.
    pub fn of_subgroup(&self, subgroup: u32) -> Option<DomainId> {
        self.homes.get(&subgroup).copied()
    }

    /// All domains that subgroups of the group are in.
    pub fn all(&self) -> impl Iterator<Item = DomainId> {
        self.homes.values().copied()
    }

    /// Whether members of a subgroup are somewhere, and nobody can tell in which domain.
    pub fn is_adrift(&self) -> bool {
        self.is_adrift
    }

    /// Whether a member is under way, and nobody knows in which domain it will be.
    pub fn is_unsettled(&self) -> bool {
        self.is_unsettled
    }

    /// Whether it may turn out to be otherwise, because the attempt of a member under way fails.
    pub fn depends_on_members_under_way(&self) -> bool {
        self.depends_on_members_under_way
    }
}

/// The values of the domains that members are in, as far as they are in any, by subgroup.
fn by_subgroup<'m, 'd>(
    in_place: impl Iterator<Item = &'m PlacedMember<'m>>,
    domains: &'d Domains,
) -> BTreeMap<u32, Vec<Option<&'d Name>>> {
    let mut values: BTreeMap<u32, Vec<Option<&Name>>> = BTreeMap::new();
    for placed in in_place {
        let Some(subgroup) = placed.subgroup else { continue };
        let value = match domains.of(placed.host) {
            HostDomain::In(domain) => Some(domains.value(domain)),
            HostDomain::MissingLabel | HostDomain::UnknownNode => None,
        };
        values.entry(subgroup).or_default().push(value);
    }
    values
}

fn lacks_members(members: &Members<'_>, subgroup: u32) -> bool {
    members.missing.iter().any(|class| class.subgroup == Some(subgroup))
}
