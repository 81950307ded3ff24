//! The API server of a history: what is really there, and the news of it that are still on their way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use berth::model::group::{GroupKey, Source};
use berth::model::{Kind, Labels, Name, Node, Object, ObjectKey, Pod, Resources, Service};
use berth::view::change::Change;

use super::step::PODS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiPod {
    pub uid: String,
    pub name: String,
    pub label: u8,
    pub node: Option<String>,
    pub failure: Option<u32>,
    pub nominated: Option<String>,
    pub leaving: bool,
}

impl ApiPod {
    pub fn key(&self) -> ObjectKey {
        key(&self.name)
    }

    pub fn to_model(&self) -> Arc<Pod> {
        let mut pod = Pod::identity_only(Name::from(&*self.uid), self.key());
        pod.labels = label(self.label);
        pod.node = self.node.as_deref().map(Name::from);
        pod.failed_attempt = self.failure;
        pod.nominated_node = self.nominated.as_deref().map(Name::from);
        pod.terminating = self.leaving;
        pod.annotations =
            [(Name::from("berth.dev/group"), group(self.label).set.name.clone())].into_iter().collect();
        pod.allocated = Arc::new(takes(self.label));
        Arc::new(pod)
    }
}

pub fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// How many groups there are.
pub const GROUPS: u8 = 2;

/// The group of pods with such a label: a pod that is relabelled may change its group.
pub fn group(label: u8) -> Arc<GroupKey> {
    let set = ObjectKey::new("default", format!("group-{}", label % GROUPS));
    Arc::new(GroupKey { source: Source::Annotation, set, index: Name::from(""), revision: Name::from("") })
}

/// What pods with such a label take: a pod that is relabelled is also resized.
pub fn takes(label: u8) -> Resources {
    let amount = i64::from(label);
    let gpus = ["a.com/gpu", "b.com/gpu", "b.com/gpu"][usize::from(label % 3)];
    let scalars = [(Name::from(gpus), amount % 4), (Name::from("c.com/nic"), amount % 2)];
    Resources::new(100 * amount, amount << 30, amount % 5, scalars)
}

pub fn pod_name(number: usize) -> String {
    format!("pod-{number}")
}

pub fn node_name(number: usize) -> String {
    format!("node-{number}")
}

pub fn label(value: u8) -> Labels {
    [(Name::from("v"), Name::from(value.to_string()))].into_iter().collect()
}

#[derive(Clone, Debug)]
pub enum News {
    Shown(ApiPod),
    Gone(String),
    NodeShown(String, u8),
    NodeGone(String),
}

impl News {
    pub fn to_change(&self) -> Change {
        match self {
            News::Shown(pod) => Change::Upsert(Object::Pod(pod.to_model())),
            News::Gone(name) => Change::Remove(Kind::Pod, key(name)),
            News::NodeShown(name, value) => Change::Upsert(node(name, *value)),
            News::NodeGone(name) => Change::Remove(Kind::Node, ObjectKey::new("", &**name)),
        }
    }
}

pub fn node(name: &str, value: u8) -> Object {
    Object::Node(Arc::new(Node { labels: label(value), ..Node::named(name) }))
}

pub fn service(number: usize) -> Object {
    let key = ObjectKey::new("default", format!("service-{number}"));
    Object::Service(Arc::new(Service { key, selector: Labels::default(), managed: None }))
}

/// A bind call under way.
#[derive(Clone, Debug)]
pub struct Call {
    pub uid: String,
    pub node: String,
    /// What the API server made of it, once it has.
    pub bound: Option<bool>,
}

#[derive(Debug, Default)]
pub struct World {
    pub pods: HashMap<String, ApiPod>,
    pub nodes: HashMap<String, u8>,
    pub pod_news: VecDeque<News>,
    pub node_news: VecDeque<News>,
    pub calls: Vec<Call>,
    generations: [usize; PODS],
    /// Every pod there ever was, as it was last: what a late caller still believes in.
    past: HashMap<String, ApiPod>,
}

impl World {
    pub fn create(&mut self, number: usize) {
        let name = pod_name(number);
        if !self.pods.contains_key(&name) {
            self.generations[number] += 1;
            let uid = format!("{name}.{}", self.generations[number]);
            let (node, failure, nominated) = (None, None, None);
            self.store(ApiPod { uid, name, label: 0, node, failure, nominated, leaving: false });
        }
    }

    pub fn update(&mut self, number: usize, change: impl FnOnce(&mut ApiPod)) {
        if let Some(mut pod) = self.pods.get(&pod_name(number)).cloned() {
            change(&mut pod);
            self.store(pod);
        }
    }

    pub fn remove(&mut self, number: usize) {
        if self.pods.remove(&pod_name(number)).is_some() {
            self.pod_news.push_back(News::Gone(pod_name(number)));
        }
    }

    /// The UIDs of all pods there ever were.
    pub fn everybody(&self) -> impl Iterator<Item = &String> {
        self.past.keys()
    }

    /// The pod that a caller means who is `age` generations behind.
    pub fn believed(&self, number: usize, age: usize) -> Option<ApiPod> {
        let generation = self.generations[number].checked_sub(age)?;
        self.past.get(&format!("{}.{generation}", pod_name(number))).cloned()
    }

    /// Carries out a call as the real one would: never twice, and never for another UID.
    pub fn execute(&mut self, call: usize, willing: bool) {
        let Some(Call { uid, node, bound: bound @ None }) = self.calls.get_mut(call) else { return };
        let pod = self.pods.values().find(|pod| pod.uid == *uid && pod.node.is_none()).cloned();
        *bound = Some(willing && pod.is_some());
        let node = node.clone();
        if let Some(mut pod) = pod.filter(|_| willing) {
            pod.node = Some(node);
            self.store(pod);
        }
    }

    fn store(&mut self, pod: ApiPod) {
        self.past.insert(pod.uid.clone(), pod.clone());
        self.pods.insert(pod.name.clone(), pod.clone());
        self.pod_news.push_back(News::Shown(pod));
    }
}
