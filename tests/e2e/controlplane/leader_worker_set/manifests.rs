//! What a deployment of the controller installs in a cluster, from the manifests of its own module.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper::Request;
use hyper::header::CONTENT_TYPE;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use serde_json::{Value, json};

const KINDS: [(&str, &str); 2] =
    [("leaderworkerset.x-k8s.io", "leaderworkersets"), ("disaggregatedset.x-k8s.io", "disaggregatedsets")];
/// How each kind of webhook configuration is called in a path, and the patch that a deployment applies to it.
const WEBHOOKS: [(&str, &str, &str); 2] = [
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "mutating-patch.yaml"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validating-patch.yaml"),
];
const SERVED_LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(50);

/// Makes the custom kinds, both of them: the manager gives up when it cannot watch one.
pub async fn define_kinds(client: &Client, folder: &Path) -> Result<()> {
    for (group, plural) in KINDS {
        let definition = read(folder, &format!("{group}_{plural}.yaml"))?;
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        // As it is, for reading more than a megabyte of YAML is work that the API server does faster.
        post(client, path, "application/yaml", definition.into_bytes()).await?;
    }
    for (group, plural) in KINDS {
        let started = Instant::now();
        while !is_announced(client, group, plural).await? {
            ensure!(started.elapsed() < SERVED_LIMIT, "{plural} are not served");
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// A kind is served a moment before it is announced, and the manager goes by what is announced: what it does not find there
/// it looks for again only ten seconds later.
async fn is_announced(client: &Client, group: &str, plural: &str) -> Result<bool> {
    let request = Request::get(format!("/apis/{group}/v1")).body(Vec::new())?;
    match client.request::<APIResourceList>(request).await {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == plural)),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 503) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Registers the webhooks as a deployment would, but at a loopback port instead of a Service.
pub async fn register_webhooks(client: &Client, folder: &Path, port: u16, authority: &Path) -> Result<()> {
    let configurations: Vec<Value> = serde_saphyr::from_multiple(&read(folder, "manifests.yaml")?)?;
    let authority = ByteString(fs::read(authority).context("the authority's certificate")?);
    for mut configuration in configurations {
        let kind = configuration["kind"].as_str().context("a manifest without a kind")?;
        let known = WEBHOOKS.into_iter().find(|(name, ..)| *name == kind);
        let (_, plural, changes) = known.with_context(|| format!("an unexpected {kind}"))?;
        apply(&mut configuration, serde_saphyr::from_str(&read(folder, changes)?)?)?;
        for webhook in configuration["webhooks"].as_array_mut().context("no webhooks")? {
            let path = webhook["clientConfig"]["service"]["path"].as_str().context("no path")?;
            let url = format!("https://127.0.0.1:{port}{path}");
            webhook["clientConfig"] = json!({"url": url, "caBundle": authority});
        }
        let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
        post(client, &path, "application/json", serde_json::to_vec(&configuration)?).await?;
    }
    Ok(())
}

/// The patches replace whole webhooks by others that leave alone what is no member of a set.
fn apply(configuration: &mut Value, patch: Vec<Value>) -> Result<()> {
    for mut step in patch {
        let value = step["value"].take();
        let target = step["path"].as_str().and_then(|path| configuration.pointer_mut(path));
        ensure!(step["op"] == "replace", "cannot apply {step}");
        *target.with_context(|| format!("cannot apply {step}"))? = value;
    }
    Ok(())
}

fn read(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

async fn post(client: &Client, path: &str, content: &str, body: Vec<u8>) -> Result<()> {
    let request = Request::post(path).header(CONTENT_TYPE, content).body(body)?;
    client.request::<Value>(request).await.with_context(|| format!("POST {path}")).map(drop)
}
