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
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Identity {
    pub fn write(&self, directory: &Path) {
        std::fs::write(directory.join("tls.key"), &self.key).expect("written");
        std::fs::write(directory.join("tls.crt"), &self.certificate).expect("written");
    }
}
