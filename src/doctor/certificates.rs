//! Certificates: for how long they are good, for whom, and by whose word.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::finding::{Code, Finding};

/// A certificate that expires within this time should have been renewed.
pub(super) const SOON: Duration = Duration::from_hours(14 * 24);

/// What matters of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificate {
    /// Which one it is, for people: what it is for, and the file.
    pub(super) what: String,
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    /// The names and addresses that it is for.
    pub(super) names: Vec<String>,
}

impl Certificate {
    /// Reads a certificate.
    pub(super) fn read(what: &str, der: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let validity = certificate.validity();
        let alternatives = certificate.subject_alternative_name().ok().flatten();
        let alternatives = alternatives.iter().flat_map(|extension| &extension.value.general_names);
        let name = |name: &GeneralName<'_>| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        };
        Ok(Self {
            what: what.to_owned(),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            names: alternatives.filter_map(name).collect(),
        })
    }

    /// Whether it is good now.
    pub(super) fn judge_time(&self, now: SystemTime) -> Option<Finding> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let what = &self.what;
        let renew = "renew it; Berth and kube-scheduler read renewed certificates without a restart";
        if self.not_before > now {
            let reason = format!("{what} is not valid for another {}", span(self.not_before - now));
            return Some(Finding::error(
                Code::CertificateNotYetValid,
                reason,
                "check the clocks of the machines",
            ));
        }
        let left = self.not_after - now;
        if left <= 0 {
            let reason = format!("{what} has expired {} ago", span(-left));
            return Some(Finding::error(Code::CertificateExpired, reason, renew));
        }
        let soon = i64::try_from(SOON.as_secs()).unwrap_or(i64::MAX);
        (left < soon).then(|| {
            let reason = format!("{what} expires in {}", span(left));
            Finding::warning(Code::CertificateExpiresSoon, reason, renew)
        })
    }

    /// Whether it is for this host.
    pub(super) fn judge_name(&self, host: &str) -> Option<Finding> {
        let is_for = |name: &String| {
            let wildcard = name.strip_prefix("*.").zip(host.split_once('.'));
            name.eq_ignore_ascii_case(host)
                || wildcard.is_some_and(|(domain, (_, rest))| domain.eq_ignore_ascii_case(rest))
        };
        (!self.names.iter().any(is_for)).then(|| {
            let names = if self.names.is_empty() { "nobody".to_owned() } else { self.names.join(", ") };
            Finding::error(
                Code::CertificateForAnotherName,
                format!("{} is for {names}, and kube-scheduler asks for {host}", self.what),
                format!(
                    "issue it with the subject alternative name {host}, or set tlsConfig.serverName to one that it has"
                ),
            )
        })
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
    let sixteen = || <[u8; 16]>::try_from(bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
    four.or_else(|_| sixteen()).ok()
}

fn span(seconds: i64) -> String {
    match seconds {
        0..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// What was found out about the files that have to do with TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TlsFacts {
    /// Files that cannot be used: which, and why.
    pub(super) unusable: Vec<(String, String)>,
    /// All certificates that were read.
    pub(super) certificates: Vec<Certificate>,
    /// The certificate that Berth serves with, and the name that kube-scheduler asks for.
    pub(super) served: Option<(Certificate, String)>,
    /// Pairs of certificate and key that do not belong together, by what they are for.
    pub(super) mismatched: Vec<String>,
    /// Certificates that the other side will not believe, and why.
    pub(super) distrusted: Vec<(String, String)>,
    /// Whether Berth demands a client certificate while kube-scheduler has none.
    pub(super) lacks_client_certificate: bool,
}

/// What is wrong with the files.
pub(super) fn judge(facts: &TlsFacts, now: SystemTime) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, reason) in &facts.unusable {
        findings.push(Finding::error(
            Code::CertificateUnusable,
            format!("{what}: {reason}"),
            "correct the path or the file; run doctor where the file is, if that is another machine",
        ));
    }
    for what in &facts.mismatched {
        findings.push(Finding::error(
            Code::KeyMismatch,
            format!("{what}: certificate and key do not belong together"),
            "use the key that the certificate was issued for",
        ));
    }
    for (what, reason) in &facts.distrusted {
        findings.push(Finding::error(
            Code::CertificateOfAnotherAuthority,
            format!("{what}: {reason}"),
            "let both sides use certificates of the authority that the other side names (tlsConfig.caFile, clientCAFile)",
        ));
    }
    if facts.lacks_client_certificate {
        findings.push(Finding::error(
            Code::ClientCertificateMissing,
            "server.tls.clientCAFile is set, so Berth demands a client certificate, and tlsConfig does not name both certFile and keyFile",
            "set tlsConfig.certFile and keyFile to a certificate of that authority",
        ));
    }
    findings.extend(facts.certificates.iter().filter_map(|certificate| certificate.judge_time(now)));
    findings.extend(facts.served.iter().filter_map(|(certificate, host)| certificate.judge_name(host)));
    findings
}

#[cfg(test)]
mod tests {
    use super::Certificate;

    #[test]
    fn names_match_as_in_tls() {
        let certificate = |names: &[&str]| Certificate {
            what: "it".to_owned(),
            not_before: 0,
            not_after: 0,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        for (names, host, good) in [
            (&["127.0.0.1"][..], "127.0.0.1", true),
            (&["a.example", "berth.example"], "berth.example", true),
            (&["*.example"], "berth.example", true),
            (&["*.example"], "a.berth.example", false),
            (&["*.example"], "example", false),
            (&["berth"], "127.0.0.1", false),
            (&[], "127.0.0.1", false),
        ] {
            assert_eq!(certificate(names).judge_name(host).is_none(), good, "{names:?} {host}");
        }
    }
}
