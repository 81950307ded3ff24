//! Builders for tests: `pod("p").label("app", "web").on("node-a")`, `node("n").rack("r1")`.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::DefaultGuard;

use crate::json::{Interner, Slimmed, slim};
use crate::model::group::Source;
use crate::model::group::recognition::GroupObjects;
use crate::model::{
    Controller, GroupObject, Kind, Name, Node, Object, ObjectKey, Pod, Recogniser, Resources,
};

/// A cluster in which no object stands behind any group.
pub(crate) struct NoObjects;

impl GroupObjects for NoObjects {
    fn find(&self, _: Kind, _: &ObjectKey) -> Option<&GroupObject> {
        None
    }
}

/// An object that stands behind groups of a source, read from JSON.
pub(crate) fn group_object(source: Source, text: &str) -> GroupObject {
    let kind = source.kind().expect("a source with objects");
    match slim(kind, text, &Interner::default()) {
        Ok(Slimmed::Kept(Object::Group(_, object))) => Arc::unwrap_or_clone(object),
        other => panic!("expected an object, got {other:?}"),
    }
}

/// Any object, read from JSON.
pub(crate) fn object(text: &str) -> Object {
    let header: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let field = |name: &str| header[name].as_str().expect("a text");
    let kind = Kind::recognise(field("apiVersion"), field("kind")).expect("a kind that is watched");
    match slim(kind, text, &Interner::default()) {
        Ok(Slimmed::Kept(object)) => object,
        other => panic!("expected an object, got {other:?}"),
    }
}

/// A pod builder; the UID is the name unless told otherwise.
#[derive(Clone)]
pub struct PodBuilder(Pod, Vec<(Name, Name)>, Vec<(Name, Name)>);

/// A pod in namespace `default`.
pub fn pod(name: &str) -> PodBuilder {
    PodBuilder(Pod::identity_only(name.into(), ObjectKey::new("default", name)), Vec::new(), Vec::new())
}

impl PodBuilder {
    /// Sets the UID.
    pub fn uid(mut self, uid: &str) -> Self {
        self.0.uid = uid.into();
        self
    }

    /// Puts it into another namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.key.namespace = namespace.into();
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.1.push((key.into(), value.into()));
        self
    }

    /// Adds an annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.2.push((key.into(), value.into()));
        self
    }

    /// Binds it to a node.
    pub fn on(mut self, node: &str) -> Self {
        self.0.node = Some(node.into());
        self
    }

    /// Sets the priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.0.priority = priority;
        self
    }

    /// Gives it an owner that controls it, whose UID is its name.
    pub fn controlled_by(mut self, api_version: &str, kind: &str, name: &str) -> Self {
        let (api_version, kind) = (api_version.into(), kind.into());
        let controller = Controller { api_version, kind, name: name.into(), uid: name.into() };
        self.0.controller = Some(Arc::new(controller));
        self
    }

    /// Makes it one that has succeeded.
    pub fn finished(mut self) -> Self {
        self.0.finished = true;
        self
    }

    /// Gives it a deletion timestamp.
    pub fn terminating(mut self) -> Self {
        self.0.terminating = true;
        self
    }

    /// Makes it ask for these, before it is placed and afterwards.
    pub fn requests(mut self, resources: Resources) -> Self {
        self.0.requests = Arc::new(resources);
        self.0.allocated = self.0.requests.clone();
        self
    }

    /// The pod.
    pub fn build(mut self) -> Pod {
        self.0.labels = self.1.into_iter().collect();
        self.0.annotations = self.2.into_iter().collect();
        self.0.group = Recogniser::default().recognise(&self.0, &NoObjects);
        self.0
    }
}

/// A node builder.
#[derive(Clone)]
pub struct NodeBuilder(Node, Vec<(Name, Name)>);

/// A node without labels.
pub fn node(name: &str) -> NodeBuilder {
    let node = Node { allowed_pods: 110, ..Node::named(name) };
    NodeBuilder(node, Vec::new())
}

impl NodeBuilder {
    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.1.push((key.into(), value.into()));
        self
    }

    /// Sets what it has to give.
    pub fn allocatable(mut self, resources: Resources) -> Self {
        self.0.allocatable = Arc::new(resources);
        self
    }

    /// The node.
    pub fn build(mut self) -> Node {
        self.0.labels = self.1.into_iter().collect();
        self.0
    }
}

/// Everything that this thread logs, at every level, from now on.
#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    /// Listens for as long as the guard is kept.
    pub(crate) fn here() -> (Self, DefaultGuard) {
        let logged = Self::default();
        let writer = logged.clone();
        let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        let guard = tracing::subscriber::set_default(lines.with_writer(move || writer.clone()).finish());
        (logged, guard)
    }

    /// What was logged so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
