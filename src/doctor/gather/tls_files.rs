//! Files with certificates, keys and authorities, on both sides of the connection.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::config::Tls;
use crate::doctor::certificates::{Certificate, TlsFacts};
use crate::doctor::scheduler_config::{Extender, TlsConfig};
use crate::doctor::url::Url;

/// PEM from a file, or as it stands in kube-scheduler's configuration.
struct Source {
    what: String,
    content: Result<Vec<u8>, String>,
}

impl Source {
    fn file(what: &str, path: &str) -> Self {
        let content = std::fs::read(path).map_err(|error| error.to_string());
        Self { what: format!("{what} {path}"), content }
    }

    /// Inline data wins over the file, as in kube-scheduler.
    fn of(what: &str, file: &str, data: &str) -> Option<Self> {
        if !data.is_empty() {
            let content = STANDARD.decode(data).map_err(|error| format!("is no base64 ({error})"));
            return Some(Self { what: format!("{what} (inline data)"), content });
        }
        (!file.is_empty()).then(|| Self::file(what, file))
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.content.as_ref()?).collect();
        match chain {
            Ok(chain) if chain.is_empty() => Err("holds no certificate in PEM".to_owned()),
            Ok(chain) => Ok(chain),
            Err(error) => Err(error.to_string()),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        PrivateKeyDer::from_pem_slice(self.content.as_ref()?).map_err(|error| error.to_string())
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for authority in self.chain()? {
            roots.add(authority).map_err(|error| error.to_string())?;
        }
        Ok(roots)
    }
}

impl Extender {
    /// Whether kube-scheduler has a certificate to show: it takes a key, too, and half of a pair is left aside silently.
    fn has_client_certificate(&self) -> bool {
        self.names_client_certificate() && self.names_client_key()
    }
}

fn authority(tls: &TlsConfig) -> Option<Source> {
    Source::of("tlsConfig.caFile", &tls.ca_file, &tls.ca_data)
}

fn client_pair(tls: &TlsConfig) -> (Option<Source>, Option<Source>) {
    let certificate = Source::of("tlsConfig.certFile", &tls.cert_file, &tls.cert_data);
    (certificate, Source::of("tlsConfig.keyFile", &tls.key_file, &tls.key_data))
}

/// Collects what is found out, and what cannot be.
#[derive(Default)]
struct Inspection(TlsFacts);

impl Inspection {
    /// The value, unless the source is unusable, which is noted.
    fn usable<T>(&mut self, source: &Source, value: Result<T, String>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(reason) => {
                self.0.unusable.push((source.what.clone(), reason));
                None
            }
        }
    }

    /// Reads a chain, and notes its certificates.
    fn chain(&mut self, source: &Source) -> Option<Vec<CertificateDer<'static>>> {
        let chain = self.usable(source, source.chain())?;
        for der in &chain {
            if let Some(certificate) = self.usable(source, Certificate::read(&source.what, der)) {
                self.0.certificates.push(certificate);
            }
        }
        Some(chain)
    }

    /// Reads a certificate and its key, and compares them.
    fn pair(&mut self, certificate: &Source, key: Option<&Source>) -> Option<Vec<CertificateDer<'static>>> {
        let chain = self.chain(certificate)?;
        let key = key.and_then(|key| self.usable(key, key.key()));
        if let Some(key) = key {
            match CertifiedKey::from_der(chain.clone(), key, &ring::default_provider()) {
                Err(Error::InconsistentKeys(_)) => self.0.mismatched.push(certificate.what.clone()),
                Err(error) => self.0.unusable.push((certificate.what.clone(), error.to_string())),
                Ok(_) => {}
            }
        }
        Some(chain)
    }

    fn distrust(&mut self, source: &Source, by: &str, verified: Result<(), Error>) {
        // When and for whom a certificate is good is judged elsewhere.
        let is_judged_elsewhere = |error: &Error| {
            matches!(
                error,
                Error::InvalidCertificate(
                    CertificateError::Expired
                        | CertificateError::ExpiredContext { .. }
                        | CertificateError::NotValidYet
                        | CertificateError::NotValidYetContext { .. }
                        | CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. }
                )
            )
        };
        if let Some(error) = verified.err().filter(|error| !is_judged_elsewhere(error)) {
            self.0
                .distrusted
                .push((source.what.clone(), format!("is not believed by who trusts {by} ({error})")));
        }
    }
}

