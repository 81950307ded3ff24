//! Checks of the extender that points to Berth.

use std::time::Duration;

use super::finding::{Code, Finding};
use super::scheduler_config::{Extender, SchedulerConfig};
use super::schedulers::Network;
use super::url::Url;
use super::uses::Uses;
use crate::config::Config;

/// A Berth that hangs holds up all pods for so long, at every one of them.
const LONG: Duration = Duration::from_secs(30);

/// Which extenders there are: one for Berth, and no other that binds.
pub(super) fn which(config: &SchedulerConfig) -> Vec<Finding> {
    let ours = config.extenders_for_berth();
    let mut findings = Vec::new();
    if ours.is_empty() {
        let reason = match config.extenders.len() {
            0 => "there are no extenders, so kube-scheduler never asks Berth".to_owned(),
            count => format!("none of {count} extenders names Berth in its urlPrefix, or its port 8888"),
        };
        let remedy = "add the entry of deploy/kube-scheduler-config.yaml to extenders";
        findings.push(Finding::error(Code::NoExtender, reason, remedy));
    }
    if ours.len() > 1 {
        let at: Vec<_> = ours.iter().map(|(at, _)| format!("extenders[{at}]")).collect();
        let reason = format!(
            "{} all point to Berth: it is asked more than once about every pod, and decides on its own answers",
            at.join(", ")
        );
        findings.push(Finding::error(Code::DuplicateExtender, reason, "keep one of them"));
    }
    let binders: Vec<_> = (0..).zip(&config.extenders).filter(|(_, e)| !e.bind_verb.is_empty()).collect();
    if binders.len() > 1 {
        let at: Vec<_> = binders.iter().map(|(at, _): &(usize, _)| format!("extenders[{at}]")).collect();
        let reason =
            format!("{} have a bindVerb; kube-scheduler takes one only and does not start", at.join(", "));
        findings.push(Finding::error(
            Code::SeveralBinders,
            reason,
            "keep Berth's bindVerb and remove the others",
        ));
    }
    findings
}

/// Where calls go. `serves_tls` is known where Berth's own file is.
pub(super) fn address(
    extender: &Extender,
    config: &Config,
    serves_tls: Option<bool>,
    network: Network,
) -> Vec<Finding> {
    let url = match Url::parse(&extender.url_prefix) {
        Ok(url) => url,
        Err(reason) => {
            let reason = format!("urlPrefix {:?}: {reason}", extender.url_prefix);
            return vec![Finding::error(Code::UrlUnusable, reason, "write urlPrefix: http://127.0.0.1:8888")];
        }
    };
    let mut findings = Vec::new();
    if !url.path.is_empty() {
        let reason =
            format!("urlPrefix has the path {:?}, and Berth serves its verbs at the root only", url.path);
        findings.push(Finding::error(Code::UrlUnusable, reason, "leave the path out of urlPrefix"));
    }
    match (url.is_https, extender.enable_https) {
        (false, true) => findings.push(Finding::error(
            Code::HttpsContradiction,
            "enableHTTPS is set, and urlPrefix begins with http://: calls are not encrypted",
            "write urlPrefix: https://..., and serve it with server.tls",
        )),
        (true, false) if !extender.has_authority() && !extender.tls_config.insecure => {
            findings.push(Finding::warning(
                Code::HttpsContradiction,
                "urlPrefix begins with https://, and neither enableHTTPS nor tlsConfig.caFile is set: the certificate is \
                 checked against the authorities of the machine",
                "set enableHTTPS: true and tlsConfig.caFile to the authority of Berth's certificate",
            ));
        }
        _ => {}
    }
    findings.extend(scheme(&url, extender, serves_tls));
    findings.extend(tls(extender));
    let starts = !(extender.tls_config.insecure && extender.has_authority());
    if url.is_https && starts && extender.accepts_any_certificate() {
        let (reason, code) =
            ("whoever can take the address decides where pods go", Code::CertificateNotVerified);
        let remedy = "set tlsConfig.caFile to the authority of Berth's certificate";
        findings.push(if extender.tls_config.insecure {
            Finding::warning(code, format!("tlsConfig.insecure accepts any certificate: {reason}"), remedy)
        } else {
            let reason =
                format!("enableHTTPS without tlsConfig.caFile silently accepts any certificate: {reason}");
            Finding::error(code, reason, remedy)
        });
    }
    if !url.is_https && !url.is_loopback() && !config.server.insecure && serves_tls != Some(true) {
        findings.push(Finding::error(
            Code::PlainHttp,
            format!("{} is another machine, and Berth refuses plain HTTP there", url.host),
            "use https:// with server.tls, or loopback; server.insecure: true if the network is trusted",
        ));
    }
    findings.extend(name(&url, network));
    findings
}

