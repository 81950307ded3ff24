//! All certificates are replaced one after another while calls go on, and none of them fails.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use berth::app::Source;

use super::authority::Authority;
use super::client::{Client, Trust};
use super::volume::Volume;
use crate::support::running::Running;
use crate::support::small_cluster::{CONFIG_HEAD, SNAPSHOT};
use crate::support::waiting::until_true;
use crate::{BOTH, call};

/// What all callers share: who they are at the moment, and how they fare.
struct Callers {
    trust: RwLock<Arc<Trust>>,
    ended: AtomicBool,
    calls: Vec<AtomicUsize>,
    connections: AtomicUsize,
    failures: RwLock<Vec<String>>,
}

/// One caller: over a connection that lasts for as long as the server likes, or over a new one for each call.
async fn calls(address: std::net::SocketAddr, callers: Arc<Callers>, number: usize) {
    let protocol = if number.is_multiple_of(2) { "h2" } else { "http/1.1" };
    let lasts = number % 4 < 2;
    let mut connection: Option<Client> = None;
    while !callers.ended.load(Ordering::Relaxed) {
        let answer = async {
            loop {
                if !lasts || connection.is_none() {
                    let trust = callers.trust.read().expect("no panic").clone();
                    callers.connections.fetch_add(1, Ordering::Relaxed);
                    connection = Some(Client::connect(address, &trust, &[protocol]).await?);
                }
                // What kube-scheduler's client does too: a connection that was said good-bye to is not used again.
                let current = connection.as_mut().expect("just made");
                match current.try_post("/prioritize", &call()).await? {
                    Some(answer) => return anyhow::Ok(answer),
                    None => connection = None,
                }
            }
        };
        match answer.await {
            Ok(answer) if answer.body == BOTH => {}
            Ok(answer) => callers.failures.write().expect("no panic").push(answer.body),
            Err(error) => callers.failures.write().expect("no panic").push(format!("{protocol}: {error:#}")),
        }
        callers.calls[number].fetch_add(1, Ordering::Relaxed);
        // Others want the processor too; and a good-bye that has arrived is noticed.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

#[test]
fn every_file_is_rotated_under_load_without_a_failed_call() {
    let [old_server, new_server, old_clients, new_clients] = std::array::from_fn(|_| Authority::new());
    let directory = tempfile::tempdir().expect("a folder");
    let (first, second) = (old_server.issue("berth"), new_server.issue("berth"));
    let (old_ca, new_ca) = (old_clients.pem(), new_clients.pem());
    let both_ca = format!("{old_ca}{new_ca}");
    let serving = Volume::new(
        &directory.path().join("serving"),
        &[("tls.crt", &first.certificate), ("tls.key", &first.key)],
    );
    let clients = Volume::new(&directory.path().join("clients"), &[("ca.crt", &old_ca)]);
    let config = format!(
        "{CONFIG_HEAD}server:\n  tls:\n    certFile: {}\n    keyFile: {}\n    clientCAFile: {}\n",
        serving.path("tls.crt"),
        serving.path("tls.key"),
        clients.path("ca.crt")
    );
    let file = directory.path().join("berth.yaml");
    std::fs::write(&file, config).expect("written");
    let berth = Running::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()));

    let trusted = format!("{}{}", old_server.pem(), new_server.pem());
    let showing =
        |authority: &Authority| Arc::new(Trust::of_pem(&trusted).showing(&authority.issue("kube-scheduler")));
    let callers = Arc::new(Callers {
        trust: RwLock::new(showing(&old_clients)),
        ended: AtomicBool::new(false),
        calls: (0..8).map(|_| AtomicUsize::new(0)).collect(),
        connections: AtomicUsize::new(0),
        failures: RwLock::default(),
    });
    let tasks: Vec<_> =
        (0..8).map(|number| berth.runtime.spawn(calls(berth.verbs, callers.clone(), number))).collect();
    let renewed = || berth.count(r#"berth_certificate_renewals_total{result="success"}"#);
    let everybody_calls = || {
        let before: Vec<_> = callers.calls.iter().map(|calls| calls.load(Ordering::Relaxed)).collect();
        until_true("everybody makes calls", || {
            let now = callers.calls.iter().map(|calls| calls.load(Ordering::Relaxed));
            now.zip(&before).all(|(now, before)| now >= before + 10)
        });
    };

    everybody_calls();
    serving.swap(&[("tls.crt", &second.certificate), ("tls.key", &second.key)]);
    until_true("the server's certificate is renewed", || renewed() == 1);
    everybody_calls();
    clients.swap(&[("ca.crt", &both_ca)]);
    until_true("both client authorities are known", || renewed() == 2);
    everybody_calls();
    *callers.trust.write().expect("no panic") = showing(&new_clients);
    everybody_calls();
    let before_last = callers.connections.load(Ordering::Relaxed);
    clients.swap(&[("ca.crt", &new_ca)]);
    until_true("the old client authority is gone", || renewed() == 3);
    everybody_calls();

    callers.ended.store(true, Ordering::Relaxed);
    for task in tasks {
        berth.runtime.block_on(task).expect("no panic");
    }
    let total: usize = callers.calls.iter().map(|calls| calls.load(Ordering::Relaxed)).sum();
    let connections = callers.connections.load(Ordering::Relaxed);
    let failures = callers.failures.read().expect("no panic").clone();
    assert!(failures.is_empty(), "{} of {total} calls failed: {failures:?}", failures.len());
    assert!(total >= 400 && connections > before_last, "{total} calls, {connections} connections");
    assert_eq!(berth.count(r#"berth_certificate_renewals_total{result="failure"}"#), 0);
    let old = Trust::of_pem(&trusted).showing(&old_clients.issue("kube-scheduler"));
    let refused = berth.runtime.block_on(async {
        Client::connect(berth.verbs, &old, &["h2"]).await?.post("/prioritize", &call()).await
    });
    assert!(refused.is_err(), "the old authority lets nobody in any more");
}
