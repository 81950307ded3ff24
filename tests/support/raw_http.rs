//! HTTP/1.1 by hand, so that tests see and send the very bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A connection.
pub struct Connection(TcpStream);

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.write_all(bytes.as_ref())
    }

    /// Says that nothing more will be sent.
    pub fn finish_sending(&mut self) -> io::Result<()> {
        self.0.shutdown(std::net::Shutdown::Write)
    }

    /// Reads one answer, whose end is known by its Content-Length and nothing else.
    pub fn receive(&mut self) -> io::Result<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status"))?;
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let length: usize = length.ok_or_else(|| io::Error::other("an answer without Content-Length"))?;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(answer)
    }

    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> io::Result<Answer> {
        self.send(request)?;
        self.receive()
    }

    /// Whether the other side has closed the connection; waits for it to do so.
    pub fn ends(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

/// The head of a POST that announces so many bytes.
pub fn post_head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// A whole POST.
pub fn post(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [post_head(path, body.len()).as_bytes(), body].concat()
}

/// A whole GET.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: berth\r\n\r\n")
}
