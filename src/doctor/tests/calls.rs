//! Certificates, and the call that kube-scheduler would make.

use super::{Case, answer, case, certificate, tls};
use crate::doctor::facts::ConfigSource;
use crate::doctor::finding::Code;
use crate::doctor::finding::Severity::{Error, Warning};
use crate::doctor::reach::Answer;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("a bad configuration", Code::ConfigurationInvalid, Error, |f| {
            f.config_source = ConfigSource::Refused("configuration field x: unknown".to_owned());
        }),
        case("no such file", Code::CertificateUnusable, Error, |f| {
            tls(f).unusable.push(("tlsConfig.caFile a".to_owned(), "not found".to_owned()));
        }),
        case("tomorrow's certificate", Code::CertificateNotYetValid, Error, |f| {
            tls(f).certificates = vec![certificate(1, 365)];
        }),
        case("yesterday's certificate", Code::CertificateExpired, Error, |f| {
            tls(f).certificates = vec![certificate(-365, -1)];
        }),
        case("the last days of a certificate", Code::CertificateExpiresSoon, Warning, |f| {
            tls(f).certificates = vec![certificate(-365, 3)];
        }),
        case("somebody else's certificate", Code::CertificateForAnotherName, Error, |f| {
            tls(f).served = Some((certificate(-1, 365), "berth.example".to_owned()));
        }),
        case("another key", Code::KeyMismatch, Error, |f| tls(f).mismatched.push("server.tls".to_owned())),
        case("another authority", Code::CertificateOfAnotherAuthority, Error, |f| {
            tls(f).distrusted.push(("server.tls.certFile a".to_owned(), "unknown issuer".to_owned()));
        }),
        case("nothing to show", Code::ClientCertificateMissing, Error, |f| {
            tls(f).lacks_client_certificate = true;
        }),
        case("nobody there", Code::VerbsUnreachable, Error, |f| *answer(f) = Err("refused".to_owned())),
        case("the admin port", Code::VerbsBroken, Error, |f| {
            *answer(f) = Ok(Answer { status: 404, body: "no such endpoint".to_owned(), counted: None });
        }),
        case("something else", Code::VerbsBroken, Error, |f| {
            *answer(f) = Ok(Answer { status: 200, body: "<html>".to_owned(), counted: None });
        }),
        case("a Berth that does not know", Code::VerbsUndecided, Error, |f| {
            let body = r#"{"Error":"CacheNotSynced"}"#.to_owned();
            *answer(f) = Ok(Answer { status: 200, body, counted: None });
        }),
        case("the other Berth", Code::AnotherBerth, Warning, |f| {
            answer(f).as_mut().expect("an answer").counted = Some(false);
        }),
    ]
}
