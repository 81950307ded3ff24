//! Liveness probes of a pod that is installed, as its manifest has them.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::time::timeout;

use crate::controlplane::HttpsProbe;
use crate::http_get;

/// Kubernetes' own, where the manifest says nothing.
const DEFAULTS: [(&str, u64); 3] = [("periodSeconds", 10), ("timeoutSeconds", 1), ("failureThreshold", 3)];

/// The probe of one container; clones are the same one.
#[derive(Clone)]
pub struct Liveness(Rc<Probe>);

struct Probe {
    container: String,
    path: String,
    port: Port,
    period: Duration,
    patience: Duration,
    threshold: u64,
    failures: Cell<u64>,
    last: Cell<Instant>,
}

enum Port {
    /// Berth's admin port, which is plain on loopback whatever it is on the pod's address.
    Admin(SocketAddr),
    /// kube-scheduler's own.
    Scheduler(HttpsProbe),
}

impl Liveness {
    pub fn of(container: &Value, admin: SocketAddr, secure: u16) -> Result<Self> {
        let probe = &container["livenessProbe"];
        let get = &probe["httpGet"];
        let port = match (get["port"].as_str(), get["port"].as_u64()) {
            (Some("admin"), _) | (_, Some(8889)) => Port::Admin(admin),
            (Some("scheduler"), _) => Port::Scheduler(HttpsProbe::new(secure, None)?),
            _ => bail!("a probe of another port: {get}"),
        };
        let [period, patience, threshold] =
            DEFAULTS.map(|(field, default)| probe[field].as_u64().unwrap_or(default));
        Ok(Self(Rc::new(Probe {
            container: container["name"].as_str().context("a container without a name")?.to_owned(),
            path: get["path"].as_str().context("a probe without a path")?.to_owned(),
            port,
            period: Duration::from_secs(period),
            patience: Duration::from_secs(patience),
            threshold,
            failures: Cell::new(0),
            last: Cell::new(Instant::now()),
        })))
    }

    /// Asks, if it is time to. Fails when the kubelet would start the container anew.
    pub async fn ask(&self) -> Result<()> {
        self.0.ask().await
    }
}

impl Probe {
    async fn ask(&self) -> Result<()> {
        if self.last.get().elapsed() < self.period {
            return Ok(());
        }
        self.last.set(Instant::now());
        let answer = async {
            match &self.port {
                Port::Admin(address) => {
                    let (status, body) = http_get::get(*address, &self.path).await?;
                    ensure!(status == 200, "{status}: {body}");
                }
                Port::Scheduler(probe) => drop(probe.get(&self.path).await?),
            }
            anyhow::Ok(())
        };
        let Err(failure) = timeout(self.patience, answer).await.context("no answer in time").flatten() else {
            self.failures.set(0);
            return Ok(());
        };
        self.failures.set(self.failures.get() + 1);
        let (container, path) = (&self.container, &self.path);
        ensure!(
            self.failures.get() < self.threshold,
            "the kubelet would start {container} anew, for {path} fails: {failure:#}"
        );
        Ok(())
    }
}