/// Looks at all files that both configurations name.
pub(super) fn inspect(extender: Option<&Extender>, served: Option<&Tls>) -> TlsFacts {
    let mut inspection = Inspection::default();
    let file = |what: &str, path: &std::path::Path| Source::file(what, &path.display().to_string());
    let own = served
        .map(|tls| (file("server.tls.certFile", &tls.cert_file), file("server.tls.keyFile", &tls.key_file)));
    let own_chain = own.as_ref().and_then(|(certificate, key)| inspection.pair(certificate, Some(key)));
    let clients = served.and_then(|tls| tls.client_ca_file.as_ref());
    let clients = clients.map(|path| file("server.tls.clientCAFile", path));
    let client_roots = clients.as_ref().and_then(|source| {
        inspection.chain(source)?;
        inspection.usable(source, source.roots())
    });
    let Some(extender) = extender else { return inspection.0 };

    let (certificate, key) = client_pair(&extender.tls_config);
    let client_chain =
        certificate.as_ref().and_then(|certificate| inspection.pair(certificate, key.as_ref()));
    let url = Url::parse(&extender.url_prefix).ok();
    let is_https = url.as_ref().is_some_and(|url| url.is_https);
    inspection.0.lacks_client_certificate =
        is_https && clients.is_some() && !extender.has_client_certificate();
    let authority = authority(&extender.tls_config);
    let roots = authority.as_ref().and_then(|source| {
        inspection.chain(source)?;
        inspection.usable(source, source.roots())
    });
    let named = &extender.tls_config.server_name;
    let host = if named.is_empty() { url.map_or(String::new(), |url| url.host) } else { named.clone() };
    // Without a usable URL it is not known whom the certificate has to be for, and whoever accepts any asks for no name.
    let is_checked = is_https && !extender.accepts_any_certificate();
    if let (Some((source, _)), Some(chain)) = (&own, &own_chain)
        && is_checked
    {
        if let Ok(certificate) = Certificate::read(&source.what, &chain[0]) {
            inspection.0.served = Some((certificate, host.clone()));
        }
        if let Some(roots) = roots {
            inspection.distrust(source, "tlsConfig.caFile", verify_server(roots, chain, &host));
        }
    }
    if let (Some(source), Some(chain), Some(roots)) = (&certificate, &client_chain, client_roots) {
        inspection.distrust(source, "server.tls.clientCAFile", verify_client(roots, chain));
    }
    inspection.0
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn verify_server(roots: RootCertStore, chain: &[CertificateDer<'static>], host: &str) -> Result<(), Error> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| Error::General(error.to_string()))?;
    verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], UnixTime::now()).map(drop)
}

fn verify_client(roots: RootCertStore, chain: &[CertificateDer<'static>]) -> Result<(), Error> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
    verifier.verify_client_cert(&chain[0], &chain[1..], UnixTime::now()).map(drop)
}

/// Encrypts as kube-scheduler will, with what its configuration says.
pub(super) fn client(extender: &Extender) -> Result<Arc<ClientConfig>, String> {
    let in_source = |source: &Source, error: String| format!("{}: {error}", source.what);
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = if extender.accepts_any_certificate() {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
    } else {
        let Some(source) = authority(&extender.tls_config) else {
            let why = "the certificate is checked against the authorities of kube-scheduler's machine, which doctor does not know";
            return Err(why.to_owned());
        };
        builder.with_root_certificates(source.roots().map_err(|error| in_source(&source, error))?)
    };
    let config = match client_pair(&extender.tls_config) {
        (Some(certificate), Some(key)) => {
            let chain = certificate.chain().map_err(|error| in_source(&certificate, error))?;
            let private = key.key().map_err(|error| in_source(&key, error))?;
            builder
                .with_client_auth_cert(chain, private)
                .map_err(|error| in_source(&certificate, error.to_string()))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// Encrypts for whom these authorities vouch, given in PEM.
pub(super) fn trusting(authorities: &str) -> Result<Arc<ClientConfig>, String> {
    let source = Source { what: String::new(), content: Ok(authorities.as_bytes().to_vec()) };
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(source.roots()?).with_no_client_auth()))
}

/// Encrypts for whoever answers.
pub(super) fn accepting_any() -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())));
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Believes everybody, as kube-scheduler does where no authority is named. That it does so is a finding of its own.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::inspect;
    use crate::config::Tls;
    use crate::doctor::certificates::TlsFacts;
    use crate::doctor::scheduler_config::{self, TlsConfig};

    /// What is found of a served certificate, for an extender with that URL and the certificate as its authority.
    fn inspected(url: &str, change: impl FnOnce(&mut TlsConfig)) -> TlsFacts {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let [cert_file, key_file] = ["tls.crt", "tls.key"].map(|name| directory.path().join(name));
        std::fs::write(&cert_file, made.cert.pem()).expect("written");
        std::fs::write(&key_file, made.signing_key.serialize_pem()).expect("written");
        let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration";
        let text = format!("{head}\nextenders: [{{urlPrefix: '{url}', bindVerb: bind}}]\n");
        let mut extender = scheduler_config::parse(&text).expect("a configuration").extenders.remove(0);
        extender.tls_config.ca_file = cert_file.display().to_string();
        change(&mut extender.tls_config);
        inspect(Some(&extender), Some(&Tls { cert_file, key_file, client_ca_file: None }))
    }

    #[test]
    fn nobody_is_distrusted_for_a_url_that_names_no_host() {
        for url in ["127.0.0.1:8888", "https://", "not a url"] {
            let facts = inspected(url, |_| {});
            assert_eq!((&facts.distrusted, &facts.served), (&Vec::new(), &None), "{url}");
            assert_eq!(facts.unusable, [], "{url}");
        }
    }

    #[test]
    fn who_accepts_any_certificate_asks_for_no_name() {
        const URL: &str = "https://127.0.0.1:8888";
        assert!(inspected(URL, |_| {}).served.is_some(), "who has an authority does");
        let insecure = inspected(URL, |tls| (tls.insecure, tls.ca_file) = (true, String::new()));
        assert_eq!(insecure.served, None);
    }
}