/// Berth speaks TLS exactly where `server.tls` is set, on loopback too.
fn scheme(url: &Url, extender: &Extender, serves_tls: Option<bool>) -> Option<Finding> {
    let (reason, remedy) = match (url.is_https, serves_tls?) {
        (true, false) => (
            "urlPrefix begins with https://, and Berth's configuration has no server.tls: Berth speaks plain HTTP there, so every \
             call fails",
            "set server.tls.certFile and keyFile; or write http:// and remove enableHTTPS and tlsConfig, on loopback",
        ),
        // With enableHTTPS the URL contradicts what is beside it, which is said already.
        (false, true) if !extender.enable_https => (
            "urlPrefix begins with http://, and Berth's configuration has server.tls: Berth speaks TLS only there, so every call \
             fails",
            "write urlPrefix: https://..., enableHTTPS: true and tlsConfig.caFile; or remove server.tls, on loopback",
        ),
        _ => return None,
    };
    Some(Finding::error(Code::HttpsContradiction, reason, remedy))
}

/// What contradicts itself in `tlsConfig`, whatever the URL is.
fn tls(extender: &Extender) -> Vec<Finding> {
    let mut findings = Vec::new();
    if extender.tls_config.insecure && extender.has_authority() {
        findings.push(Finding::error(
            Code::InsecureWithAuthority,
            "tlsConfig has both insecure: true and an authority (caFile or caData), which kube-scheduler does not allow: it \
             does not start",
            "remove insecure and set caFile to the authority of Berth's certificate",
        ));
    }
    let halves = match (extender.names_client_certificate(), extender.names_client_key()) {
        (true, false) => Some(("certFile", "keyFile")),
        (false, true) => Some(("keyFile", "certFile")),
        _ => None,
    };
    if let Some((there, missing)) = halves {
        findings.push(Finding::warning(
            Code::ClientCertificateIncomplete,
            format!("tlsConfig has {there} without {missing}: kube-scheduler says nothing, and shows no certificate"),
            format!("set {missing}, too, or remove {there}"),
        ));
    }
    findings
}

/// On the host's network, names of Services mean nothing. Where kube-scheduler runs may not be known.
fn name(url: &Url, network: Network) -> Option<Finding> {
    if url.ip().is_some() || url.host == "localhost" || network == Network::Pods {
        return None;
    }
    let mut labels = url.host.split('.').skip(1).peekable();
    let is_of_cluster = labels.peek().is_none() || labels.any(|label| label == "svc");
    let reason = format!(
        "{} is a name, and a kube-scheduler on the host's network (a static pod) does not ask cluster DNS",
        url.host
    );
    let remedy = "use loopback or the ClusterIP, and name the certificate's host in tlsConfig.serverName";
    Some(if network == Network::Host && is_of_cluster {
        Finding::error(Code::ClusterDnsName, reason, remedy)
    } else {
        Finding::warning(Code::ClusterDnsName, reason, remedy)
    })
}

