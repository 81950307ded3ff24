//! One connection to Berth, kept open from the first call to the last, as kube-scheduler does.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Far beyond what any call takes; a demo that hangs explains nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connection.
pub struct Line {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: String,
}

impl Line {
    /// Connects.
    pub async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let connect = async {
            let stream = TcpStream::connect(address).await?;
            // Small calls, each waiting for its answer: nothing is won by filling packets.
            stream.set_nodelay(true)?;
            anyhow::Ok(handshake(TokioIo::new(stream)).await?)
        };
        let (sender, connection) = within(connect)
            .await
            .with_context(|| format!("cannot connect to the demo's own Berth on {address}"))?;
        let driver = tokio::spawn(async move {
            // The caller learns of a failure through its own call.
            let _ = connection.await;
        });
        Ok(Self { address, sender, driver })
    }

    /// Sends a JSON body to a verb.
    pub async fn post(&mut self, path: &str, body: String) -> anyhow::Result<Answer> {
        self.call(Method::POST, path, body).await
    }

    /// Reads an endpoint.
    pub async fn get(&mut self, path: &str) -> anyhow::Result<String> {
        let Answer { status, body } = self.call(Method::GET, path, String::new()).await?;
        if status != StatusCode::OK {
            bail!("GET {path} was answered {status}: {body}");
        }
        Ok(body)
    }

    /// Hangs up and waits until the connection is gone.
    pub async fn close(self) {
        drop(self.sender);
        let _ = self.driver.await;
    }

    async fn call(&mut self, method: Method, path: &str, body: String) -> anyhow::Result<Answer> {
        let what = format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        let exchange = async {
            self.sender.ready().await?;
            let answer = self.sender.send_request(request).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?.to_bytes();
            anyhow::Ok(Answer { status, body: String::from_utf8(body.into())? })
        };
        within(exchange).await.with_context(|| format!("{what} to the demo's own Berth failed"))
    }
}

async fn within<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, work)
        .await
        .with_context(|| format!("no answer within {} s; is this machine overloaded?", PATIENCE.as_secs()))?
}
