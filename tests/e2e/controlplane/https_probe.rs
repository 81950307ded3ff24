//! GET over HTTPS from a component that made its own certificate.

use anyhow::{Context, Result};
use http_body_util::BodyExt;
use hyper::Request;
use kube::{Client, Config};

/// Asks one component on its loopback port.
#[derive(Clone)]
pub struct HttpsProbe {
    client: Client,
}

impl HttpsProbe {
    /// With a bearer token where even the health checks want one.
    pub fn new(port: u16, token: Option<&str>) -> Result<Self> {
        let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
        config.accept_invalid_certs = true;
        config.auth_info.token = token.map(|token| token.to_owned().into());
        Ok(Self { client: Client::try_from(config).context("HTTPS client")? })
    }

    /// The body of a successful answer.
    pub async fn get(&self, path: &str) -> Result<String> {
        let request = Request::get(path).body(Vec::new())?;
        Ok(self.client.request_text(request).await?)
    }

    /// Status and body of any answer.
    pub async fn ask(&self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        let request = Request::builder().method(method).uri(path).body(body.as_bytes().to_vec().into())?;
        let answer = self.client.send(request).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}