/// What is asked.
pub(super) fn verbs(extender: &Extender, uses: Uses) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, verb, name) in [
        ("filterVerb", &extender.filter_verb, "filter"),
        ("prioritizeVerb", &extender.prioritize_verb, "prioritize"),
        ("preemptVerb", &extender.preempt_verb, "preempt"),
        ("bindVerb", &extender.bind_verb, "bind"),
    ] {
        if !verb.is_empty() && verb.trim_matches('/') != name {
            let reason = format!("{field} is {verb:?}, which Berth answers with 404");
            findings.push(Finding::error(Code::UnknownVerb, reason, format!("write {field}: {name}")));
        }
    }
    if extender.bind_verb.is_empty() {
        findings.push(Finding::error(
            Code::BindVerbMissing,
            "without bindVerb Berth learns where a pod went only when the watch shows it, and decides about the next pods \
             on a cluster that no longer exists",
            "write bindVerb: bind",
        ));
    }
    let graded = |promises: Option<&str>, code, reason: &str, remedy: &str| match promises {
        Some(promises) => Finding::error(code, format!("{reason}; {promises} depend on it"), remedy),
        None => Finding::warning(code, reason, remedy),
    };
    if extender.filter_verb.is_empty() {
        let reason =
            "without filterVerb Berth cannot keep pods from any node, and is not ready for their bind calls";
        let remedy = "write filterVerb: filter";
        findings.push(graded(uses.promises(), Code::FilterVerbMissing, reason, remedy));
    }
    if extender.preempt_verb.is_empty() {
        let reason =
            "without preemptVerb kube-scheduler evicts pods where Berth's filter still says no afterwards";
        let remedy = "write preemptVerb: preempt";
        findings.push(graded(uses.promises(), Code::PreemptVerbMissing, reason, remedy));
    }
    if extender.prioritize_verb.is_empty() && uses.spreading {
        findings.push(Finding::warning(
            Code::PrioritizeVerbMissing,
            "without prioritizeVerb nothing comes of preferred spreading and preferred topologies",
            "write prioritizeVerb: prioritize and weight: 1",
        ));
    }
    if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
        findings.push(Finding::error(
            Code::WeightMissing,
            "prioritizeVerb without a positive weight: kube-scheduler does not start",
            "write weight: 1",
        ));
    }
    findings
}

/// What is sent, and about whom.
pub(super) fn scope(extender: &Extender) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !extender.node_cache_capable {
        findings.push(Finding::warning(
            Code::NodeCacheIncapable,
            "without nodeCacheCapable every call carries every Node object, which is slow, and kube-scheduler forgets the \
             pods on the nodes that come back when it scores them",
            "write nodeCacheCapable: true; Berth watches nodes itself",
        ));
    }
    if !extender.managed_resources.is_empty() {
        let names: Vec<_> = extender.managed_resources.iter().map(|resource| &*resource.name).collect();
        findings.push(Finding::warning(
            Code::ManagedResources,
            format!(
                "with managedResources Berth is asked only about pods that request {}: the others are not spread, and take \
                 room that is kept for groups",
                names.join(", ")
            ),
            "remove managedResources",
        ));
    }
    findings
}

/// What happens when Berth fails or is slow.
pub(super) fn failure(extender: &Extender, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(promises) = Uses::of(config).promises().filter(|_| extender.ignorable) {
        findings.push(Finding::error(
            Code::Ignorable,
            format!(
                "with ignorable: true pods are scheduled as if Berth did not exist whenever it is down, slow or not ready; \
                 {promises} are broken then"
            ),
            "write ignorable: false; docs/runbook.md tells what to do when Berth is down",
        ));
    }
    let timeouts = &config.server.timeouts;
    let decision = timeouts.decision.0 + timeouts.placement.0;
    match extender.http_timeout() {
        Err(text) => findings.push(Finding::error(
            Code::HttpTimeoutShort,
            format!("httpTimeout {text:?} is no duration; kube-scheduler does not start"),
            "write httpTimeout: 10s",
        )),
        Ok(patience) if patience <= decision => findings.push(Finding::error(
            Code::HttpTimeoutShort,
            format!(
                "httpTimeout is {patience:?}, and Berth may take {decision:?} (server.timeouts.decision and .placement): \
                 answers come when nobody listens any more"
            ),
            "write httpTimeout: 10s",
        )),
        Ok(patience) if patience <= timeouts.bind.0 => findings.push(Finding::warning(
            Code::HttpTimeoutShort,
            format!(
                "httpTimeout is {patience:?}, and Berth waits {} for the API server in a bind call (server.timeouts.bind): \
                 kube-scheduler may try anew while the first binding is under way",
                timeouts.bind
            ),
            "write httpTimeout: 10s",
        )),
        Ok(patience) if patience > LONG => findings.push(Finding::warning(
            Code::HttpTimeoutLong,
            format!("httpTimeout is {patience:?}: kube-scheduler decides about one pod at a time, so a Berth that hangs \
                     stops all scheduling for so long"),
            "write httpTimeout: 10s",
        )),
        Ok(_) => {}
    }
    findings
}
