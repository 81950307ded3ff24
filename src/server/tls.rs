//! TLS with certificates and client authorities that may be renewed while running.
//!
//! ```text
//!   files --read--> Loaded: an acceptor that demands client certificates, one that asks for none
//!     ^                |
//!     | every second   +--> the next connection of each listener
//!   renew              +--> connections from before, if the client authorities changed: come anew
//! ```

mod expiry;
mod metrics;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use ring::digest::{Context, SHA256};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use self::expiry::earliest_end;
pub(crate) use self::expiry::earliest_end_in_pem;
pub(crate) use self::metrics::CertificateMetrics;
use crate::config::Tls;

/// Why TLS cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or is no PEM of the right sort.
    #[error("{field}: {path}: {reason}")]
    File {
        /// The field that names it.
        field: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key do not go together, or the authorities are unusable.
    #[error("server.tls: {UNUSABLE}: {0}")]
    Unusable(String),
}

impl TlsError {
    /// The field of the configuration that it is about, and what is wrong.
    pub(crate) fn field_and_reason(&self) -> (&'static str, String) {
        match self {
            TlsError::File { field, path, reason } => (field, format!("{path}: {reason}")),
            TlsError::Unusable(reason) => ("server.tls", format!("{UNUSABLE}: {reason}")),
        }
    }
}

const UNUSABLE: &str = "certificate, key or client authorities are unusable";
const CERT_FILE: &str = "server.tls.certFile";
const KEY_FILE: &str = "server.tls.keyFile";
const CLIENT_CA_FILE: &str = "server.tls.clientCAFile";

/// Whether a listener wants to see its clients' certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    /// Nobody is let in without one, if there are authorities.
    Demanded,
    /// Nobody is asked for one, and nobody is offered HTTP/2: what a stranger may do on one connection is one thing at a
    /// time.
    NotAsked,
}

impl ClientCertificates {
    /// What is spoken with these clients, best first.
    fn protocols(self) -> Vec<Vec<u8>> {
        let protocols: &[&[u8]] = match self {
            ClientCertificates::Demanded => &[b"h2", b"http/1.1"],
            ClientCertificates::NotAsked => &[b"http/1.1"],
        };
        protocols.iter().map(|protocol| protocol.to_vec()).collect()
    }
}

/// What came of a look at the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// They say what they said, or nothing that could be judged yet.
    Unchanged,
    /// What they say now is in force.
    Renewed,
    /// They cannot be used, the old ones stay in force. Told once for each sort of bad files.
    Failed(TlsError),
}

/// When the first certificate of each file ends, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// Of the server's chain.
    pub(crate) server: i64,
    /// Of the client authorities, if there are any.
    pub(crate) client_ca: Option<i64>,
}

/// What is served with, and where it comes from. All listeners share it, so that they change together.
pub(crate) struct Certificates {
    files: Tls,
    in_force: ArcSwap<Loaded>,
    /// The bad files that were found last.
    bad: Mutex<Option<Bad>>,
    /// Changes with the client authorities.
    authorities: watch::Sender<()>,
}

/// A fingerprint is enough to see a change, and keeps no second copy of the key.
type Fingerprint = [u8; 32];

struct Loaded {
    demanding: TlsAcceptor,
    open: TlsAcceptor,
    files: Fingerprint,
    authorities: Option<Fingerprint>,
    expiry: Expiry,
}

struct Bad {
    found: Result<Fingerprint, TlsError>,
    told: bool,
}

impl Certificates {
    /// Reads the files.
    pub(crate) fn load(files: &Tls) -> Result<Self, TlsError> {
        let loaded = Loaded::from(files, &Contents::read(files)?)?;
        Ok(Self {
            files: files.clone(),
            in_force: ArcSwap::from_pointee(loaded),
            bad: Mutex::default(),
            authorities: watch::Sender::new(()),
        })
    }

    /// The acceptor for the next connection.
    pub(crate) fn acceptor(&self, clients: ClientCertificates) -> TlsAcceptor {
        let loaded = self.in_force.load();
        match clients {
            ClientCertificates::Demanded => loaded.demanding.clone(),
            ClientCertificates::NotAsked => loaded.open.clone(),
        }
    }

    /// Tells of other client authorities from now on. Who was let in by the old ones has to show a certificate anew.
    pub(crate) fn authorities_changed(&self) -> watch::Receiver<()> {
        self.authorities.subscribe()
    }

    /// When they end.
    pub(crate) fn expiry(&self) -> Expiry {
        self.in_force.load().expiry
    }

