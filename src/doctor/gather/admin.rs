//! The admin endpoints of the Berth that runs. Off loopback they ask for a token, which is sent to nobody but Berth.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;

use super::http_call::{HttpCall, Reply};
use super::{PATIENCE, tls_files};
use crate::doctor::facts::Asked;
use crate::doctor::running::{Metrics, Refusal, RunningFacts};
use crate::doctor::url::Url;
use crate::doctor::{CannotAsk, Options};

/// Where they are, and with what they are asked.
pub(super) struct Admin {
    pub(super) url: Url,
    way: Way,
    token: Option<String>,
}

/// How calls get there.
#[derive(Debug)]
enum Way {
    /// In clear.
    Plain,
    /// Encrypted, for whoever answers: nothing secret may go this way.
    Anybody(Arc<ClientConfig>),
    /// Encrypted, for whom the authorities of `--ca-file` vouch.
    Verified(Arc<ClientConfig>),
}

/// An answer.
struct Answered {
    reply: Reply,
    /// Whether it is refused to those without a token.
    is_guarded: bool,
}

impl Admin {
    /// Reads the files that the options name.
    pub(super) fn new(options: &Options) -> Result<Self, CannotAsk> {
        let wrong = |reason| CannotAsk::Server { url: options.server.clone(), reason };
        let url = Url::parse(&options.server).map_err(wrong)?;
        let way = match (&options.ca_file, url.is_https) {
            (_, false) => Way::Plain,
            (None, true) => Way::Anybody(tls_files::accepting_any().map_err(wrong)?),
            (Some(path), true) => Way::Verified(
                tls_files::trusting(&super::read(path)?)
                    .map_err(|reason| refused("--ca-file", path, &reason))?,
            ),
        };
        let token = options.token_file.as_deref().map(|path| token(path, &way, &url)).transpose()?;
        Ok(Self { url, way, token })
    }

    /// Asks without the token first: where nobody wants it, it is not sent.
    async fn ask(&self, path: &str) -> Result<Answered, String> {
        let reply = self.call(path, None).await?;
        let is_guarded = is_refusal(reply.status);
        let reply = match self.token.as_deref() {
            Some(token) if is_guarded => self.call(path, Some(token)).await?,
            _ => reply,
        };
        Ok(Answered { reply, is_guarded })
    }

    async fn call(&self, path: &str, token: Option<&str>) -> Result<Reply, String> {
        let (tls, bearer) = match &self.way {
            Way::Plain => (None, token),
            Way::Anybody(tls) => (Some(tls.clone()), None),
            Way::Verified(tls) => (Some(tls.clone()), token),
        };
        let path = &format!("{}{path}", self.url.path);
        HttpCall { url: &self.url, path, body: None, tls, server_name: &self.url.host, bearer }
            .send(PATIENCE)
            .await
    }

    /// The body of an answer of 200.
    pub(super) async fn get(&self, path: &str) -> Option<String> {
        let Answered { reply, .. } = self.ask(path).await.ok()?;
        (reply.status == 200).then_some(reply.body)
    }

    /// How Berth is. Who is refused the metrics has seen whether it is ready all the same.
    pub(super) async fn running(&self) -> Asked<RunningFacts> {
        let what = |path: &str| format!("GET {path} at {}", self.url.authority());
        let readyz = match self.call("/readyz?verbose", None).await {
            Ok(reply) if matches!(reply.status, 200 | 503) => reply,
            Ok(reply) => return Asked::Failed(format!("{} is answered {}", what("/readyz"), reply.status)),
            Err(error) => return Asked::Failed(format!("{}: {error}", what("/readyz"))),
        };
        let (metrics, is_guarded) = match self.ask("/metrics").await {
            Ok(Answered { reply, is_guarded }) if reply.status == 200 => {
                (Metrics::Page(reply.body), Some(is_guarded))
            }
            Ok(Answered { reply, .. }) if is_refusal(reply.status) => {
                let refusal = Refusal {
                    what: what("/metrics"),
                    status: reply.status,
                    said: said(&reply.body),
                    had_token: self.token.is_some(),
                };
                (Metrics::Refused(refusal), Some(true))
            }
            Ok(Answered { reply, .. }) => {
                (Metrics::Failed(format!("{} is answered {}", what("/metrics"), reply.status)), None)
            }
            Err(error) => (Metrics::Failed(format!("{}: {error}", what("/metrics"))), None),
        };
        Asked::Got(RunningFacts { is_ready: readyz.status == 200, readyz: readyz.body, metrics, is_guarded })
    }
}

