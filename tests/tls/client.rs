//! A client that says what it wants to speak and shows what it is told to.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::authority::{Authority, Identity};

/// Whom the client believes, and who it says it is.
pub struct Trust {
    roots: RootCertStore,
    versions: &'static [&'static SupportedProtocolVersion],
    own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

impl Trust {
    pub fn of(authority: &Authority) -> Self {
        Self::of_pem(&authority.pem())
    }

    /// Believes every authority in the text.
    pub fn of_pem(authorities: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            roots.add(authority.expect("PEM")).expect("an authority");
        }
        Self { roots, versions: rustls::ALL_VERSIONS, own: None }
    }

    /// Speaks these versions of TLS only.
    pub fn speaking(mut self, versions: &'static [&'static SupportedProtocolVersion]) -> Self {
        self.versions = versions;
        self
    }

    pub fn showing(mut self, identity: &Identity) -> Self {
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("PEM");
        self.own = Some((vec![certificate], key));
        self
    }

    fn config(&self, protocols: &[&str]) -> anyhow::Result<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)?
            .with_root_certificates(self.roots.clone());
        let mut config = match &self.own {
            Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key())?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(config)
    }
}

pub struct Answer {
    pub status: u16,
    pub version: Version,
    pub content_length: Option<String>,
    pub body: String,
}

/// One connection, speaking what was agreed on.
pub enum Client {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub async fn connect(address: SocketAddr, trust: &Trust, protocols: &[&str]) -> anyhow::Result<Self> {
        let connector = TlsConnector::from(Arc::new(trust.config(protocols)?));
        let name = ServerName::IpAddress(address.ip().into());
        let stream = connector.connect(name, TcpStream::connect(address).await?).await?;
        let agreed = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        let stream = TokioIo::new(stream);
        if agreed.as_deref() == Some(b"h2") {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            Ok(Client::Http2(sender))
        } else {
            let (sender, connection) = http1::handshake(stream).await?;
            tokio::spawn(connection);
            Ok(Client::Http1(sender))
        }
    }

    /// Whether the server wants to hear no more on this connection.
    pub fn is_closed(&self) -> bool {
        match self {
            Client::Http1(sender) => sender.is_closed(),
            Client::Http2(sender) => sender.is_closed(),
        }
    }

    pub async fn post(&mut self, path: &str, body: &str) -> anyhow::Result<Answer> {
        self.try_post(path, body).await?.context("the connection takes no more requests")
    }

    /// Nothing if the request was not even sent, because the server has said good-bye: another connection will do, as
    /// every client of HTTP/2 knows.
    pub async fn try_post(&mut self, path: &str, body: &str) -> anyhow::Result<Option<Answer>> {
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let request = Request::builder().method("POST");
        let answer = match self {
            Client::Http1(sender) => {
                if sender.ready().await.is_err() {
                    return Ok(None);
                }
                sender.try_send_request(request.uri(path).header(HOST, "berth").body(body)?).await
            }
            Client::Http2(sender) => {
                if sender.ready().await.is_err() {
                    return Ok(None);
                }
                sender.try_send_request(request.uri(format!("https://berth{path}")).body(body)?).await
            }
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.message().is_some() => return Ok(None),
            Err(error) => return Err(error.into_error().into()),
        };
        let length = answer.headers().get(CONTENT_LENGTH);
        Ok(Some(Answer {
            status: answer.status().as_u16(),
            version: answer.version(),
            content_length: length.and_then(|length| length.to_str().ok()).map(str::to_owned),
            body: String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?,
        }))
    }
}
