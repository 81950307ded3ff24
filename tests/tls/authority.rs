//! A throw-away certificate authority.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "berth tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// For loopback servers, and for clients.
    pub fn issue(&self, name: &str) -> Identity {
        self.issue_with(name, |_| {})
    }

    /// The same, but for what is changed about it.
    pub fn issue_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = for_loopback(name);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

fn for_loopback(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Identity {
    /// One that nobody but itself vouches for.
    #[allow(dead_code, reason = "not every test that shares this file needs it")]
    pub fn self_signed(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = for_loopback(name).self_signed(&key).expect("signed");
        Self { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// What these PEM files say.
    #[allow(dead_code, reason = "not every test that shares this file needs it")]
    pub fn read(certificate: &Path, key: &Path) -> Self {
        let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
        Self { certificate: read(certificate), key: read(key) }
    }

    pub fn write(&self, directory: &Path) {
        std::fs::write(directory.join("tls.key"), &self.key).expect("written");
        std::fs::write(directory.join("tls.crt"), &self.certificate).expect("written");
    }
}
