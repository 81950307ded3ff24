//! One HTTP call on a connection of its own, encrypted or not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::doctor::url::Url;

/// A page of metrics is far smaller; whoever sends more is not Berth.
const LARGEST: usize = 16 * 1024 * 1024;

/// A call to make.
pub(super) struct HttpCall<'a> {
    pub(super) url: &'a Url,
    /// What follows the authority.
    pub(super) path: &'a str,
    /// A POST of this JSON, or a GET.
    pub(super) body: Option<&'a str>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// Whose certificate is asked for.
    pub(super) server_name: &'a str,
    /// A token to send, which takes TLS with a verified server, or loopback.
    pub(super) bearer: Option<&'a str>,
}

/// An answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

impl HttpCall<'_> {
    /// Makes the call; what went wrong is told in one line.
    pub(super) async fn send(&self, patience: Duration) -> Result<Reply, String> {
        match tokio::time::timeout(patience, self.connect()).await {
            Ok(reply) => reply,
            Err(_) => Err(format!("no answer within {patience:?}")),
        }
    }

    async fn connect(&self) -> Result<Reply, String> {
        let refused = |error: std::io::Error| format!("cannot connect ({error})");
        let stream = TcpStream::connect((self.url.host.as_str(), self.url.port)).await.map_err(refused)?;
        let Some(tls) = &self.tls else {
            // A name that should be this machine's may lead elsewhere.
            if self.bearer.is_some() && !stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
                return Err("a token is sent in clear to loopback only".to_owned());
            }
            return self.exchange(stream).await;
        };
        let name = ServerName::try_from(self.server_name.to_owned())
            .map_err(|error| format!("{:?} is no name of a server ({error})", self.server_name))?;
        let stream = TlsConnector::from(tls.clone()).connect(name, stream).await;
        self.exchange(stream.map_err(|error| format!("TLS: {error}"))?).await
    }

    async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Result<Reply, String> {
        let broken = |error: hyper::Error| match std::error::Error::source(&error) {
            Some(cause) => format!("{error} ({cause})"),
            None => error.to_string(),
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let method = if self.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder();
        if let Some(token) = self.bearer {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| "the token cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let request = request
            .method(method)
            .uri(self.path)
            .header(HOST, self.url.authority())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(self.body.unwrap_or_default().to_owned())))
            .map_err(|error| error.to_string())?;
        let exchange = async move {
            let answer = sender.send_request(request).await.map_err(broken)?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(Reply { status, body: String::from_utf8_lossy(&body).into_owned() })
        };
        // The connection ends by itself once nobody can send on it any more.
        let (reply, _) = futures::future::join(exchange, connection).await;
        reply
    }
}
