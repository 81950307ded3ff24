//! Free loopback ports.

use std::net::TcpListener;

use anyhow::{Context, Result};

use crate::progress::report;

const ATTEMPTS: usize = 4;
/// How Go programs report a port that somebody else took.
const TAKEN: &str = "address already in use";

/// Starts something on free ports. Between our finding a port and the program's listening on it,
/// anybody may take it: then it is started again on others.
pub async fn on_free_ports<T, const N: usize>(start: impl AsyncFn([u16; N]) -> Result<T>) -> Result<T> {
    let mut attempt = 1;
    loop {
        match start(free_ports()?).await {
            Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains(TAKEN) => {
                report("a port was taken by somebody else, trying others");
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Different from each other, because all are held until the last one is found.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free loopback port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
