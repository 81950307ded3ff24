//! Berth's rights: those in the manifest are enough, and without any one of them something fails that people can see.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use berth::model::Kind;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use super::account::account_with;
use super::custom_kinds::{define, objects};
use super::rendering::{kustomized, object};
use crate::berth_process::BerthProcess;
use crate::controlplane::{Binaries, ControlPlane, Options};
use crate::fixtures::{BindingsWatch, create_all};
use crate::leader_worker_sets::racks::rack;
use crate::owed_room::members::members;
use crate::preemption::play::until;
use crate::progress::report;
use crate::scheduling::{SHIPPED, berth};

const MINUTE: Duration = Duration::from_mins(1);
/// Many times as long as a Berth with all rights takes.
const SETTLED: Duration = Duration::from_secs(4);
/// Berths at a time.
const CONCURRENCY: usize = 6;
const SIZE: usize = 3;
/// As shipped: what is not allowed has to show long before a watch has been cut for `stalenessLimit`.
const CONFIG: &str = "apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
";

/// One right: to do this with one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Right {
    group: String,
    resource: String,
    verb: String,
}

impl Right {
    /// All rights of a role, one by one.
    fn all_of(role: &Value) -> Vec<Self> {
        let strings = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|text| Some(text.as_str()?.to_owned()))
                .collect()
        };
        let mut all = Vec::new();
        for rule in role["rules"].as_array().into_iter().flatten() {
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    for verb in strings(&rule["verbs"]) {
                        let (group, resource) = (group.clone(), resource.clone());
                        all.push(Self { group, resource, verb });
                    }
                }
            }
        }
        all
    }

    fn rule(&self) -> Value {
        json!({"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb]})
    }

    /// The kind that is read with it, if any is.
    fn kind(&self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.group() == self.group && kind.plural() == self.resource)
    }
}

fn rules_without(all: &[Right], missing: Option<&Right>) -> Vec<Value> {
    all.iter().filter(|right| Some(*right) != missing).map(Right::rule).collect()
}

#[tokio::test]
async fn berth_needs_each_of_its_rights_and_no_other() -> Result<()> {
    let binaries = Binaries::locate().await?;
    let role = object(&kustomized(&binaries, "second-scheduler")?, "ClusterRole", "berth")?;
    let rights = Right::all_of(&role);
    // What is read is what the code says, and nothing besides.
    for kind in Kind::ALL {
        for verb in ["list", "watch"] {
            let given = rights.iter().any(|right| right.kind() == Some(kind) && right.verb == verb);
            ensure!(given, "the role does not let Berth {verb} {}", kind.plural());
        }
    }
    let (reading, acting): (Vec<_>, Vec<_>) =
        rights.iter().cloned().partition(|right| right.kind().is_some());
    ensure!(reading.len() == 2 * Kind::ALL.len(), "the role lets Berth read more than it watches");

    let options = Options { controllers: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_built_in()) {
            let (group, name, plural) = (kind.group(), kind.label(), kind.plural());
            define(&plane.client(), group, name, plural).await?;
            let one = json!({"apiVersion": format!("{group}/v1"), "kind": name, "metadata": {"name": "one"}, "spec": {}});
            objects(&plane.client(), group, name, plural)
                .create(&PostParams::default(), &serde_json::from_value(one)?)
                .await?;
        }
        let config = plane.workspace().write("berth.yaml", CONFIG)?;

        let whole = account_with(plane, "berth-whole", &rules_without(&rights, None)).await?;
        let seen = smoke(plane, &whole, &config, "whole").await?;
        ensure!(seen == Seen { bound: true, nominated: true, told: true }, "with all rights: {seen:?}");
        for right in &acting {
            let name = format!("berth-not-{}", right.resource.replace('/', "-"));
            let account = account_with(plane, &name, &rules_without(&rights, Some(right))).await?;
            let seen = smoke(plane, &account, &config, &right.resource.replace('/', "-")).await?;
            report(&format!("without {} {}: {seen:?}", right.verb, right.resource));
            let fails = match right.resource.as_str() {
                "pods/binding" => !seen.bound,
                "pods/status" => !seen.nominated,
                "events" => !seen.told,
                other => anyhow::bail!("no test knows what {other} is for"),
            };
            ensure!(fails, "nothing fails without {} {}", right.verb, right.resource);
        }
        let plane: &ControlPlane = plane;
        let trials = stream::iter(reading.iter().enumerate()).map(|(at, right)| {
            let (rights, config) = (&rights, &config);
            async move {
                let rules = rules_without(rights, Some(right));
                let account = account_with(plane, &format!("berth-{at}"), &rules).await?;
                ensure_missed(plane, &account, config, right).await
            }
        });
        trials.buffer_unordered(CONCURRENCY).try_for_each(async |()| Ok(())).await?;
        report(&format!("{} rights to read were missed, one after another", reading.len()));
        Ok(())
    })
    .await
}

