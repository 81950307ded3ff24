//! A Berth that runs.

use super::{Case, DAY, case, metrics, running};
use crate::build_info::VERSION;
use crate::doctor::facts::{Asked, Facts};
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};

pub(super) fn cases() -> Vec<Case> {
    let soon = format!(
        "berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n",
        20_000 * DAY + 3 * DAY
    );
    let gone =
        format!("berth_certificate_expiry_timestamp_seconds{{certificate=\"server\"}} {}\n", 19_999 * DAY);
    let shows = |f: &mut Facts, more: &str| running(f).metrics = metrics(more);
    vec![
        case("no Berth", Code::AdminUnreachable, Error, |f| f.running = Asked::Failed("refused".to_owned())),
        case("no token", Code::AdminRefused, Error, |f| {
            f.running = Asked::Failed("GET /metrics is answered 401".to_owned());
        }),
        case("not synced", Code::NotReady, Error, |f| {
            running(f).is_ready = false;
            running(f).readyz = "[+] Node\n[-] Pod: not synced\nnot ready\n".to_owned();
        }),
        case("forbidden", Code::KindNotFollowed, Error, |f| {
            shows(f, "berth_watch_problem{kind=\"Pod\",problem=\"forbidden\"} 1\n");
        }),
        case("a cut watch", Code::KindNotFollowed, Warning, |f| {
            shows(f, "berth_cache_staleness_seconds{kind=\"Node\"} 12\n");
        }),
        case("an old configuration", Code::ConfigurationNotCurrent, Error, |f| {
            running(f).metrics = metrics("").replace("config_current 1", "config_current 0");
        }),
        case("no bind calls", Code::NobodyBinds, Warning, |f| {
            f.scheduler_config = None;
            running(f).metrics = metrics("").replace("verb=\"bind\"} 100", "verb=\"bind\"} 0");
        }),
        case("a panic", Code::Panicked, Warning, |f| shows(f, "berth_panics_total{where=\"bind\"} 1\n")),
        case("another version", Code::AnotherVersion, Warning, |f| {
            running(f).metrics = metrics("").replace(&format!("\"{VERSION}\""), "\"0.0.1\"");
        }),
        case("a certificate in force that ends soon", Code::CertificateExpiresSoon, Warning, |f| {
            shows(f, &soon);
        }),
        case("a certificate in force that has ended", Code::CertificateExpired, Error, |f| shows(f, &gone)),
    ]
}
