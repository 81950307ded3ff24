//! When certificates end.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The end of the one that ends first, in seconds since 1970; what is wrong with one that cannot be read.
pub(super) fn earliest_end(certificates: &[CertificateDer<'_>]) -> Result<i64, String> {
    let mut earliest = i64::MAX;
    for der in certificates {
        let (_, certificate) = X509Certificate::from_der(der)
            .map_err(|error| format!("holds a certificate that cannot be read: {error}"))?;
        earliest = earliest.min(certificate.validity().not_after.timestamp());
    }
    Ok(earliest)
}

/// The same of the certificates in a PEM file; nothing if it holds none.
pub(crate) fn earliest_end_in_pem(pem: &[u8]) -> Result<Option<i64>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = chain.map_err(|error| error.to_string())?;
    if chain.is_empty() { Ok(None) } else { earliest_end(&chain).map(Some) }
}