/// As Berth refuses who brings no token, a wrong one, or one that cannot be looked up now.
const fn is_refusal(status: u16) -> bool {
    matches!(status, 401 | 403 | 503)
}

/// Why it was refused, as one line that fits into a report.
fn said(body: &str) -> String {
    let problem: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let text = problem.as_ref().and_then(|problem| problem["error"].as_str()).unwrap_or(body);
    text.lines().next().unwrap_or_default().chars().filter(|char| !char.is_control()).take(300).collect()
}

fn refused(option: &'static str, path: &Path, reason: &str) -> CannotAsk {
    CannotAsk::File { option, path: path.to_owned(), reason: reason.to_owned() }
}

/// Whoever has the token is let in, so that nobody else may hear it.
fn token(path: &Path, way: &Way, url: &Url) -> Result<String, CannotAsk> {
    let refused = |reason| refused("--token-file", path, reason);
    match way {
        Way::Plain if !url.is_loopback() => {
            return Err(refused(
                "is not sent in clear to another machine: use https:// with --ca-file, or kubectl port-forward",
            ));
        }
        Way::Anybody(_) => {
            return Err(refused("is not sent to whoever answers: name the authority with --ca-file"));
        }
        Way::Plain | Way::Verified(_) => {}
    }
    let token = super::read(path)?.trim().to_owned();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused("holds no token, which is one word"));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::{Admin, said};
    use crate::doctor::Options;

    fn options(server: &str) -> Options {
        Options {
            scheduler_config: None,
            pre: false,
            config: None,
            kubeconfig: None,
            impersonate: None,
            server: server.to_owned(),
            token_file: None,
            ca_file: None,
            namespace: String::new(),
        }
    }

    #[test]
    fn a_token_goes_to_loopback_or_to_whom_an_authority_vouches_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [token, authority] = ["token", "ca.crt"].map(|name| directory.path().join(name));
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        std::fs::write(&token, "ey.J.x\n").expect("written");
        std::fs::write(&authority, made.cert.pem()).expect("written");
        for (server, has_authority, is_sent) in [
            ("http://127.0.0.1:8889", false, true),
            ("http://[::1]:8889", true, true),
            ("http://10.0.0.7:8889", false, false),
            ("http://10.0.0.7:8889", true, false),
            ("http://berth.berth-system.svc:8889", true, false),
            ("https://127.0.0.1:8889", false, false),
            ("https://10.0.0.7:8889", false, false),
            ("https://10.0.0.7:8889", true, true),
        ] {
            let mut options = options(server);
            options.ca_file = has_authority.then(|| authority.clone());
            assert!(Admin::new(&options).is_ok(), "{server}: there is no token yet");
            options.token_file = Some(token.clone());
            let admin = Admin::new(&options);
            assert_eq!(admin.as_ref().is_ok(), is_sent, "{server} {has_authority}");
            assert!(admin.is_err() || admin.is_ok_and(|admin| admin.token.as_deref() == Some("ey.J.x")));
        }
        for text in ["", " \n", "two words", "a\nb"] {
            std::fs::write(&token, text).expect("written");
            let options = Options { token_file: Some(token.clone()), ..options("http://127.0.0.1:1") };
            assert!(Admin::new(&options).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_said_is_one_line_without_control_characters() {
        for (body, line) in
            [(r#"{"error":"no"}"#, "no"), ("a\u{1b}[1m\nb", "a[1m"), ("", ""), (r#"{"a":1}"#, r#"{"a":1}"#)]
        {
            assert_eq!(said(body), line, "{body}");
        }
    }
}
