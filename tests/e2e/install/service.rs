//! A Service with session affinity, as kube-proxy makes it: connections go to one of the endpoints, and stay with it while it is
//! there.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Gone when it is dropped.
pub struct Service {
    address: SocketAddr,
    endpoints: Arc<Mutex<Vec<SocketAddr>>>,
    task: JoinHandle<()>,
}

impl Service {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let endpoints: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
        let known = endpoints.clone();
        let task = tokio::spawn(async move {
            let mut chosen = None;
            while let Ok((mut client, _)) = listener.accept().await {
                {
                    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    chosen = chosen.filter(|chosen| known.contains(chosen)).or(known.first().copied());
                }
                // Whoever is not forwarded finds the connection closed.
                let Some(endpoint) = chosen else { continue };
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(endpoint).await {
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Ok(Self { address, endpoints, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says where connections may go from now on.
    pub fn publish(&self, endpoints: Vec<SocketAddr>) {
        *self.endpoints.lock().unwrap_or_else(PoisonError::into_inner) = endpoints;
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}
