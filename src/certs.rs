//! A self-signed set of certificates to start with: an authority, a server, a client.
//!
//! ```text
//!   ca.crt, ca.key                           the authority: new, or the one that is there
//!     +-- server.crt, server.key             Berth, under all its names
//!     +-- kube-scheduler.crt, .key           the client that may ask
//! ```
//!
//! Each certificate is good for its one purpose: Berth's own is not let in as a client.

mod files;
mod names;

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

use self::files::{Secrecy, write};
use self::names::server_names;

/// Clocks differ a little, and a certificate of the future is refused.
const BEFORE: Duration = Duration::hours(1);
/// The most that dates of certificates can say is far beyond this.
const LONGEST_DAYS: u32 = 36_500;

/// Why there is no set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertsError {
    /// It would replace what is there.
    #[error("{} exists: name another --out folder, or replace what is there with --force", .0.display())]
    Exists(PathBuf),
    /// A name that no certificate can carry.
    #[error("{0:?} is neither an IP address nor a host name")]
    Host(String),
    /// A service that is not named with its namespace.
    #[error("{0:?} is no Service: write NAME.NAMESPACE")]
    Service(String),
    /// The certificate that is to be renewed cannot be read.
    #[error("cannot take over the names of {}: {reason}; without that file, only those count that are given", .path.display())]
    Names {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A number of days that makes no sense.
    #[error("{0} days are not between 1 and {LONGEST_DAYS}")]
    Days(u32),
    /// The authority that is to sign is not there, or not whole.
    #[error("cannot sign with {}: {reason}", .path.display())]
    Authority {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No key or certificate could be made.
    #[error("cannot make certificates: {0}")]
    Make(#[from] rcgen::Error),
}

/// What is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The folder to write to.
    pub(crate) folder: PathBuf,
    /// Names and addresses of the server, besides those of loopback and those of a certificate that is renewed.
    pub(crate) hosts: Vec<String>,
    /// Services in front of the server, as `NAME.NAMESPACE`.
    pub(crate) services: Vec<String>,
    /// Who the client is: its common name, and the name of its files.
    pub(crate) client: String,
    /// How long the server's and the client's certificates last, unless the authority ends before.
    pub(crate) days: u32,
    /// How long the authority lasts.
    pub(crate) ca_days: u32,
    /// Sign with the authority that is in the folder, and keep the names of the server's certificate.
    pub(crate) reuse_ca: bool,
    /// Replace what is there.
    pub(crate) force: bool,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The certificate's file.
    pub(crate) certificate: PathBuf,
    /// The key's file.
    pub(crate) key: PathBuf,
}

/// What was written, or was there.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// The authority.
    pub(crate) ca: Pair,
    /// Berth.
    pub(crate) server: Pair,
    /// The names that Berth can be called by.
    pub(crate) server_names: Vec<String>,
    /// Who calls.
    pub(crate) client: Pair,
    /// The last day of the server's and the client's certificates.
    pub(crate) end: time::Date,
    /// Whether it is the authority's end, which comes before the one that was asked for.
    pub(crate) is_end_of_authority: bool,
}

