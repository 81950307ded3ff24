//! Tells people about replica groups: Events on their pods, where `kubectl describe` shows them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use prometheus::IntCounterVec;
use tokio::sync::{Mutex, mpsc};

use crate::metrics::{Registry, create_series};
use crate::model::{ObjectKey, Uid};

const COMPONENT: &str = "berth";
/// Beyond so many that wait to be posted, news is dropped: it must never hold up a decision.
const WAITING: usize = 1024;
/// How long the API server may take for one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something to tell about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodEvent {
    /// The pod.
    pub pod: ObjectKey,
    /// Its UID.
    pub uid: Uid,
    /// One word in camel case, for machines.
    pub reason: &'static str,
    /// A sentence, for people.
    pub message: String,
    /// Whether somebody might want to do something about it.
    pub is_warning: bool,
}

/// Metrics of Events.
#[derive(Clone, Debug)]
pub struct EventMetrics {
    events: IntCounterVec,
}

impl EventMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let events =
            registry.counter("events_total", "Events about pods, by what became of them.", &["result"])?;
        create_series(&events, [["posted"], ["failed"], ["dropped"]]);
        Ok(Self { events })
    }
}

/// Takes announcements and never waits.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    sender: Option<mpsc::Sender<PodEvent>>,
    metrics: EventMetrics,
}

impl EventRecorder {
    /// One that tells nobody, where there is no API server.
    pub fn silent(metrics: EventMetrics) -> Self {
        Self { sender: None, metrics }
    }

    /// One whose Events the poster posts.
    pub(crate) fn posting(client: Client, metrics: EventMetrics) -> (Self, EventPoster) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let poster =
            EventPoster { client, receiver: Arc::new(Mutex::new(receiver)), metrics: metrics.clone() };
        (Self { sender: Some(sender), metrics }, poster)
    }

    /// Tells it, sooner or later, or never if there is too much to tell.
    pub(crate) fn announce(&self, event: PodEvent) {
        if let Some(sender) = &self.sender
            && sender.try_send(event).is_err()
        {
            self.metrics.events.with_label_values(&["dropped"]).inc();
        }
    }
}

/// Posts what the recorder was told.
#[derive(Clone)]
pub struct EventPoster {
    client: Client,
    /// Shared by the clones, of which one posts at a time: one that panicked is replaced by the next.
    receiver: Arc<Mutex<mpsc::Receiver<PodEvent>>>,
    metrics: EventMetrics,
}

impl EventPoster {
    /// Posts for as long as there is a recorder.
    pub async fn run(self) {
        let mut receiver = self.receiver.lock().await;
        while let Some(event) = receiver.recv().await {
            let posted = tokio::time::timeout(PATIENCE, post(&self.client, &event)).await;
            let result = if matches!(posted, Ok(Ok(()))) { "posted" } else { "failed" };
            self.metrics.events.with_label_values(&[result]).inc();
            if result == "failed" {
                tracing::debug!(pod = %event.pod, reason = event.reason, "event not posted");
            }
        }
    }
}

async fn post(client: &Client, event: &PodEvent) -> Result<(), kube::Error> {
    let PodEvent { pod, uid, reason, message, is_warning } = event;
    let now = Timestamp::try_from(SystemTime::now()).ok().map(Time);
    // Unique enough: one pod has one such piece of news at a time.
    let stamp = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let event = Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{stamp:x}", pod.name)),
            namespace: Some(pod.namespace.to_string()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(pod.namespace.to_string()),
            name: Some(pod.name.to_string()),
            uid: Some(uid.to_string()),
            ..ObjectReference::default()
        },
        reason: Some((*reason).to_owned()),
        message: Some(message.clone()),
        type_: Some(if *is_warning { "Warning" } else { "Normal" }.to_owned()),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
        reporting_component: Some(COMPONENT.to_owned()),
        first_timestamp: now.clone(),
        last_timestamp: now,
        count: Some(1),
        ..Event::default()
    };
    let events: Api<Event> = Api::namespaced(client.clone(), &pod.namespace);
    events.create(&PostParams::default(), &event).await.map(drop)
}
