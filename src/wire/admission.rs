//! `AdmissionReview` of `admission.k8s.io/v1`: what the API server asks when a pod is created, and what it is told.
//!
//! The object is kept as it stands in the body: who does not change it does not read it as a whole.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What the API server says of a refusal: the pod cannot be made as it is.
const UNPROCESSABLE: u16 = 422;

/// Why a body is no review that can be answered. The text goes to the caller.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Bytes that are no JSON.
    #[error("body is not JSON: {0}")]
    NotJson(String),
    /// JSON of another shape.
    #[error("body has an unexpected shape: {0}")]
    WrongShape(String),
    /// Something else than a review, or a review of another version.
    #[error("only {KIND} of {API_VERSION} is understood; list it alone in admissionReviewVersions")]
    WrongVersion,
    /// A review without something it needs.
    #[error("{0} is missing")]
    MissingField(&'static str),
    /// A pod that cannot be read.
    #[error("request.object is no pod: {0}")]
    NoPod(String),
}

impl From<serde_json::Error> for AdmissionError {
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            serde_json::error::Category::Data => AdmissionError::WrongShape(error.to_string()),
            _ => AdmissionError::NotJson(error.to_string()),
        }
    }
}

/// The question. Where nothing is said of an operation or a kind, it is another one than those we know.
#[derive(Debug)]
pub struct AdmissionRequest<'a> {
    /// Which question this is: the answer repeats it.
    pub uid: String,
    /// The namespace of the object, which itself may not say so yet.
    pub namespace: String,
    /// The pod that is about to be created, as it stands in the body. `None` if it is something else that happens.
    pub created_pod: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: Option<String>,
    namespace: Option<String>,
    operation: Option<String>,
    sub_resource: Option<String>,
    kind: Option<ObjectKind>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ObjectKind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
}

impl<'a> AdmissionRequest<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, AdmissionError> {
        let review: Review<'a> = serde_json::from_slice(body)?;
        if review.api_version != API_VERSION || review.kind != KIND {
            return Err(AdmissionError::WrongVersion);
        }
        let request = review.request.filter(|request| request.get() != "null");
        let request = request.ok_or(AdmissionError::MissingField("request"))?;
        let request: Request<'a> = serde_json::from_str(request.get())?;
        let uid = request.uid.filter(|uid| !uid.is_empty());
        let uid = uid.ok_or(AdmissionError::MissingField("request.uid"))?;
        let kind = request.kind.ok_or(AdmissionError::MissingField("request.kind"))?;
        let is_pod = kind.group.is_empty() && kind.version == "v1" && kind.kind == "Pod";
        let is_itself = request.sub_resource.is_none_or(|part| part.is_empty());
        let is_created = request.operation.as_deref() == Some("CREATE");
        let created_pod = if is_pod && is_itself && is_created {
            let object = request.object.filter(|object| object.get() != "null");
            Some(object.ok_or(AdmissionError::MissingField("request.object"))?)
        } else {
            None
        };
        Ok(Self { uid, namespace: request.namespace.unwrap_or_default(), created_pod })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Status<'a> {
    code: u16,
    reason: &'static str,
    message: &'a str,
}

/// The answer that lets an object in, with the operations of a JSON patch if it is to be changed.
pub fn admitted(uid: &str, patch: &[impl Serialize], warnings: &[String]) -> Vec<u8> {
    // A list of operations that were made from JSON can always be written.
    let patch = (!patch.is_empty()).then(|| serde_json::to_vec(patch).unwrap_or_default());
    let patch = patch.map(|patch| BASE64_STANDARD.encode(patch));
    let patch_type = patch.as_ref().map(|_| "JSONPatch");
    reply(Response { uid, allowed: true, patch_type, patch, status: None, warnings })
}

/// The answer that does not.
pub fn refused(uid: &str, message: &str) -> Vec<u8> {
    let status = Some(Status { code: UNPROCESSABLE, reason: "Invalid", message });
    reply(Response { uid, allowed: false, patch_type: None, patch: None, status, warnings: &[] })
}

fn reply(response: Response<'_>) -> Vec<u8> {
    serde_json::to_vec(&Reply { api_version: API_VERSION, kind: KIND, response }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{AdmissionRequest, admitted, refused};

    fn decode(request: &str) -> Result<Option<String>, String> {
        let body =
            format!(r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{request}}}"#);
        let decoded = AdmissionRequest::decode(body.as_bytes()).map_err(|error| error.to_string())?;
        Ok(decoded.created_pod.map(|pod| pod.get().to_owned()))
    }

    #[test]
    fn only_pods_that_are_created_are_looked_at() {
        let pod = r#""kind":{"group":"","version":"v1","kind":"Pod"}"#;
        for (request, expected) in [
            (format!(r#"{{"uid":"u",{pod},"operation":"CREATE","object":{{}}}}"#), Ok(Some("{}".to_owned()))),
            (format!(r#"{{"uid":"u",{pod},"operation":"UPDATE","object":{{}}}}"#), Ok(None)),
            (format!(r#"{{"uid":"u",{pod},"operation":"DELETE","object":null}}"#), Ok(None)),
            (
                format!(r#"{{"uid":"u",{pod},"subResource":"binding","operation":"CREATE","object":{{}}}}"#),
                Ok(None),
            ),
            (
                r#"{"uid":"u","kind":{"group":"apps","version":"v1","kind":"Pod"},"operation":"CREATE"}"#
                    .to_owned(),
                Ok(None),
            ),
            (
                format!(r#"{{"uid":"u",{pod},"operation":"CREATE","object":null}}"#),
                Err("request.object is missing".to_owned()),
            ),
            (format!(r#"{{"uid":"",{pod}}}"#), Err("request.uid is missing".to_owned())),
            (r#"{"uid":"u"}"#.to_owned(), Err("request.kind is missing".to_owned())),
            ("null".to_owned(), Err("request is missing".to_owned())),
        ] {
            assert_eq!(decode(&request), expected, "{request}");
        }
    }

    #[test]
    fn what_is_no_review_of_this_version_is_named() {
        let error =
            |body: &str| AdmissionRequest::decode(body.as_bytes()).map(|_| ()).unwrap_err().to_string();
        for body in [
            "{}",
            r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}"#,
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"Pod","request":{}}"#,
        ] {
            assert!(error(body).contains("admissionReviewVersions"), "{body}");
        }
        assert!(error("{").starts_with("body is not JSON"));
        assert!(error("[]").starts_with("body has an unexpected shape"));
    }

    #[test]
    fn answers_repeat_the_uid_and_say_what_is_to_be_done() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let none: [serde_json::Value; 0] = [];
        let head = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","#;
        assert_eq!(text(admitted("u", &none, &[])), format!(r#"{head}"allowed":true}}}}"#));
        // [{"op":"add"}]
        let patch = [serde_json::json!({"op": "add"})];
        assert_eq!(
            text(admitted("u", &patch, &["careful".to_owned()])),
            format!(
                r#"{head}"allowed":true,"patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQifV0=","warnings":["careful"]}}}}"#
            )
        );
        assert_eq!(
            text(refused("u", "no \"name\"")),
            format!(
                r#"{head}"allowed":false,"status":{{"code":422,"reason":"Invalid","message":"no \"name\""}}}}}}"#
            )
        );
    }
}