/// Makes the set and writes it. Nothing is written unless all of it can be made.
pub(crate) fn create(wanted: &Wanted) -> Result<Set, CertsError> {
    for days in [wanted.days, wanted.ca_days] {
        if !(1..=LONGEST_DAYS).contains(&days) {
            return Err(CertsError::Days(days));
        }
    }
    let pair = |name: &str| Pair {
        certificate: wanted.folder.join(format!("{name}.crt")),
        key: wanted.folder.join(format!("{name}.key")),
    };
    let (ca, server, client) = (pair("ca"), pair("server"), pair(&wanted.client));
    let mut to_write = vec![&server, &client];
    if !wanted.reuse_ca {
        to_write.push(&ca);
    }
    if !wanted.force {
        let mut paths = to_write.iter().flat_map(|pair| [&pair.certificate, &pair.key]);
        if let Some(there) = paths.find(|path| path.symlink_metadata().is_ok()) {
            return Err(CertsError::Exists(there.clone()));
        }
    }

    let renewed = wanted.reuse_ca.then_some(server.certificate.as_path());
    let server_names = server_names(&wanted.hosts, &wanted.services, renewed)?;
    let now = OffsetDateTime::now_utc();
    let (authority, authority_end, ca_pem) = if wanted.reuse_ca {
        let (authority, end) = existing_authority(&ca, now)?;
        (authority, end, None)
    } else {
        let (authority, pem) = new_authority(now, wanted.ca_days)?;
        (authority, now + Duration::days(wanted.ca_days.into()), Some(pem))
    };
    // Whoever checks the whole chain refuses it from the end of the authority on, whatever the rest of it says.
    let asked_for = now + Duration::days(wanted.days.into());
    let end = asked_for.min(authority_end);
    let server_params = leaf("berth", &server_names, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client_params = leaf(&wanted.client, &[], ExtendedKeyUsagePurpose::ClientAuth)?;
    let issued = [(&server, server_params), (&client, client_params)];
    let mut contents = Vec::new();
    for (pair, mut params) in issued {
        let key = KeyPair::generate()?;
        lasting(&mut params, now, end);
        let certificate = params.signed_by(&key, &authority)?;
        contents.push((pair, certificate.pem(), key.serialize_pem()));
    }
    if let Some(pem) = ca_pem {
        contents.push((&ca, pem, authority.key().serialize_pem()));
    }
    for (pair, certificate, key) in contents {
        write(&pair.key, &key, Secrecy::Secret)?;
        write(&pair.certificate, &certificate, Secrecy::Public)?;
    }
    Ok(Set { ca, server, server_names, client, end: end.date(), is_end_of_authority: end < asked_for })
}

fn new_authority(now: OffsetDateTime, days: u32) -> Result<(Issuer<'static, KeyPair>, String), CertsError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "berth-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    lasting(&mut params, now, now + Duration::days(days.into()));
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), pem))
}

/// The authority that is there, and when it ends.
fn existing_authority(
    pair: &Pair,
    now: OffsetDateTime,
) -> Result<(Issuer<'static, KeyPair>, OffsetDateTime), CertsError> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| unusable(path, &error));
    let (pem, key) = (read(&pair.certificate)?, read(&pair.key)?);
    let key = KeyPair::from_pem(&key).map_err(|error| unusable(&pair.key, &error))?;
    let in_certificate = |reason: &dyn std::fmt::Display| unusable(&pair.certificate, reason);
    let (_, block) = parse_x509_pem(pem.as_bytes()).map_err(|error| in_certificate(&error))?;
    let certificate = block.parse_x509().map_err(|error| in_certificate(&error))?;
    if !certificate.is_ca() {
        return Err(in_certificate(&"it is no certificate authority"));
    }
    if certificate.public_key().raw != key.subject_public_key_info() {
        return Err(in_certificate(&"ca.key is another authority's key"));
    }
    let end = certificate.validity().not_after.to_datetime();
    if end <= now {
        return Err(in_certificate(&"it has expired; make a new one, without --reuse-ca"));
    }
    let issuer = Issuer::from_ca_cert_pem(&pem, key).map_err(|error| in_certificate(&error))?;
    Ok((issuer, end))
}

fn leaf(
    name: &str,
    hosts: &[String],
    purpose: ExtendedKeyUsagePurpose,
) -> Result<CertificateParams, CertsError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    for host in hosts {
        params.subject_alt_names.push(match host.parse() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.as_str().try_into()?),
        });
    }
    Ok(params)
}

fn lasting(params: &mut CertificateParams, now: OffsetDateTime, end: OffsetDateTime) {
    params.not_before = now - BEFORE;
    params.not_after = end;
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> CertsError {
    CertsError::Authority { path: path.to_owned(), reason: reason.to_string() }
}
