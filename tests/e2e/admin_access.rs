//! The admin port off loopback: the real API server says who may ask.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::berth_process::{BerthOptions, BerthProcess};
use crate::controlplane::{ControlPlane, HttpsProbe, Options};
use crate::install::account::account_with;
use crate::progress::report;
use crate::scheduling::berth;

const MINUTE: Duration = Duration::from_mins(1);

/// A service account that may do these verbs on these paths, and a token of it.
async fn account(client: &Client, name: &str, verbs: &[&str], paths: &[&str]) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    create(&accounts, json!({"metadata": {"name": name}})).await?;
    if !paths.is_empty() {
        let rules = json!([{"nonResourceURLs": paths, "verbs": verbs}]);
        create::<ClusterRole>(&Api::all(client.clone()), json!({"metadata": {"name": name}, "rules": rules}))
            .await?;
        let binding = json!({"metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]});
        create::<ClusterRoleBinding>(&Api::all(client.clone()), binding).await?;
    }
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer: TokenRequest =
        accounts.create_subresource("token", name, &PostParams::default(), &request).await?;
    answer.status.and_then(|status| status.token).context("no token")
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: Clone + Serialize + DeserializeOwned + std::fmt::Debug + Resource,
{
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// A configuration with a certificate.
fn encrypted(plane: &ControlPlane) -> Result<PathBuf> {
    let identity = plane.authority().issue(plane.workspace(), "berth")?;
    plane.workspace().write(
        "berth.yaml",
        &format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nserver:\n  tls:\n    \
             certFile: {}\n    keyFile: {}\n",
            identity.certificate.display(),
            identity.key.display(),
        ),
    )
}

/// What Berth needs for reviews is what is shipped for them: with it the scraper is let in, without any part of it nobody is.
#[tokio::test]
async fn reviews_take_exactly_the_rights_that_are_shipped() -> Result<()> {
    let rules_of = |file: &str| -> Result<Vec<Value>> {
        let objects: Vec<Value> = serde_saphyr::from_multiple(file)?;
        let roles = objects.iter().filter(|object| object["kind"] == "ClusterRole");
        Ok(roles.flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default()).collect())
    };
    let own = rules_of(include_str!("../../deploy/kustomize/base/cluster-role.yaml"))?;
    let reviews = rules_of(include_str!("../../deploy/kustomize/components/admin-access/reviews.yaml"))?;
    ensure!(reviews.len() == 2, "other rules than those tried: {reviews:?}");
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let scraper = account(&plane.client(), "scraper", &["get"], &["/metrics"]).await?;
        let config = encrypted(plane)?;
        for (name, without, lets_in) in [
            ("whole", None, true),
            ("no-token-reviews", Some(0), false),
            ("no-access-reviews", Some(1), false),
        ] {
            let kept =
                reviews.iter().enumerate().filter(|(at, _)| Some(*at) != without).map(|(_, rule)| rule);
            let rules: Vec<_> = own.iter().chain(kept).cloned().collect();
            let kubeconfig = account_with(plane, name, &rules).await?;
            let options = BerthOptions { admin_host: "0.0.0.0", ..berth().config(&config) };
            let mut berth = BerthProcess::start_unready(plane.workspace(), &kubeconfig, options).await?;
            let port = berth.admin_address().port();
            let probe = HttpsProbe::new(port, None)?;
            berth.process().wait_ready(MINUTE, async |_| probe.get("/readyz").await).await?;
            // This client tries again for as long as it is told 503, so it does not come to an end.
            let probe = HttpsProbe::new(port, Some(&scraper))?;
            let answer = tokio::time::timeout(Duration::from_secs(4), probe.ask("GET", "/metrics", "")).await;
            let let_in = matches!(&answer, Ok(Ok((200, _))));
            ensure!(let_in == lets_in, "{name}: {answer:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn off_loopback_the_api_server_says_who_may_ask() -> Result<()> {
    let options = Options { controllers: false, kubelets: false, ..Options::default() };
    ControlPlane::run(options, async |plane| {
        let client = plane.client();
        let scraper = account(&client, "scraper", &["get"], &["/metrics"]).await?;
        let operator = account(&client, "operator", &["get", "put"], &["/*"]).await?;
        let guest = account(&client, "guest", &[], &[]).await?;

        let config = encrypted(plane)?;
        let options = BerthOptions { admin_host: "0.0.0.0", ..berth().config(&config) };
        let mut berth = BerthProcess::start_unready(plane.workspace(), plane.kubeconfig(), options).await?;
        let port = berth.admin_address().port();
        let anonymous = HttpsProbe::new(port, None)?;
        berth.process().wait_ready(MINUTE, async |_| anonymous.get("/readyz").await).await?;

        // Not the last character of the signature: some of its bits mean nothing.
        let (signed, signature) = scraper.rsplit_once('.').context("a token without a signature")?;
        let other = if signature.starts_with('A') { 'B' } else { 'A' };
        let stranger = format!("{signed}.{other}{}", &signature[1..]);
        for (who, token, method, path, expected) in [
            ("anonymous", None, "GET", "/livez", 200),
            ("anonymous", None, "GET", "/readyz", 200),
            ("anonymous", None, "GET", "/metrics", 401),
            ("anonymous", None, "PUT", "/debug/loglevel", 401),
            ("a stranger", Some("made-up"), "GET", "/metrics", 401),
            ("a forger", Some(stranger.as_str()), "GET", "/metrics", 401),
            ("a guest", Some(guest.as_str()), "GET", "/metrics", 403),
            ("a guest", Some(guest.as_str()), "GET", "/configz", 403),
            ("the scraper", Some(scraper.as_str()), "GET", "/metrics", 200),
            ("the scraper", Some(scraper.as_str()), "GET", "/configz", 403),
            ("the scraper", Some(scraper.as_str()), "PUT", "/debug/loglevel", 403),
            ("the operator", Some(operator.as_str()), "GET", "/configz", 200),
            ("the operator", Some(operator.as_str()), "PUT", "/debug/loglevel", 200),
        ] {
            let probe = HttpsProbe::new(port, token)?;
            let (status, body) = probe.ask(method, path, "info").await?;
            ensure!(status == expected, "{who} {method} {path}: {status} {body}");
            if path == "/metrics" && status == 200 {
                ensure!(body.contains("berth_admin_refused_total{why=\"unknown_token\"} 2"), "{body}");
            }
        }

        // An account that is gone is out within seconds: nothing is remembered for long.
        Api::<ServiceAccount>::namespaced(client.clone(), "default")
            .delete("scraper", &DeleteParams::default())
            .await?;
        let probe = HttpsProbe::new(port, Some(&scraper))?;
        let began = std::time::Instant::now();
        while probe.ask("GET", "/metrics", "").await?.0 == 200 {
            ensure!(began.elapsed() < MINUTE, "a deleted account is still let in");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        report(&format!("a deleted account was out after {:.1?}", began.elapsed()));

        plane.stop_apiserver()?;
        // This client tries again for as long as it is told 503, so it does not come to an end.
        let probe = HttpsProbe::new(port, Some(&guest))?;
        let answer = tokio::time::timeout(Duration::from_secs(3), probe.ask("GET", "/metrics", "")).await;
        ensure!(answer.is_err(), "nobody is let in without a review: {answer:?}");
        let (status, _) = anonymous.ask("GET", "/livez", "").await?;
        ensure!(status == 200, "probes go on");
        plane.start_apiserver().await?;
        let (_, page) = HttpsProbe::new(port, Some(&operator))?.ask("GET", "/metrics", "").await?;
        let failed = page.lines().find_map(|line| {
            line.strip_prefix("berth_admin_refused_total{why=\"review_failed\"} ")?.parse::<u64>().ok()
        });
        ensure!(failed.is_some_and(|failed| failed > 0), "refused for want of a review: {failed:?}");
        Ok(())
    })
    .await
}
