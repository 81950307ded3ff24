//! When certificates end.

use rustls::pki_types::CertificateDer;
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
