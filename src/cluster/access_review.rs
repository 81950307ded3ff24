//! Asks the API server who somebody is, and what they may do.
//!
//! A `TokenReview` holds the token, in the question and in the answer. `kube::Api` logs answers that it cannot read, word for
//! word, so questions are asked here by hand, and nothing of an answer is said before the token is taken out.

use http_body_util::BodyExt;
use hyper::StatusCode;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{PostParams, Request};
use kube::client::Body;
use kube::core::Status;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the API server says about a token and what its user wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// It does not vouch for the token.
    UnknownToken,
    /// It knows the user, who may not do this.
    NotAuthorised,
    /// The user may do this.
    Authorised,
}

/// Why the API server was not heard.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewError {
    /// Berth's own account may not ask.
    #[error(
        "Berth's account may not create {what}; bind it to the ClusterRole system:auth-delegator: {message}"
    )]
    Forbidden {
        /// What it may not create.
        what: &'static str,
        /// The API server's words.
        message: String,
    },
    /// It refuses for another reason.
    #[error("the API server did not create {what}: {message} ({})", .code.as_u16())]
    Refused {
        /// What it did not create.
        what: &'static str,
        /// The status.
        code: StatusCode,
        /// The API server's words.
        message: String,
    },
    /// It says something that is no review.
    #[error("what came for {what} is no review: {why:?} error in line {line}, column {column}")]
    Unreadable {
        /// What was asked for.
        what: &'static str,
        /// The sort of error. The parser's own words may quote the answer.
        why: serde_json::error::Category,
        /// Where it stands.
        line: usize,
        /// Where in that line.
        column: usize,
    },
    /// It cannot be asked.
    #[error("{what} failed: {source}")]
    Failed {
        /// What was asked for.
        what: &'static str,
        /// Why there is no answer.
        source: kube::Error,
    },
}

impl ReviewError {
    fn unreadable(what: &'static str, error: &serde_json::Error) -> Self {
        ReviewError::Unreadable { what, why: error.classify(), line: error.line(), column: error.column() }
    }
}

/// Asks with Berth's account.
#[derive(Clone)]
pub(crate) struct AccessReviewer(Client);

impl AccessReviewer {
    /// Asks through this client.
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    /// Whether the token's user may use this verb (an HTTP method in lower case) on this path. Nothing is believed but
    /// what is said: an answer without a status lets nobody in.
    pub(crate) async fn review(&self, token: &str, verb: &str, path: &str) -> Result<Review, ReviewError> {
        let Some(user) = self.user_of(token).await? else {
            return Ok(Review::UnknownToken);
        };
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb.to_owned()) };
        let question = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let what = "subjectaccessreviews.authorization.k8s.io";
        let status = self.ask(what, &question, token).await?.status;
        let allowed = status.is_some_and(|status| status.allowed && !status.denied.unwrap_or(false));
        Ok(if allowed { Review::Authorised } else { Review::NotAuthorised })
    }

    async fn user_of(&self, token: &str) -> Result<Option<UserInfo>, ReviewError> {
        let question = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let what = "tokenreviews.authentication.k8s.io";
        let status = self.ask(what, &question, token).await?.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }

    /// Has the API server answer a question, about a token that is never repeated.
    async fn ask<Q>(&self, what: &'static str, question: &Q, token: &str) -> Result<Q, ReviewError>
    where
        Q: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        let failed = |source| ReviewError::Failed { what, source };
        let body = serde_json::to_vec(question).map_err(|error| failed(kube::Error::SerdeError(error)))?;
        let request = Request::new(Q::url_path(&(), None)).create(&PostParams::default(), body);
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        let answer = self.0.send(request.map(Body::from)).await.map_err(failed)?;
        let code = answer.status();
        let body = answer.into_body().collect().await.map_err(failed)?.to_bytes();
        if code.is_success() {
            return serde_json::from_slice(&body).map_err(|error| ReviewError::unreadable(what, &error));
        }
        let said = serde_json::from_slice::<Status>(&body).map(|status| status.message);
        let message = said.unwrap_or_default().replace(token, "[token]");
        Err(match code {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ReviewError::Forbidden { what, message },
            code => ReviewError::Refused { what, code, message },
        })
    }
}