/// A right to read that is not there shows: Berth is not ready, or sees no such object where there is one.
async fn ensure_missed(plane: &ControlPlane, account: &Path, config: &Path, right: &Right) -> Result<()> {
    let kind = right.kind().context("not a right to read")?;
    let berth = BerthProcess::start_unready(plane.workspace(), account, berth().config(config)).await?;
    tokio::time::sleep(SETTLED).await;
    let (status, body) = berth.get("/readyz?verbose").await?;
    let unready = status != 200 && body.contains(kind.label());
    let unseen = !kind.is_built_in()
        && berth.metric_sum("berth_cache_objects", &[("kind", kind.label())]).await? == 0.0;
    ensure!(unready || unseen, "nothing fails without {} {}: {status} {body}", right.verb, right.resource);
    Ok(())
}

/// What can be seen of a Berth at work; that it is ready has been waited for.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    bound: bool,
    nominated: bool,
    told: bool,
}

/// A group of three, one after another, on a rack of its own, with a kube-scheduler that may do everything.
async fn smoke(plane: &ControlPlane, account: &Path, config: &Path, name: &str) -> Result<Seen> {
    let client = plane.client();
    create_all(&client, &rack(name, SIZE)).await?;
    let watch = BindingsWatch::start(&client).await?;
    let berth = BerthProcess::start(plane.workspace(), account, berth().config(config)).await?;
    let _scheduler = plane.start_scheduler(SHIPPED, Some(&berth.url())).await?;
    // Those that come first have to wait, so that there is somebody to nominate when the last one has come.
    create_all(&client, &members(name, 0..SIZE - 1, SIZE)).await?;
    until("members that wait", async || {
        let waits = [("reason", "MembersNotCreated")];
        Ok(berth.metric_sum("berth_undecided_total", &waits).await? >= 1.0)
    })
    .await?;
    create_all(&client, &members(name, SIZE - 1..SIZE, SIZE)).await?;
    let count = async |metric: &str, result: &str| berth.metric_sum(metric, &[("result", result)]).await;
    // Something has come of everything that Berth does: it worked, or it did not.
    until("bindings", async || {
        let done = count("berth_bindings_total", "bound").await?;
        Ok(done >= 3.0 || count("berth_bindings_total", "refused").await? >= 1.0)
    })
    .await?;
    until("nominations", async || {
        let written = count("berth_nominations_total", "written").await?;
        Ok(written + count("berth_nominations_total", "failed").await? >= 1.0)
    })
    .await?;
    until("Events", async || {
        let posted = count("berth_events_total", "posted").await?;
        Ok(posted + count("berth_events_total", "failed").await? >= 1.0)
    })
    .await?;
    let bound = (0..SIZE).all(|at| watch.node_of(&format!("default/{name}-{at}")).is_some());
    if count("berth_bindings_total", "refused").await? == 0.0 && !bound {
        watch
            .wait_for("the group", MINUTE, |watch| watch.node_of(&format!("default/{name}-0")).is_some())
            .await?;
    }
    let bound = (0..SIZE).all(|at| watch.node_of(&format!("default/{name}-{at}")).is_some());
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let events = events.list(&ListParams::default()).await?;
    let told = events.items.iter().any(|event| {
        let about = event.involved_object.name.as_deref().unwrap_or_default();
        event.reporting_component.as_deref() == Some("berth") && about.starts_with(name)
    });
    let nominated = count("berth_nominations_total", "written").await? >= 1.0;
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(client.clone());
    for at in 0..SIZE {
        pods.delete(&format!("{name}-{at}"), &kube::api::DeleteParams::default().grace_period(0)).await?;
    }
    Ok(Seen { bound, nominated, told })
}
