//! Asks the API server who somebody is, and what they may do.

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

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
    /// Anything else.
    #[error("{what} failed: {source}")]
    Failed {
        /// What was asked for.
        what: &'static str,
        /// Why there is no answer.
        source: kube::Error,
    },
}

impl ReviewError {
    fn new(what: &'static str, source: kube::Error) -> Self {
        match source {
            kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
                ReviewError::Forbidden { what, message: status.message.clone() }
            }
            source => ReviewError::Failed { what, source },
        }
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
        let what = "subjectaccessreviews.authorization.k8s.io";
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
        let reviews: Api<SubjectAccessReview> = Api::all(self.0.clone());
        let answer = reviews.create(&PostParams::default(), &question).await;
        let status = answer.map_err(|error| ReviewError::new(what, error))?.status;
        let allowed = status.is_some_and(|status| status.allowed && !status.denied.unwrap_or(false));
        Ok(if allowed { Review::Authorised } else { Review::NotAuthorised })
    }

    async fn user_of(&self, token: &str) -> Result<Option<UserInfo>, ReviewError> {
        let what = "tokenreviews.authentication.k8s.io";
        let question = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.0.clone());
        let answer = reviews.create(&PostParams::default(), &question).await;
        let status = answer.map_err(|error| ReviewError::new(what, error))?.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }
}
