//! What the API server tells Berth, late: in order for each kind, in no order between kinds.

use std::collections::VecDeque;
use std::time::Duration;

use berth::model::{Kind, ObjectKey};

use crate::storage::Claim;
use crate::truth::Pod;

/// One piece of news.
#[derive(Clone, Debug)]
pub enum Event {
    /// The object as JSON.
    Shown(Kind, String),
    Gone(Kind, ObjectKey),
}

impl Event {
    fn kind(&self) -> Kind {
        match self {
            Event::Shown(kind, _) | Event::Gone(kind, _) => *kind,
        }
    }
}

/// News under way.
#[derive(Clone, Debug)]
pub struct News {
    pub since: Duration,
    pub event: Event,
    pub about: Option<About>,
}

/// Which pod, or claim, news are about.
#[derive(Clone, Debug)]
pub struct About {
    pub uid: String,
    pub name: String,
    pub group: Option<usize>,
    /// It leaves, or is gone.
    pub is_loss: bool,
    /// Its group has another size from now on.
    pub is_resize: bool,
}

impl About {
    pub fn of(pod: &Pod, is_loss: bool) -> Self {
        let group = pod.part.as_ref().map(|part| part.group);
        Self { uid: pod.uid.clone(), name: pod.name.clone(), group, is_loss, is_resize: false }
    }

    pub fn of_resized(pod: &Pod) -> Self {
        Self { is_resize: true, ..Self::of(pod, false) }
    }

    pub fn of_volume(claim: &Claim) -> Self {
        Self {
            uid: String::new(),
            name: claim.name.clone(),
            group: claim.group,
            is_loss: false,
            is_resize: false,
        }
    }
}

/// The queues.
#[derive(Debug, Default)]
pub struct Watch {
    nodes: VecDeque<News>,
    pods: VecDeque<News>,
    sets: VecDeque<News>,
    claims: VecDeque<News>,
    volumes: VecDeque<News>,
}

impl Watch {
    pub fn push(&mut self, news: News) {
        self.queue(news.event.kind()).push_back(news);
    }

    fn queue(&mut self, kind: Kind) -> &mut VecDeque<News> {
        match kind {
            Kind::Node => &mut self.nodes,
            Kind::Pod => &mut self.pods,
            Kind::PersistentVolumeClaim => &mut self.claims,
            Kind::PersistentVolume => &mut self.volumes,
            _ => &mut self.sets,
        }
    }

    /// The next so many of a kind.
    pub fn take(&mut self, kind: Kind, count: usize) -> Vec<Event> {
        let queue = self.queue(kind);
        let count = count.min(queue.len());
        queue.drain(..count).map(|news| news.event).collect()
    }

    /// Those that are under way since before a moment.
    pub fn take_older(&mut self, moment: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        let Self { nodes, pods, sets, claims, volumes } = self;
        for queue in [nodes, sets, claims, volumes, pods] {
            while queue.front().is_some_and(|news| news.since < moment) {
                events.extend(queue.pop_front().map(|news| news.event));
            }
        }
        events
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn is_empty(&self) -> bool {
        let Self { nodes, pods, sets, claims, volumes } = self;
        [nodes, pods, sets, claims, volumes].into_iter().all(VecDeque::is_empty)
    }

    pub fn has_node_news(&self) -> bool {
        !self.nodes.is_empty()
    }

    pub fn has_set_news(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Whether Berth does not know all of the group's claims and volumes.
    pub fn hides_volumes_of(&self, group: usize) -> bool {
        let of_group = |news: &News| news.about.as_ref().is_some_and(|about| about.group == Some(group));
        self.claims.iter().chain(&self.volumes).any(of_group)
    }

    fn pods_under_way(&self) -> impl Iterator<Item = &About> {
        self.pods.iter().filter_map(|news| news.about.as_ref())
    }

    /// Whether Berth takes a member of the group to be there that is not.
    pub fn hides_loss_of(&self, group: usize) -> bool {
        self.pods_under_way().any(|about| about.group == Some(group) && about.is_loss)
    }

    /// Whether Berth takes the group to have as many members as it once had.
    pub fn hides_size_of(&self, group: usize) -> bool {
        self.pods_under_way().any(|about| about.group == Some(group) && about.is_resize)
    }

    /// Whether there is anything about the group's pods that Berth does not know.
    pub fn hides(&self, group: usize) -> bool {
        self.pods_under_way().any(|about| about.group == Some(group))
    }

    /// Whether news are under way of another pod that bore the same name: when they arrive, they seem to be the newer ones.
    pub fn hides_namesake_of(&self, pod: &Pod) -> bool {
        self.pods_under_way().any(|about| about.name == pod.name && about.uid != pod.uid)
    }
}
