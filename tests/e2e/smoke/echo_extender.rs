//! The simplest extender there is: every node passes.

use std::net::SocketAddr;

use anyhow::Result;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// Answers `filter` with the names it was asked about. Stops when dropped.
pub struct EchoExtender {
    address: SocketAddr,
    acceptor: JoinHandle<()>,
}

impl EchoExtender {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Self { address: listener.local_addr()?, acceptor: tokio::spawn(accept(listener)) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for EchoExtender {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

async fn accept(listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = service_fn(answer);
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    let mut arguments: Value = serde_json::from_slice(&body)?;
    let reply = json!({ "NodeNames": arguments["NodeNames"].take() });
    Ok(Response::new(Full::new(Bytes::from(reply.to_string()))))
}
