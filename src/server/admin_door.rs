//! Who may ask on the admin port, and what is counted there.
//!
//! ```text
//!   request --> open path, or loopback? --yes--------------------------------> AdminService; on an open path it withholds
//!                  | no                                                             ^      reasons from who is not authorised
//!                  v                                                                |
//!               bearer token --none--> 401                                          |
//!                  |                                                                |
//!                  v                                                                |
//!               remembered? --no--> TokenReview, SubjectAccessReview --no answer--> 503
//!                  |                         |                                      |
//!                  +--> unknown: 401, not authorised: 403, authorised --------------+
//! ```

mod metrics;
mod remembered;
mod reviews;

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Body;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};

pub(crate) use self::metrics::AdminMetrics;
pub(crate) use self::reviews::Reviews;
use super::admin::AdminService;
use super::readiness::Reasons;
use super::{Answer, json};
use crate::cluster::access_review::Review;
use crate::logging::Throttle;
use crate::wire::reply::problem;

/// Longer ones are not passed on: no token of Kubernetes comes near it.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Who is let in.
pub(crate) enum Access {
    /// Everybody: only this machine reaches the port.
    Loopback,
    /// Whom the API server vouches for.
    Reviewed(Box<Reviews>),
    /// Nobody, for there is no API server.
    Nobody,
}

/// Why a request is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Anonymous,
    UnknownToken,
    NotAuthorised,
    NobodyVouches,
    ReviewFailed,
}

impl Refusal {
    /// Every label, for metrics that exist from the start.
    const LABELS: [&'static str; 4] = ["anonymous", "unknown_token", "not_authorised", "review_failed"];

    const fn label(self) -> &'static str {
        match self {
            Refusal::Anonymous => Self::LABELS[0],
            Refusal::UnknownToken => Self::LABELS[1],
            Refusal::NotAuthorised | Refusal::NobodyVouches => Self::LABELS[2],
            Refusal::ReviewFailed => Self::LABELS[3],
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Refusal::Anonymous | Refusal::UnknownToken => StatusCode::UNAUTHORIZED,
            Refusal::NotAuthorised | Refusal::NobodyVouches => StatusCode::FORBIDDEN,
            Refusal::ReviewFailed => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(self, verb: &str, path: &str) -> String {
        match self {
            Refusal::Anonymous => {
                "this port is not on loopback: send `Authorization: Bearer TOKEN` with a token of \
                                   the cluster; /livez and /readyz are open"
                    .to_owned()
            }
            Refusal::UnknownToken => {
                "the API server does not vouch for this token: it is unknown, has expired, or is \
                                      for another audience"
                    .to_owned()
            }
            Refusal::NotAuthorised => format!(
                "the user of this token may not {verb} {path}: bind it to a ClusterRole with nonResourceURLs: \
                 [\"{path}\"] and verbs: [\"{verb}\"]"
            ),
            Refusal::NobodyVouches => {
                "this Berth serves a cluster from a file, so no API server can vouch for \
                                       anybody: ask on a loopback address; /livez and /readyz are open"
                    .to_owned()
            }
            Refusal::ReviewFailed => {
                "the API server did not say whether you may ask this; Berth's log says why, and \
                                      nobody is let in meanwhile"
                    .to_owned()
            }
        }
    }
}

/// Lets requests through to the admin service, or not.
pub(crate) struct AdminDoor {
    /// Who is let in.
    pub(crate) access: Access,
    /// Who answers.
    pub(crate) service: Arc<AdminService>,
    /// What is counted.
    pub(crate) metrics: AdminMetrics,
    /// Limits what is said of reviews that fail.
    pub(crate) complaints: Throttle,
}

impl AdminDoor {
    /// Answers one request that comes from this address.
    pub(crate) async fn handle<B>(&self, mut request: Request<B>, peer: IpAddr) -> Answer
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = request.uri().path().to_owned();
        // As Kubernetes names verbs on paths that are no resources.
        let verb = request.method().as_str().to_ascii_lowercase();
        let admitted = self.admit(peer, request.headers(), &verb, &path).await;
        // Nobody behind the door needs it.
        request.headers_mut().remove(AUTHORIZATION);
        let answer = match admitted {
            Ok(reasons) => self.service.handle(request, reasons).await,
            Err(refusal) => {
                self.metrics.refused(refusal.label());
                refuse(refusal, &verb, &path)
            }
        };
        self.metrics.answered(&path, answer.status());
        answer
    }

    /// Whether the request is passed on, and how much its answer may tell.
    async fn admit(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        verb: &str,
        path: &str,
    ) -> Result<Reasons, Refusal> {
        match (&self.access, path) {
            (Access::Loopback, _) => Ok(Reasons::Told),
            // Probes come from kubelets, which bring no token, and learn nothing but how Berth is.
            (_, "/livez") => Ok(Reasons::Withheld),
            // No token makes it worse for who asks: whether Berth is ready is answered in any case.
            (_, "/readyz") => {
                let reviewed = self.review(peer, headers, verb, path).await;
                Ok(reviewed.map_or(Reasons::Withheld, |()| Reasons::Told))
            }
            _ => self.review(peer, headers, verb, path).await.map(|()| Reasons::Told),
        }
    }

    async fn review(&self, peer: IpAddr, headers: &HeaderMap, verb: &str, path: &str) -> Result<(), Refusal> {
        let reviews = match &self.access {
            Access::Loopback => return Ok(()),
            Access::Nobody => return Err(Refusal::NobodyVouches),
            Access::Reviewed(reviews) => reviews,
        };
        let token = bearer(headers).ok_or(Refusal::Anonymous)?;
        if token.len() > LONGEST_TOKEN {
            return Err(Refusal::UnknownToken);
        }
        match reviews.review(peer, token, verb, path).await {
            Ok(Review::Authorised) => Ok(()),
            Ok(Review::NotAuthorised) => Err(Refusal::NotAuthorised),
            Ok(Review::UnknownToken) => Err(Refusal::UnknownToken),
            Err(error) => {
                if self.complaints.may_speak(("admin", Refusal::ReviewFailed.label())) {
                    tracing::warn!(%error, "nobody is let in on the admin port, for access cannot be reviewed");
                }
                Err(Refusal::ReviewFailed)
            }
        }
    }
}

/// The token of a request, if it brings one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn refuse(refusal: Refusal, verb: &str, path: &str) -> Answer {
    let mut answer = json(refusal.status(), problem(&refusal.text(verb, path)));
    let headers = answer.headers_mut();
    match refusal {
        Refusal::Anonymous | Refusal::UnknownToken => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refusal::ReviewFailed => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Refusal::NotAuthorised | Refusal::NobodyVouches => {}
    }
    answer
}

#[cfg(test)]
mod tests;
