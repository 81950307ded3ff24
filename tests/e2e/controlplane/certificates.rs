//! A throw-away certificate authority for one cluster.

use std::path::PathBuf;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::workspace::Workspace;

/// Signs the API server's certificate, and any other that a test wants the cluster to trust.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The authority's own certificate, PEM.
    pub certificate: PathBuf,
}

/// A certificate and its key, in PEM files.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn create(workspace: &Workspace) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "berth end-to-end tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let certificate = workspace.write("ca.crt", &issuer.pem())?;
        Ok(Self { issuer, certificate })
    }

    /// A serving certificate for loopback connections.
    pub fn issue(&self, workspace: &Workspace, name: &str) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity {
            certificate: workspace.write(&format!("{name}.crt"), &certificate.pem())?,
            key: workspace.write(&format!("{name}.key"), &key.serialize_pem())?,
        })
    }
}

/// The key pair that signs service account tokens.
#[derive(Clone, Debug)]
pub struct SigningKey {
    pub private: PathBuf,
    pub public: PathBuf,
}

pub fn service_account_key(workspace: &Workspace) -> Result<SigningKey> {
    let pair = KeyPair::generate()?;
    Ok(SigningKey {
        private: workspace.write("service-account.key", &pair.serialize_pem())?,
        public: workspace.write("service-account.pub", &pair.public_key_pem())?,
    })
}
