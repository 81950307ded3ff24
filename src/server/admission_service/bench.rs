//! What a review costs: `cargo bench --bench admission`, or `make bench`.
//!
//! The whole service, from the body to the answer, is compared with a handler that reads the body, and answers with constant
//! bytes; both in one process, in turns.
#![allow(clippy::expect_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth::config::Config;
use berth::logging::{LogMetrics, Throttle};
use berth::metrics::Registry;
use berth::server::admission_metrics::AdmissionMetrics;
use berth::server::admission_service::AdmissionService;
use berth::store::Store;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};
use serde_json::{Value, json};

const ROUNDS: usize = 15;
const CALLS: u32 = 2_000;

/// A pod as controllers make them: two containers, and what else there mostly is.
fn pod(annotated: bool) -> Value {
    let container = |name: &str| {
        json!({"name": name, "image": "registry.example/serve:1", "ports": [{"containerPort": 8080}],
            "env": (0..20).map(|at| json!({"name": format!("VARIABLE_{at}"), "value": "some value"})).collect::<Vec<_>>(),
            "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"memory": "16Gi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}]})
    };
    let mut annotations =
        json!({"leaderworkerset.sigs.k8s.io/size": "4", "leaderworkerset.sigs.k8s.io/leader-name": "llm-3"});
    if annotated {
        for (key, value) in [
            ("NodeSelector", "example.com/node-group"),
            ("TolerationKey", "example.com/node-group"),
            ("TolerationEffect", "NoSchedule"),
        ] {
            annotations[format!("leaderworkerset.sigs.k8s.io/replicaUnique{key}")] = value.into();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "llm-3-1", "namespace": "default", "annotations": annotations,
            "labels": {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": "3",
                "leaderworkerset.sigs.k8s.io/worker-index": "1"}},
        "spec": {"containers": [container("serve"), container("proxy")], "volumes": [{"name": "data", "emptyDir": {}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"gpu": "yes"}}})
}

fn review(pod: &Value) -> Bytes {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": "default", "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:statefulset-controller", "groups": ["system:authenticated"]},
        "object": pod, "oldObject": null, "dryRun": false}});
    Bytes::from(review.to_string())
}

fn request(body: &Bytes) -> Request<Full<Bytes>> {
    Request::post("/mutate").body(Full::new(body.clone())).expect("a request")
}

/// Reads the body and says yes.
async fn empty_handler(request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, Infallible> {
    const YES: &[u8] =
        br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}}"#;
    let Ok(body) = request.into_body().collect().await;
    black_box(body.to_bytes());
    Ok(Response::new(Full::new(Bytes::from_static(YES))))
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let registry = Registry::new().expect("a registry");
    let store = Arc::new(Store::new(Config::default(), &registry).expect("a store"));
    let complaints = Throttle::new(LogMetrics::register(&registry).expect("metrics"));
    let metrics = AdmissionMetrics::register(&registry).expect("metrics");
    let service = AdmissionService::new(store, Arc::default(), metrics, complaints);
    let yardstick = |body: &Bytes| {
        let began = Instant::now();
        for _ in 0..CALLS {
            drop(black_box(runtime.block_on(empty_handler(request(body)))));
        }
        began.elapsed()
    };
    let served = |body: &Bytes| {
        let began = Instant::now();
        for _ in 0..CALLS {
            drop(black_box(runtime.block_on(service.handle(request(body)))));
        }
        began.elapsed()
    };
    for (what, annotated) in [("a pod that asks for nothing", false), ("a member that asks for nodes", true)]
    {
        let body = review(&pod(annotated));
        let (mut ratios, mut took): (Vec<f64>, Vec<Duration>) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (empty, own) = (yardstick(&body), served(&body));
            ratios.push(own.as_secs_f64() / empty.as_secs_f64());
            took.push(own / CALLS);
        }
        ratios.sort_by(f64::total_cmp);
        took.sort_unstable();
        println!(
            "review of {} bytes, {what}: {:.1} times an empty handler ({:.1} to {:.1}), {:.1?} each",
            body.len(),
            ratios[ROUNDS / 2],
            ratios[0],
            ratios[ROUNDS - 1],
            took[ROUNDS / 2]
        );
    }
}
