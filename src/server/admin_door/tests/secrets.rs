//! Tokens stay where they are.

use super::{ACCESS, FakeApi, TOKENS, get, reviewed};
use crate::fixtures::Logged;

const TOKEN: &str = "a-token-that-nobody-may-read";

#[tokio::test]
async fn no_answer_of_the_api_server_brings_a_token_into_the_log() {
    let user = r#"{"spec":{"token":"a-token-that-nobody-may-read"},"status":{"user":7}}"#;
    let quoted = r#"{"spec":{},"status":"a-token-that-nobody-may-read"}"#;
    let cut = r#"{"spec":{"token":"a-token-that-nobody-may-read"#;
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,
        "message":"token a-token-that-nobody-may-read is malformed"}"#;
    for (place, code, body) in [
        (TOKENS, 201, user),
        (TOKENS, 201, quoted),
        (TOKENS, 201, cut),
        (TOKENS, 400, status),
        (TOKENS, 403, status),
        (TOKENS, 500, cut),
        (TOKENS, 502, "a proxy says: a-token-that-nobody-may-read"),
    ] {
        let (logged, guard) = Logged::here();
        let api = FakeApi::answering(place, Some(code), body);
        let told = get(&reviewed(&api), "/metrics", TOKEN).await;
        drop(guard);
        let log = logged.text();
        assert_eq!(told.status, 503, "{code} {body}");
        assert!(log.contains("access cannot be reviewed"), "{code} {body}: {log}");
        assert!(!log.contains(TOKEN) && !told.body.contains(TOKEN), "{code} {body}: {log}");
    }
}

#[tokio::test]
async fn the_log_says_what_the_api_server_says_of_a_review() {
    let forbidden =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not you","code":403}"#;
    for (code, body, says) in [
        (403, forbidden, "system:auth-delegator: not you"),
        (500, forbidden, "not you (500)"),
        (201, "{\n]", "Syntax error in line 2, column 1"),
        (201, "[]", "Data error in line 1"),
    ] {
        for (place, what) in [(TOKENS, "tokenreviews"), (ACCESS, "subjectaccessreviews")] {
            let (logged, guard) = Logged::here();
            get(&reviewed(&FakeApi::answering(place, Some(code), body)), "/metrics", "scraper").await;
            drop(guard);
            let log = logged.text();
            assert!(log.contains(says) && log.contains(what), "{code} {body}: {log}");
        }
    }
}
