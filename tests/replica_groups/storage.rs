//! Persistent volumes: which members have a claim, and from where its volume can be reached.

use crate::scenario::{Kind, NodeSpec, SetSpec};
use crate::truth::{Pod, Truth};
use crate::watch::{About, News};
use crate::world::World;

/// The claims of some members of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    pub whose: Whose,
    pub sharing: Sharing,
    pub reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Everybody,
    Leader,
    Workers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One claim for all groups of the set, with a volume near the node of this number.
    Shared(usize),
    /// A claim for each member. Its volumes are there before the pods, scattered by this number.
    OwnBefore(usize),
    /// A claim for each member. Its volume is made where its first pod goes.
    OwnAtFirstUse,
}

/// How far from its place a volume can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Rack,
    Node,
}

/// A claim, and where its volume is, if there is one.
#[derive(Clone, Debug)]
pub struct Claim {
    pub namespace: &'static str,
    pub name: String,
    /// Whose it is; `None` if it is the whole set's.
    pub group: Option<usize>,
    pub reach: Reach,
    pub site: Option<Site>,
}

/// From where a volume can be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    Node(String),
    Rack(String),
}

impl Site {
    pub fn is_reached_from(&self, node: &NodeSpec) -> bool {
        match self {
            Site::Node(name) => node.name == *name,
            Site::Rack(rack) => node.rack.as_ref() == Some(rack),
        }
    }

    fn near(node: &NodeSpec, reach: Reach) -> Self {
        match (&node.rack, reach) {
            (Some(rack), Reach::Rack) => Site::Rack(rack.clone()),
            _ => Site::Node(node.name.clone()),
        }
    }
}

impl Storage {
    fn is_for(self, index: usize) -> bool {
        match self.whose {
            Whose::Everybody => true,
            Whose::Leader => index == 0,
            Whose::Workers => index > 0,
        }
    }
}

impl SetSpec {
    /// The claim of a member, if it has one.
    pub fn claim_of(&self, number: usize, index: usize) -> Option<String> {
        let storage = self.storage.filter(|storage| storage.is_for(index))?;
        Some(match storage.sharing {
            Sharing::Shared(_) => format!("shared-{}", self.name),
            Sharing::OwnBefore(_) | Sharing::OwnAtFirstUse => {
                format!("data-{}", self.pod_name(number, index))
            }
        })
    }

    /// The name of a member, or what it begins with.
    pub fn pod_name(&self, number: usize, index: usize) -> String {
        if self.kind == Kind::LeaderWorker && index == 0 {
            format!("{}-{number}", self.name)
        } else {
            format!("{}-{number}-{index}", self.name)
        }
    }
}

impl Truth {
    pub fn site_of_claim(&self, namespace: &str, claim: &str) -> Option<&Site> {
        let known = self.claims.iter().find(|known| known.namespace == namespace && known.name == claim);
        known.and_then(|claim| claim.site.as_ref())
    }

    /// Whether a pod's volume, if it has one, can be reached from a node.
    pub fn reaches_volume(&self, pod: &Pod, node: &NodeSpec) -> bool {
        let site = pod.claim.as_ref().and_then(|claim| self.site_of_claim(pod.namespace, claim));
        site.is_none_or(|site| site.is_reached_from(node))
    }

    /// The claims that all groups of a set share.
    pub fn add_shared_claims(&mut self) {
        for set in &self.sets {
            let Some(Storage { sharing: Sharing::Shared(at), reach, .. }) = set.storage else { continue };
            let near = self.nodes.values().nth(at % self.nodes.len());
            let name = format!("shared-{}", set.name);
            let site = near.map(|node| Site::near(node, reach));
            self.claims.push(Claim { namespace: set.namespace, name, group: None, reach, site });
        }
    }

    /// Where the volume of a member is before the member is: mostly near those of the others.
    fn site_before(&self, storage: Storage, number: usize, index: usize) -> Option<Site> {
        let Sharing::OwnBefore(at) = storage.sharing else { return None };
        let is_odd = at.is_multiple_of(2) && index == at % 5;
        let near = if is_odd { at / 2 + index } else { at } + number;
        let near = self.nodes.values().nth(near % self.nodes.len())?;
        let around: Vec<_> = self.nodes.values().filter(|node| node.rack == near.rack).collect();
        Some(Site::near(around[index % around.len()], storage.reach))
    }
}

impl World<'_> {
    /// The claims of a group's members, of those too that may be added.
    pub fn create_claims(&mut self, group: usize, most: usize) {
        let (set, number) = (self.truth.set_of(group).clone(), self.truth.groups[group].number);
        let Some(storage) = set.storage.filter(|storage| !matches!(storage.sharing, Sharing::Shared(_)))
        else {
            return;
        };
        for index in 0..most {
            let Some(name) = set.claim_of(number, index) else { continue };
            let site = self.truth.site_before(storage, number, index);
            let claim =
                Claim { namespace: set.namespace, name, group: Some(group), reach: storage.reach, site };
            self.note(|| format!("claim {} with its volume at {:?}", claim.name, claim.site));
            self.show_claim(&claim);
            self.truth.claims.push(claim);
        }
    }

    /// A pod got a node: its volume is made there, if it has none yet.
    pub fn make_volume(&mut self, pod: &Pod, node: &str) {
        let Some(node) = self.truth.nodes.get(node) else { return };
        let own = |claim: &&mut Claim| {
            claim.namespace == pod.namespace
                && Some(&claim.name) == pod.claim.as_ref()
                && claim.site.is_none()
        };
        let Some(claim) = self.truth.claims.iter_mut().find(own) else { return };
        claim.site = Some(Site::near(node, claim.reach));
        let claim = claim.clone();
        self.show_claim(&claim);
    }

    fn show_claim(&mut self, claim: &Claim) {
        for event in crate::objects::claim(claim) {
            let about = Some(About::of_volume(claim));
            self.tell(News { since: self.now, event, about });
        }
    }
}