    /// Looks at the files again. Key and certificate are two files, and whoever replaces them one after the other may
    /// be in between: bad files are believed to be bad when they are found a second time.
    pub(crate) fn renew(&self) -> Renewal {
        let contents = Contents::read(&self.files);
        let found = contents.as_ref().map(Contents::fingerprint).map_err(Clone::clone);
        let mut bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.in_force.load();
        if found.as_ref() == Ok(&old.files) {
            *bad = None;
            return Renewal::Unchanged;
        }
        if bad.as_ref().is_some_and(|bad| bad.told && bad.found == found) {
            return Renewal::Unchanged;
        }
        match contents.and_then(|contents| Loaded::from(&self.files, &contents)) {
            Ok(new) => {
                *bad = None;
                let others = new.authorities != old.authorities;
                self.in_force.store(Arc::new(new));
                if others {
                    self.authorities.send_replace(());
                }
                Renewal::Renewed
            }
            Err(error) => {
                let told = bad.as_ref().is_some_and(|bad| bad.found == found);
                *bad = Some(Bad { found, told });
                if told { Renewal::Failed(error) } else { Renewal::Unchanged }
            }
        }
    }
}

/// What the files say.
struct Contents {
    chain: Vec<u8>,
    key: Vec<u8>,
    authorities: Option<Vec<u8>>,
}

impl Contents {
    fn read(files: &Tls) -> Result<Self, TlsError> {
        let read = |field, path: &Path| std::fs::read(path).map_err(|error| in_file(field, path, &error));
        Ok(Self {
            chain: read(CERT_FILE, &files.cert_file)?,
            key: read(KEY_FILE, &files.key_file)?,
            authorities: files
                .client_ca_file
                .as_deref()
                .map(|path| read(CLIENT_CA_FILE, path))
                .transpose()?,
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint([&self.chain[..], &self.key, self.authorities.as_deref().unwrap_or_default()])
    }
}

fn fingerprint<const PARTS: usize>(parts: [&[u8]; PARTS]) -> Fingerprint {
    let mut context = Context::new(&SHA256);
    for part in parts {
        // With its length, so that nothing moves from one part to the next unseen.
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut fingerprint = Fingerprint::default();
    fingerprint.copy_from_slice(context.finish().as_ref());
    fingerprint
}

impl Loaded {
    fn from(files: &Tls, contents: &Contents) -> Result<Self, TlsError> {
        let chain = certificates(CERT_FILE, &files.cert_file, &contents.chain)?;
        let in_key_file = |reason: &dyn std::fmt::Display| in_file(KEY_FILE, &files.key_file, reason);
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| match error {
            pem::Error::NoItemsFound => in_key_file(&"holds no private key"),
            error => in_key_file(&error),
        })?;
        let server = earliest_end(&chain).map_err(|e| in_file(CERT_FILE, &files.cert_file, &e))?;
        let (mut clients, mut client_ca): (Arc<dyn ClientCertVerifier>, _) = (Arc::new(NoClientAuth), None);
        if let (Some(path), Some(pem)) = (&files.client_ca_file, &contents.authorities) {
            let authorities = certificates(CLIENT_CA_FILE, path, pem)?;
            client_ca = Some(earliest_end(&authorities).map_err(|e| in_file(CLIENT_CA_FILE, path, &e))?);
            clients = verifier(path, authorities)?;
        }
        Ok(Self {
            demanding: acceptor(clients, ClientCertificates::Demanded.protocols(), &chain, &key)?,
            open: acceptor(Arc::new(NoClientAuth), ClientCertificates::NotAsked.protocols(), &chain, &key)?,
            files: contents.fingerprint(),
            authorities: contents.authorities.as_deref().map(|pem| fingerprint([pem])),
            expiry: Expiry { server, client_ca },
        })
    }
}

/// Lets in who shows a certificate of one of these authorities that is meant for clients.
fn verifier(
    path: &Path,
    authorities: Vec<CertificateDer<'static>>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(|error| in_file(CLIENT_CA_FILE, path, &error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    verifier.build().map_err(|error| unusable(&error))
}

/// TLS 1.2 and 1.3; rustls knows nothing older.
fn acceptor(
    clients: Arc<dyn ClientCertVerifier>,
    protocols: Vec<Vec<u8>>,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Result<TlsAcceptor, TlsError> {
    let demanding = clients.offer_client_auth();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_client_cert_verifier(clients);
    let config = builder.with_single_cert(chain.to_vec(), key.clone_key());
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            unusable(&"keyFile is not the key of the certificate in certFile")
        }
        error => unusable(&error),
    })?;
    config.alpn_protocols = protocols;
    if demanding {
        // A session that is resumed would let in a certificate that has expired meanwhile.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(
    field: &'static str,
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(in_file(field, path, &"holds no certificate")),
        Ok(chain) => Ok(chain),
        Err(error) => Err(in_file(field, path, &error)),
    }
}

fn in_file(field: &'static str, path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { field, path: path.display().to_string(), reason: reason.to_string() }
}

fn unusable(error: &dyn std::fmt::Display) -> TlsError {
    TlsError::Unusable(error.to_string())
}

#[cfg(test)]
mod tests;
