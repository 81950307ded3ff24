//! What the API server says: its version, what accounts may do, nodes and groups.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Config as ClientConfig};

use super::gifts;
use super::schedulers::schedulers;
use crate::app::{NoClientConfig, client_config};
use crate::cluster::WatchMetrics;
use crate::cluster::api::Api as Objects;
use crate::config::Config;
use crate::doctor::facts::{ApiServerFacts, Asked};
use crate::doctor::permissions::{self, Permission, Reviewed};
use crate::doctor::topology::Cluster;
use crate::doctor::{CannotAsk, Options};
use crate::json::Interner;
use crate::logging::{LogMetrics, Throttle, with_causes};
use crate::metrics::Registry;
use crate::model::Kind;
use crate::view::View;
use crate::view::change::Change;

/// How long the API server may take to be reached, and to answer.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(1));
/// How many reviews are asked for at a time.
const AT_ONCE: usize = 8;

/// Asks for everything.
pub(super) async fn ask(
    options: &Options,
    config: &Config,
    admin_off_loopback: bool,
) -> Result<Asked<ApiServerFacts>, CannotAsk> {
    let mut client = match client_config(options.kubeconfig.as_ref()).await {
        Ok(client) => client,
        Err(error @ NoClientConfig::Unusable { .. }) => {
            return Err(CannotAsk::Kubeconfig(with_causes(&error)));
        }
        Err(NoClientConfig::Nothing(_)) => {
            let why = "found neither a kubeconfig nor an in-cluster account; pass --kubeconfig FILE";
            return Ok(Asked::Skipped(why.to_owned()));
        }
    };
    (client.connect_timeout, client.read_timeout) = (Some(PATIENCE.0), Some(PATIENCE.1));
    Ok(match ask_at(client, options, config, admin_off_loopback).await {
        Ok(facts) => Asked::Got(facts),
        Err(reason) => Asked::Failed(reason),
    })
}

async fn ask_at(
    settings: ClientConfig,
    options: &Options,
    config: &Config,
    admin_off_loopback: bool,
) -> Result<ApiServerFacts, String> {
    let url = settings.cluster_url.to_string();
    let in_place = |error: kube::Error| format!("{url}: {}", cause(&error));
    let mut impersonating = settings.clone();
    impersonating.auth_info.impersonate.clone_from(&options.impersonate);
    let client = Client::try_from(settings).map_err(in_place)?;
    let reviewer = Client::try_from(impersonating).map_err(in_place)?;
    let version = client.apiserver_version().await.map_err(in_place)?.git_version;
    let objects = objects(&client).map_err(|error| error.to_string())?;
    let schedulers = schedulers(&client).await;
    let needed = if options.pre {
        permissions::needed_to_install(&options.namespace)
    } else {
        let installed = installed(&objects).await;
        permissions::needed_to_run(config, |kind| installed.contains(&kind), admin_off_loopback)
    };
    let permissions = match review(&reviewer, needed).await {
        Ok(permissions) => Asked::Got(gifts::second_opinion(&reviewer, permissions, options, config).await),
        Err(error) => Asked::Failed(format!("permissions cannot be looked up: {}", cause(&error))),
    };
    let cluster = match cluster(&objects, config).await {
        Ok(cluster) => Asked::Got(cluster),
        Err(reason) => Asked::Failed(reason),
    };
    let account = match &options.impersonate {
        Some(account) => account.clone(),
        None => who_am_i(&reviewer).await,
    };
    Ok(ApiServerFacts { version, schedulers, account, permissions, cluster })
}

/// The innermost cause, which is the one that tells.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

fn objects(client: &Client) -> Result<Objects, prometheus::Error> {
    let registry = Registry::new()?;
    let metrics = WatchMetrics::register(&registry)?;
    let throttle = Throttle::new(LogMetrics::register(&registry)?);
    Ok(Objects::new(client.clone(), Arc::new(Interner::default()), metrics, throttle))
}

async fn who_am_i(client: &Client) -> String {
    let review = Api::<SelfSubjectReview>::all(client.clone());
    let reviewed = review.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok();
    let user = reviewed.and_then(|review| review.status?.user_info?.username);
    user.unwrap_or_else(|| "the account of the kubeconfig".to_owned())
}

/// The kinds that are there of those that not every cluster has.
async fn installed(objects: &Objects) -> Vec<Kind> {
    let mut installed = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_built_in()) {
        if matches!(objects.locate(kind).await, Ok(Some(_))) {
            installed.push(kind);
        }
    }
    installed
}

async fn review(client: &Client, needed: Vec<Permission>) -> Result<Vec<Reviewed>, kube::Error> {
    let reviews = futures::stream::iter(needed).map(|permission| review_one(client, permission));
    reviews.buffered(AT_ONCE).try_collect().await
}

async fn review_one(client: &Client, permission: Permission) -> Result<Reviewed, kube::Error> {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let asked = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(permission.group.to_owned()),
                resource: Some(permission.resource.to_owned()),
                subresource: some(permission.subresource),
                verb: Some(permission.verb.to_owned()),
                namespace: permission.namespace.clone(),
                name: some(permission.object),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let review = Api::<SelfSubjectAccessReview>::all(client.clone());
    let answer = review.create(&PostParams::default(), &asked).await?;
    Ok(Reviewed { permission, allowed: answer.status.is_some_and(|status| status.allowed) })
}

/// Nodes and groups, recognised as Berth recognises them.
async fn cluster(objects: &Objects, config: &Config) -> Result<Cluster, String> {
    let mut view = View::default();
    let recogniser = Arc::new(config.replica_groups.recogniser());
    view.set_recogniser(recogniser.clone());
    // What groups are recognised by comes before the pods.
    let behind_groups =
        Kind::ALL.into_iter().filter(|kind| matches!(kind, Kind::Group(_)) && recogniser.reads(*kind));
    for kind in behind_groups.chain([Kind::Node, Kind::Pod]) {
        let failed = |error: crate::cluster::api::ApiError| {
            format!("{} cannot be listed: {}", kind.plural(), cause(&error))
        };
        let listed = match objects.locate(kind).await {
            Ok(Some(path)) => objects.list(kind, &path).await.map(|(listed, _)| listed),
            Ok(None) => continue,
            Err(error) => Err(error),
        };
        match listed {
            Ok(listed) => drop(view.apply(Change::Replace(kind, listed))),
            Err(error) if matches!(kind, Kind::Node | Kind::Pod) => return Err(failed(error)),
            // Groups of that source are recognised by their pods alone.
            Err(_) => {}
        }
    }
    Ok(Cluster::of(&view))
}
