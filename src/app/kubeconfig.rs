//! The client certificate that a kubeconfig names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;

use crate::server::tls::earliest_end_in_pem;

/// When the client certificate ends with which the API server is asked, if the kubeconfig names one. It is read once, as the
/// client does. What an `exec` plugin hands out is renewed by the plugin, and is not looked at.
pub(super) fn client_certificate_end(auth: &AuthInfo) -> Option<i64> {
    let (data, file) = (&auth.client_certificate_data, &auth.client_certificate);
    let pem = match (data, file) {
        (Some(data), _) => STANDARD.decode(data).map_err(|error| error.to_string()),
        (None, Some(file)) => std::fs::read(file).map_err(|error| format!("{file}: {error}")),
        (None, None) => return None,
    };
    pem.and_then(|pem| earliest_end_in_pem(&pem)).unwrap_or_else(|error| {
        // The client that is made of it says so in an error if it matters.
        tracing::warn!(error, "cannot tell when the client certificate of the kubeconfig expires");
        None
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use kube::config::AuthInfo;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::{STANDARD, client_certificate_end};

    fn pem(until: i32) -> String {
        let mut params = CertificateParams::default();
        params.not_after = date_time_ymd(until, 1, 1);
        params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate").pem()
    }

    #[test]
    fn the_end_is_found_in_data_and_in_a_file() {
        let year = |year| Some(date_time_ymd(year, 1, 1).unix_timestamp());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("client.crt");
        std::fs::write(&file, pem(2100) + &pem(2090)).expect("written");
        let mut auth = AuthInfo::default();
        assert_eq!(client_certificate_end(&auth), None, "a token, say");
        auth.client_certificate = Some(file.display().to_string());
        assert_eq!(client_certificate_end(&auth), year(2090), "the first of the chain that ends");
        auth.client_certificate_data = Some(STANDARD.encode(pem(2080)));
        assert_eq!(client_certificate_end(&auth), year(2080), "data goes before a file, as with kubectl");
        for bad in ["%", "Z2FyYmFnZQ=="] {
            auth.client_certificate_data = Some(bad.to_owned());
            assert_eq!(client_certificate_end(&auth), None);
        }
    }
}
