//! A Berth that runs.

use super::{Case, DAY, case, metrics, running, shows};
use crate::build_info::VERSION;
use crate::doctor::facts::{Asked, Facts};
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};
use crate::doctor::running::{Metrics, Refusal};

pub(super) fn cases() -> Vec<Case> {
    let soon = format!(
        "berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n",
        20_000 * DAY + 3 * DAY
    );
    let gone =
        format!("berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n", 19_999 * DAY);
    let adds = |f: &mut Facts, more: &str| shows(f, metrics(more));
    vec![
        case("no Berth", Code::AdminUnreachable, Error, |f| f.running = Asked::Failed("refused".to_owned())),
        case("no page of metrics", Code::AdminUnreachable, Error, |f| {
            running(f).metrics = Metrics::Failed("GET /metrics is answered 404".to_owned());
        }),
        case("no token", Code::AdminRefused, Warning, |f| {
            let what = "GET /metrics at 127.0.0.1:8889".to_owned();
            running(f).metrics =
                Metrics::Refused(Refusal { what, status: 401, said: "no".to_owned(), had_token: false });
        }),
        case("not synced", Code::NotReady, Error, |f| {
            running(f).is_ready = false;
            running(f).readyz = "[+] Node\n[-] Pod: not synced\nnot ready\n".to_owned();
        }),
        case("forbidden", Code::KindNotFollowed, Error, |f| {
            adds(f, "berth_watch_problem{kind=\"Pod\",problem=\"forbidden\"} 1\n");
        }),
        case("a cut watch", Code::KindNotFollowed, Warning, |f| {
            adds(f, "berth_cache_staleness_seconds{kind=\"Node\"} 12\n");
        }),
        case("an old configuration", Code::ConfigurationNotCurrent, Error, |f| {
            shows(f, metrics("").replace("config_current 1", "config_current 0"));
        }),
        case("no bind calls", Code::NobodyBinds, Warning, |f| {
            f.scheduler_config = None;
            shows(f, metrics("").replace("verb=\"bind\"} 100", "verb=\"bind\"} 0"));
        }),
        case("a panic", Code::Panicked, Warning, |f| adds(f, "berth_panics_total{where=\"bind\"} 1\n")),
        case("another version", Code::AnotherVersion, Warning, |f| {
            shows(f, metrics("").replace(&format!("\"{VERSION}\""), "\"0.0.1\""));
        }),
        case("a certificate in force that ends soon", Code::CertificateExpiresSoon, Warning, |f| {
            adds(f, &soon);
        }),
        case("a certificate in force that has ended", Code::CertificateExpired, Error, |f| adds(f, &gone)),
    ]
}
