//! Who is let in where client authorities are set, and in which versions of TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

use super::authority::{Authority, Identity};
use super::client::{Client, Trust};
use crate::support::running::Running;
use crate::{BOTH, call, start};

static ONLY_1_2: [&SupportedProtocolVersion; 1] = [&TLS12];
static ONLY_1_3: [&SupportedProtocolVersion; 1] = [&TLS13];

fn ask(berth: &Running, trust: &Trust, protocols: &[&str]) -> anyhow::Result<String> {
    berth.runtime.block_on(async {
        let mut client = Client::connect(berth.verbs, trust, protocols).await?;
        Ok(client.post("/prioritize", &call()).await?.body)
    })
}

#[test]
fn nobody_is_let_in_without_a_good_certificate_of_the_authority() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let berth = start(&servers, Some(&clients));
    let trust = || Trust::of(&servers);
    let expired = |params: &mut rcgen::CertificateParams| params.not_after = date_time_ymd(2020, 1, 1);
    let to_come = |params: &mut rcgen::CertificateParams| params.not_before = date_time_ymd(2999, 1, 1);
    let for_servers = |params: &mut rcgen::CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    let refused = [
        ("no certificate", None),
        ("another authority's, of the same name", Some(Authority::new().issue("kube-scheduler"))),
        ("the server's authority's", Some(servers.issue("kube-scheduler"))),
        ("expired", Some(clients.issue_with("kube-scheduler", expired))),
        ("not yet valid", Some(clients.issue_with("kube-scheduler", to_come))),
        ("for servers only", Some(clients.issue_with("kube-scheduler", for_servers))),
        ("self-signed", Some(Identity::self_signed("kube-scheduler"))),
    ];
    let known = clients.issue("kube-scheduler");
    for versions in [&ONLY_1_2, &ONLY_1_3] {
        for protocols in [&["h2"][..], &["http/1.1"]] {
            for (who, identity) in &refused {
                let mut trust = trust().speaking(versions);
                if let Some(identity) = identity {
                    trust = trust.showing(identity);
                }
                let answer = ask(&berth, &trust, protocols);
                assert!(answer.is_err(), "{who} {versions:?} {protocols:?}: {answer:?}");
            }
            let trust = trust().speaking(versions).showing(&known);
            assert_eq!(ask(&berth, &trust, protocols).expect("let in"), BOTH, "{versions:?} {protocols:?}");
        }
    }
    assert_eq!(berth.count(r#"berth_request_duration_seconds_count{code="200",verb="prioritize"}"#), 4);
}

/// The first message of a client that speaks nothing newer than this version, by hand: no library here would.
fn hello(minor: u8) -> Vec<u8> {
    let mut body = vec![3, minor];
    body.extend([7; 32]);
    // No session; the suites that every old client knew; no compression.
    body.extend([0, 0, 4, 0xC0, 0x13, 0x00, 0x2F, 1, 0]);
    // One extension: RSA with SHA-256 will do as a signature.
    body.extend([0, 8, 0, 13, 0, 4, 0, 2, 4, 1]);
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("short");
    let mut message = vec![1, 0, 0, length(&body)];
    message.extend(body);
    let mut record = vec![22, 3, 1, 0, length(&message)];
    record.extend(message);
    record
}

#[test]
fn nothing_older_than_tls_1_2_is_spoken() {
    let berth = start(&Authority::new(), None);
    for (minor, name) in [(1, "1.0"), (2, "1.1")] {
        let mut stream = TcpStream::connect(berth.verbs).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        stream.write_all(&hello(minor)).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer and the end");
        // An alert (21) that is fatal (2): protocol_version (70).
        let [21, _, _, 0, 2, 2, alert] = answer[..] else { panic!("TLS {name}: {answer:?}") };
        assert_eq!(alert, 70, "TLS {name}");
    }
}
