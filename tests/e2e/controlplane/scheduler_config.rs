//! Adapts a `KubeSchedulerConfiguration` to one test cluster, as text: what the product ships is
//! what gets tested, but for the lines that name a machine.

use std::path::Path;

use anyhow::{Result, bail, ensure};

/// A scheduler with nothing of ours in it.
pub const PLAIN: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
";

/// Points every extender to `extender` (`http://HOST:PORT`, each keeps its path) and the scheduler
/// itself to `kubeconfig`.
pub fn adapt(text: &str, kubeconfig: &Path, extender: Option<&str>) -> Result<String> {
    connect(&redirect(text, extender)?, kubeconfig)
}

fn redirect(text: &str, extender: Option<&str>) -> Result<String> {
    let mut redirected = 0;
    let lines = text.lines().map(|line| {
        let Some((before, value)) = line.split_once("urlPrefix:") else {
            return line.to_owned();
        };
        if before.trim_start().starts_with('#') {
            return line.to_owned();
        }
        redirected += 1;
        let path = path_of(value);
        format!("{before}urlPrefix: {}{path}", extender.unwrap_or_default())
    });
    let result = lines.collect::<Vec<_>>().join("\n") + "\n";
    if let Some(url) = extender {
        ensure!(redirected > 0, "the scheduler configuration has no urlPrefix line to point to {url}");
    } else {
        ensure!(redirected == 0, "the scheduler configuration has an extender, but the test gave no URL");
    }
    Ok(result)
}

/// What follows the host and port in a URL, without quotes and comments around it.
fn path_of(value: &str) -> &str {
    let url = value.split(" #").next().unwrap_or_default();
    let url = url.trim().trim_matches(['"', '\'']);
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.find('/').map_or("", |slash| &host[slash..])
}

/// Sets `clientConnection`. The rates are raised where the file leaves them alone, because the
/// default (50 requests per second) would be all that a test measures.
fn connect(text: &str, kubeconfig: &Path) -> Result<String> {
    const KEY: &str = "clientConnection:";
    let settings = [
        ("kubeconfig", kubeconfig.display().to_string()),
        ("qps", "2000".to_owned()),
        ("burst", "4000".to_owned()),
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = lines.iter().position(|line| line.starts_with(KEY));
    let start = start.unwrap_or_else(|| {
        lines.push(KEY.to_owned());
        lines.len() - 1
    });
    let inline = lines[start][KEY.len()..].trim();
    if !inline.is_empty() && !inline.starts_with('#') {
        bail!("the scheduler configuration writes clientConnection in one line: use a block");
    }
    let block =
        lines[start + 1..].iter().take_while(|line| line.starts_with([' ', '#']) || line.is_empty()).count();
    let indent = lines[start + 1..=start + block]
        .iter()
        .map(|line| line.len() - line.trim_start().len())
        .find(|indent| *indent > 0)
        .unwrap_or(2);
    for (key, value) in settings {
        let wanted = format!("{:indent$}{key}: {value}", "");
        let prefix = format!("{key}:");
        let existing =
            (start + 1..=start + block).find(|index| lines[*index].trim_start().starts_with(&prefix));
        match existing {
            Some(index) if key == "kubeconfig" => lines[index] = wanted,
            Some(_) => {}
            // Behind the old lines' numbers, which the search above relies on.
            None => lines.insert(start + block + 1, wanted),
        }
    }
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(text: &str, extender: Option<&str>) -> Result<String> {
        adapt(text, Path::new("/k"), extender)
    }

    #[test]
    fn extenders_are_redirected_and_keep_their_path() {
        let text = "extenders:\n- urlPrefix: \"http://127.0.0.1:8888/v1\" # ours\n  weight: 1\n";
        let result = adapted(text, Some("http://127.0.0.1:7")).unwrap();
        assert!(result.contains("- urlPrefix: http://127.0.0.1:7/v1\n  weight: 1\n"));
        assert!(result.contains("clientConnection:\n  burst: 4000\n  qps: 2000\n  kubeconfig: /k\n"));
    }

    #[test]
    fn an_existing_connection_block_is_completed() {
        let text = "clientConnection:\n    kubeconfig: /etc/x\n    qps: 7\nprofiles: []\n";
        assert_eq!(
            adapted(text, None).unwrap(),
            "clientConnection:\n    kubeconfig: /k\n    qps: 7\n    burst: 4000\nprofiles: []\n"
        );
    }

    #[test]
    fn an_extender_without_url_and_a_url_without_extender_are_errors() {
        assert!(adapted("- urlPrefix: http://a:1\n", None).is_err());
        assert!(adapted(PLAIN, Some("http://a:1")).is_err());
        assert!(adapted("# urlPrefix: http://a:1\n", Some("http://a:1")).is_err());
    }
}
