//! TLS with certificates that may be renewed while running.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::Tls;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or is no PEM of the right sort.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key do not go together, or the authorities are unusable.
    #[error("certificate, key or client authorities are unusable: {0}")]
    Unusable(String),
}

/// The acceptor in force.
pub struct Certificates {
    files: Tls,
    acceptor: ArcSwap<Loaded>,
}

struct Loaded {
    acceptor: TlsAcceptor,
    /// What the files said, to see when they say something else.
    contents: Vec<Vec<u8>>,
}

impl Certificates {
    /// Reads the files.
    pub fn load(files: &Tls) -> Result<Self, TlsError> {
        let loaded = read(files)?;
        Ok(Self { files: files.clone(), acceptor: ArcSwap::from_pointee(loaded) })
    }

    /// The acceptor for the next connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.load().acceptor.clone()
    }

    /// Reads the files again; whether they had changed. On an error the old certificate stays.
    pub fn renew(&self) -> Result<bool, TlsError> {
        if contents(&self.files)? == self.acceptor.load().contents {
            return Ok(false);
        }
        self.acceptor.store(Arc::new(read(&self.files)?));
        Ok(true)
    }
}

fn contents(files: &Tls) -> Result<Vec<Vec<u8>>, TlsError> {
    let paths = [Some(&files.cert_file), Some(&files.key_file), files.client_ca_file.as_ref()];
    let read = |path: &Path| std::fs::read(path).map_err(|error| in_file(path, &error));
    paths.into_iter().flatten().map(|path| read(path)).collect()
}

fn read(files: &Tls) -> Result<Loaded, TlsError> {
    let unusable = |error: &dyn std::fmt::Display| TlsError::Unusable(error.to_string());
    let contents = contents(files)?;
    let chain = certificates(&files.cert_file, &contents[0])?;
    let key = PrivateKeyDer::from_pem_slice(&contents[1]).map_err(|e| in_file(&files.key_file, &e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| unusable(&e))?;
    let builder = match (&files.client_ca_file, contents.get(2)) {
        (Some(path), Some(pem)) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(path, pem)? {
                roots.add(authority).map_err(|e| in_file(path, &e))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(|e| unusable(&e))?)
        }
        _ => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|e| unusable(&e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Loaded { acceptor: TlsAcceptor::from(Arc::new(config)), contents })
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(in_file(path, &"holds no certificate")),
        Ok(chain) => Ok(chain),
        Err(error) => Err(in_file(path, &error)),
    }
}

fn in_file(path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { path: path.display().to_string(), reason: reason.to_string() }
}
