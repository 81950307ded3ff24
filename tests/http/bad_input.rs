//! Bad input gets the right status, one line that says why, and is counted.

use crate::support::raw_http::{Answer, post_head};
use crate::support::running::Running;
use crate::support::waiting::until_true;

const POD: &str = r#""Pod":{"metadata":{"name":"p","namespace":"default","uid":"u"}}"#;

fn assert_refusal(name: &str, answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{name}: {}", answer.body);
    let value: serde_json::Value = serde_json::from_str(&answer.body).expect(name);
    let reason = value["error"].as_str().unwrap_or_default();
    assert!(!reason.is_empty() && !answer.body.contains('\n'), "{name}: {}", answer.body);
}

#[test]
fn malformed_bodies_are_refused_for_what_is_wrong_with_them() {
    let berth = Running::start("");
    let scheduling: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "not_json"),
        ("not JSON", b"hello".to_vec(), "not_json"),
        ("half of it", format!("{{{POD},\"NodeNa").into(), "not_json"),
        ("more behind it", format!("{{{POD},\"NodeNames\":[]}} {{}}").into(), "not_json"),
        ("a list", b"[]".to_vec(), "wrong_shape"),
        ("a pod of another type", br#"{"Pod":"p","NodeNames":[]}"#.to_vec(), "wrong_shape"),
        ("names of another type", format!("{{{POD},\"NodeNames\":\"a\"}}").into(), "wrong_shape"),
        ("nodes of another type", format!("{{{POD},\"Nodes\":[]}}").into(), "wrong_shape"),
        ("no pod", br#"{"NodeNames":[]}"#.to_vec(), "missing_pod"),
        ("null for a pod", br#"{"Pod":null,"NodeNames":[]}"#.to_vec(), "missing_pod"),
        ("both forms", format!("{{{POD},\"NodeNames\":[],\"Nodes\":{{}}}}").into(), "node_forms"),
        ("neither form", format!("{{{POD},\"NodeNames\":null}}").into(), "node_forms"),
        ("invalid UTF-8", b"{\"Pod\":\"\xff\xfe\"}".to_vec(), "not_utf8"),
    ];
    let preempt: Vec<(&str, Vec<u8>, &str)> = vec![
        ("neither victim form", format!("{{{POD}}}").into(), "victim_forms"),
        (
            "both victim forms",
            format!("{{{POD},\"NodeNameToVictims\":{{}},\"NodeNameToMetaVictims\":{{}}}}").into(),
            "victim_forms",
        ),
        ("no pod", br#"{"NodeNameToMetaVictims":{}}"#.to_vec(), "missing_pod"),
        ("not JSON", b"}".to_vec(), "not_json"),
        ("invalid UTF-8", b"\xc3\x28".to_vec(), "not_utf8"),
    ];
    let bind: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing in it", b"{}".to_vec(), "missing_field"),
        (
            "no node",
            br#"{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":""}"#.to_vec(),
            "missing_field",
        ),
        ("a node of another type", br#"{"PodName":"p","PodNamespace":"d","Node":1}"#.to_vec(), "wrong_shape"),
        ("not JSON", b"{".to_vec(), "not_json"),
        ("invalid UTF-8", b"\xff".to_vec(), "not_utf8"),
    ];
    let cases =
        [("filter", &scheduling), ("prioritize", &scheduling), ("preempt", &preempt), ("bind", &bind)];
    for (verb, cases) in cases {
        for (name, body, reason) in cases {
            let before = berth.refused(verb, reason);
            assert_refusal(name, &berth.post(&format!("/{verb}"), body), 400);
            assert_eq!(berth.refused(verb, reason), before + 1, "{verb}, {name}: counted as {reason}");
        }
    }
    assert_eq!(berth.count(r#"berth_cache_objects{kind="Pod"}"#), 2, "nothing was bound on the way");
}

#[test]
fn unknown_verbs_and_wrong_methods_are_told_apart() {
    let berth = Running::start("");
    for path in ["/", "/unknown", "/filter/", "/Filter"] {
        assert_refusal(path, &berth.post(path, "{}"), 404);
    }
    assert_eq!(berth.refused("unknown", "unknown_verb"), 4);
    for method in ["GET", "PUT", "DELETE"] {
        let request = format!("{method} /filter HTTP/1.1\r\nHost: berth\r\nContent-Length: 2\r\n\r\n{{}}");
        let answer = berth.connect().ask(request).expect("an answer");
        assert_refusal(method, &answer, 405);
        assert_eq!(answer.header("allow"), Some("POST"), "{method}");
    }
    assert_eq!(berth.refused("filter", "wrong_method"), 3);
}

#[test]
fn too_large_a_body_is_refused_before_it_is_read() {
    let berth = Running::start("server: {limits: {maxBodyBytes: 1000}}\n");
    let answer = berth.connect().ask(post_head("/filter", 1001)).expect("an answer to the head alone");
    assert_refusal("announced", &answer, 413);

    let mut connection = berth.connect();
    let head = "POST /filter HTTP/1.1\r\nHost: berth\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection.send(head).expect("sent");
    // Three chunks of 400 bytes, and no end.
    for _ in 0..3 {
        connection.send(format!("190\r\n{}\r\n", " ".repeat(400))).expect("sent");
    }
    assert_refusal("streamed", &connection.receive().expect("an answer"), 413);
    assert_eq!(berth.refused("filter", "too_large"), 2);

    let exactly = format!("{{{POD},\"NodeNames\":[]}}");
    let padded = format!("{exactly}{}", " ".repeat(1000 - exactly.len()));
    assert_eq!(berth.post("/filter", padded).status, 200, "the limit itself is allowed");
}

#[test]
fn a_body_that_is_cut_off_is_counted() {
    let berth = Running::start("");
    let mut connection = berth.connect();
    connection.send(post_head("/filter", 100)).expect("sent");
    connection.send("{\"Pod\"").expect("sent");
    drop(connection);
    until_true("the cut body of a caller that is gone is counted", || {
        berth.refused("filter", "cut_off") == 1
    });

    let mut connection = berth.connect();
    connection.send(post_head("/bind", 100)).expect("sent");
    connection.finish_sending().expect("half closed");
    until_true("the cut body of a caller that still listens is counted", || {
        berth.refused("bind", "cut_off") == 1
    });
    assert_eq!(berth.post("/filter", format!("{{{POD},\"NodeNames\":[]}}")).status, 200, "and all goes on");
}

#[test]
fn a_body_that_is_too_slow_is_given_up() {
    let berth = Running::start("server: {timeouts: {body: 100ms}}\n");
    let mut connection = berth.connect();
    connection.send(post_head("/prioritize", 100)).expect("sent");
    connection.send("{").expect("sent");
    assert_refusal("slow", &connection.receive().expect("an answer"), 408);
    assert_eq!(berth.refused("prioritize", "too_slow"), 1);
}

#[test]
fn what_is_no_http_is_refused_too() {
    let berth = Running::start("");
    let mut connection = berth.connect();
    connection.send("\x16\x03\x01 this is no HTTP\r\n\r\n").expect("sent");
    // Whatever it says, it says it at once and hangs up.
    let _ = connection.receive();
    assert!(connection.ends(), "the connection is closed");
    assert_eq!(berth.post("/filter", format!("{{{POD},\"NodeNames\":[]}}")).status, 200, "and all goes on");
}
