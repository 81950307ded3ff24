//! GET and POST over plain HTTP/1.1, for loopback servers that answer with a bounded body.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(10);

/// Status and body. One connection per question: the end of the body is the end of the stream.
pub async fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    ask(address, &format!("GET {path}"), "").await
}

/// Status and body of the answer to JSON.
pub async fn post(address: SocketAddr, path: &str, json: &str) -> Result<(u16, String)> {
    ask(address, &format!("POST {path}"), json).await
}

async fn ask(address: SocketAddr, question: &str, body: &str) -> Result<(u16, String)> {
    timeout(LIMIT, exchange(address, question, body))
        .await
        .with_context(|| format!("{question} at {address}: no answer within {LIMIT:?}"))?
        .with_context(|| format!("{question} at {address}"))
}

async fn exchange(address: SocketAddr, question: &str, body: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let length = body.len();
    let request = format!(
        "{question} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(answer: &str) -> Result<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer has no end of headers")?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding:");
    ensure!(!chunked, "the answer is chunked, which this client does not read");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.with_context(|| format!("no status in {head:?}"))?;
    Ok((status, body.to_owned()))
}
