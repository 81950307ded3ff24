//! What is so, and what is said, once everything has been started.

use super::{App, Options, SocketAddr, Source};
use crate::fixtures::Logged;

const FREE: &str = "127.0.0.1:0";

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_has_its_series_before_anything_happens() {
    let free: SocketAddr = FREE.parse().expect("an address");
    let source = Source::SnapshotText(String::new());
    let options = Options { config: None, source, listen: free, admin_listen: free, admission_listen: None };
    let app = App::start(options, None).await.expect("Berth starts");
    let missing = app.registry.without_series();
    app.stop().await;
    // Without a certificate there is nothing that could expire.
    assert_eq!(missing, ["certificate_expiry_timestamp_seconds"]);
}

#[tokio::test]
async fn that_tokens_travel_in_clear_is_said_once_where_there_are_any() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    };
    // Nobody listens there, which Berth finds out after it has started.
    let kubeconfig = write(
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: it\n\
         clusters: [{name: it, cluster: {server: 'http://127.0.0.1:9'}}]\n\
         users: [{name: it, user: {}}]\n\
         contexts: [{name: it, context: {cluster: it, user: it}}]\n",
    );
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = write("tls.crt", &identity.cert.pem());
    let key = write("tls.key", &identity.signing_key.serialize_pem());
    let head = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";
    let plain = write("plain.yaml", &format!("{head}server: {{insecure: true}}\n"));
    let (certificate, key) = (certificate.display(), key.display());
    let tls = format!("{head}server: {{tls: {{certFile: {certificate}, keyFile: {key}}}}}\n");
    let tls = write("tls.yaml", &tls);

    let api = Source::ApiServer(Some(kubeconfig));
    let file = Source::SnapshotText(String::new());
    for (config, admin, source, times) in [
        (&plain, "0.0.0.0:0", &api, 1),
        (&plain, FREE, &api, 0),
        (&tls, "0.0.0.0:0", &api, 0),
        (&plain, "0.0.0.0:0", &file, 0),
    ] {
        let [listen, admin_listen] = [FREE, admin].map(|address| address.parse().expect("an address"));
        let options = Options {
            config: Some(config.clone()),
            source: source.clone(),
            listen,
            admin_listen,
            admission_listen: None,
        };
        let (logged, guard) = Logged::here();
        let app = App::start(options, None).await.expect("Berth starts");
        app.stop().await;
        drop(guard);
        let said = logged.text().matches("travel in clear").count();
        assert_eq!(said, times, "{config:?} {admin} {source:?}");
    }
}
