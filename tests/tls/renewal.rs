//! Certificates and authorities that change while Berth runs.

use rcgen::date_time_ymd;

use super::authority::Authority;
use super::client::{Client, Trust};
use crate::support::running::Running;
use crate::support::waiting::until_true;
use crate::{call, start};

fn renewals(berth: &Running, result: &str) -> u64 {
    berth.count(&format!("berth_certificate_renewals_total{{result=\"{result}\"}}"))
}

fn expiry(berth: &Running, certificate: &str) -> u64 {
    berth.count(&format!("berth_certificate_expiry_timestamp_seconds{{certificate=\"{certificate}\"}}"))
}

fn end_of(year: i32) -> u64 {
    u64::try_from(date_time_ymd(year, 1, 1).unix_timestamp()).expect("after 1970")
}

fn asks(berth: &Running, client: &mut Client) -> bool {
    let answer = berth.runtime.block_on(client.post("/prioritize", &call()));
    answer.is_ok_and(|answer| answer.status == 200)
}

fn connect(berth: &Running, trust: &Trust, protocol: &str) -> Option<Client> {
    let mut client = berth.runtime.block_on(Client::connect(berth.verbs, trust, &[protocol])).ok()?;
    // With TLS 1.3 only the first answer tells whether the certificate was good.
    asks(berth, &mut client).then_some(client)
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let berth = start(&old, None);
    let (old_trust, new_trust) = (Trust::of(&old), Trust::of(&new));
    let mut lasting = connect(&berth, &old_trust, "h2").expect("a connection from before");
    assert!(connect(&berth, &new_trust, "h2").is_none());
    assert_eq!((renewals(&berth, "success"), renewals(&berth, "failure")), (0, 0));

    // Key and certificate are two files; in between they do not match, and the old pair stays in force.
    let until_2100 = |params: &mut rcgen::CertificateParams| params.not_after = date_time_ymd(2100, 1, 1);
    new.issue_with("second", until_2100).write(berth.directory.path());
    until_true("the new certificate is in force", || connect(&berth, &new_trust, "h2").is_some());
    assert!(connect(&berth, &old_trust, "h2").is_none(), "and the old one is not");
    assert!(asks(&berth, &mut lasting), "connections from before go on");
    until_true("it is counted", || renewals(&berth, "success") == 1);
    assert_eq!((expiry(&berth, "server"), renewals(&berth, "failure")), (end_of(2100), 0));
    let page = berth.admin("/metrics").body;
    assert!(!page.contains(r#"certificate="client_ca""#), "there is no such file");
}

#[test]
fn a_bad_certificate_is_counted_once_and_the_old_one_stays() {
    let authority = Authority::new();
    let berth = start(&authority, None);
    std::fs::write(berth.directory.path().join("tls.crt"), "garbage").expect("written");
    until_true("it is counted", || renewals(&berth, "failure") == 1);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(renewals(&berth, "failure"), 1, "and not at every look");
    assert!(connect(&berth, &Trust::of(&authority), "h2").is_some());
    authority.issue("good again").write(berth.directory.path());
    until_true("it is renewed", || renewals(&berth, "success") == 1);
}

#[test]
fn clients_of_an_authority_that_is_gone_have_to_come_anew() {
    let (servers, old, new) = (Authority::new(), Authority::new(), Authority::new());
    let berth = start(&servers, Some(&old));
    let old_trust = Trust::of(&servers).showing(&old.issue("kube-scheduler"));
    let new_trust = Trust::of(&servers).showing(&new.issue("kube-scheduler"));
    for protocol in ["h2", "http/1.1"] {
        assert!(connect(&berth, &new_trust, protocol).is_none(), "{protocol}");
    }
    let mut lasting =
        ["h2", "http/1.1"].map(|protocol| connect(&berth, &old_trust, protocol).expect("a connection"));
    std::fs::write(berth.directory.path().join("clients.crt"), new.pem()).expect("written");
    until_true("the new authority is in force", || connect(&berth, &new_trust, "h2").is_some());
    for protocol in ["h2", "http/1.1"] {
        assert!(connect(&berth, &old_trust, protocol).is_none(), "{protocol}");
    }
    until_true("HTTP/2 clients are told to come anew", || lasting[0].is_closed());
    assert!(asks(&berth, &mut lasting[1]), "an HTTP/1.1 connection answers what may be under way already");
    until_true("and is closed then", || lasting[1].is_closed());
    until_true("it is counted", || renewals(&berth, "success") == 1);
}
