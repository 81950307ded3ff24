//! As much of a URL as it takes to call Berth.

use std::net::IpAddr;

use hyper::Uri;

/// Where calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) is_https: bool,
    /// The host without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Without a slash at its end.
    pub(super) path: String,
}

impl Url {
    /// Reads a URL, or says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| format!("is no URL ({error})"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("must begin with http:// or https://".to_owned()),
        };
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("names no host".to_owned());
        }
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        Ok(Self { is_https, host, port, path: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The host, if it is an address.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether it is this very machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.ip().is_some_and(|ip| ip.is_loopback())
    }

    /// The host and the port, as they stand in a `Host` header.
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

#[test]
fn urls_are_taken_apart() {
    for (text, is_https, authority, path, is_loopback) in [
        ("http://127.0.0.1:8888", false, "127.0.0.1:8888", "", true),
        ("https://berth.berth-system.svc/", true, "berth.berth-system.svc:443", "", false),
        ("http://[::1]:8888/a/b/", false, "[::1]:8888", "/a/b", true),
        ("http://localhost", false, "localhost:80", "", true),
    ] {
        let url = Url::parse(text).expect(text);
        assert_eq!(
            (url.is_https, url.authority(), &*url.path),
            (is_https, authority.to_owned(), path),
            "{text}"
        );
        assert_eq!(url.is_loopback(), is_loopback, "{text}");
    }
    for text in ["", "127.0.0.1:8888", "ftp://a", "http://", "http:///x", "not a url"] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}
