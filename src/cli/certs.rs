//! `berth certs`: a self-signed set of certificates to start with.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::output;
use crate::certs::{Pair, Set, Wanted, create};

/// Writes an authority, Berth's certificate and kube-scheduler's, and says how to use them.
#[derive(Debug, Args)]
pub(super) struct Certs {
    /// Folder to write to; made if it does not exist.
    #[arg(long, value_name = "DIR", default_value = "berth-certs")]
    out: PathBuf,
    /// Name or address under which kube-scheduler reaches Berth, besides those of loopback. May be repeated. With
    /// --reuse-ca, those of the server.crt that is there are kept.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Service in front of Berth. May be repeated.
    #[arg(long = "service", value_name = "NAME.NAMESPACE")]
    services: Vec<String>,
    /// Days until Berth's and the client's certificates expire. They never outlive their authority.
    #[arg(long, value_name = "N", default_value_t = 365)]
    days: u32,
    /// Days until the authority expires.
    #[arg(long, value_name = "N", default_value_t = 3650, conflicts_with = "reuse_ca")]
    ca_days: u32,
    /// Sign with the ca.crt and ca.key of the folder, so that nobody has to trust a new authority, and keep the names of
    /// its server.crt.
    #[arg(long)]
    reuse_ca: bool,
    /// Replace files that are there.
    #[arg(long)]
    force: bool,
}

/// The client of an extender.
const CLIENT: &str = "kube-scheduler";

impl Certs {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let wanted = Wanted {
            folder: std::path::absolute(&self.out)
                .with_context(|| format!("no folder {}", self.out.display()))?,
            hosts: self.hosts,
            services: self.services,
            client: CLIENT.to_owned(),
            days: self.days,
            ca_days: self.ca_days,
            reuse_ca: self.reuse_ca,
            force: self.force,
        };
        let set = create(&wanted)?;
        Ok(output::print(explain(&set, &wanted)?)?)
    }
}

fn explain(set: &Set, wanted: &Wanted) -> Result<String, std::fmt::Error> {
    let Set { ca, server, server_names, client, end, is_end_of_authority } = set;
    let mut text = String::new();
    let mut line = |what: &str, Pair { certificate, key }: &Pair| {
        writeln!(text, "{what}:\n  {}\n  {} (keep it secret)", certificate.display(), key.display())
    };
    line(if wanted.reuse_ca { "Signed by the authority that was there" } else { "Wrote an authority" }, ca)?;
    line(&format!("Wrote Berth's certificate, until {end}, for {}", server_names.join(", ")), server)?;
    line(&format!("Wrote the client certificate of {CLIENT}, until {end}"), client)?;
    if *is_end_of_authority {
        let days = wanted.days;
        writeln!(
            text,
            "Not for {days} days: the authority ends on {end}. Make a new one before then, without --reuse-ca."
        )?;
    }
    let path = |path: &Path| yaml_string(&path.display().to_string());
    writeln!(text, "\n# Berth's configuration:\nserver:\n  tls:")?;
    writeln!(text, "    certFile: {}\n    keyFile: {}", path(&server.certificate), path(&server.key))?;
    writeln!(text, "    clientCAFile: {}", path(&ca.certificate))?;
    writeln!(
        text,
        "\n# kube-scheduler's configuration, in Berth's entry of `extenders`, with https:// in urlPrefix:"
    )?;
    writeln!(text, "  enableHTTPS: true\n  tlsConfig:\n    caFile: {}", path(&ca.certificate))?;
    writeln!(text, "    certFile: {}\n    keyFile: {}", path(&client.certificate), path(&client.key))?;
    writeln!(
        text,
        "\n# {} belongs on neither machine. Before {end}, renew with:\n\
         #   berth certs --out {} --reuse-ca --force\n\
         # Names are kept, and both pick up the new files by themselves.",
        ca.key.display(),
        shell_word(&wanted.folder.display().to_string())
    )?;
    Ok(text)
}

/// A string of JSON is one of YAML, whatever is in it.
fn yaml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One word for a shell, whatever is in it.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
