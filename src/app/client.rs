//! How the API server is reached: through the kubeconfig that is named, or the usual one, or as the in-cluster account.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};

const VARIABLE: &str = "KUBECONFIG";

/// Why it is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClientConfig {
    /// Nothing says it.
    #[error(
        "found neither a kubeconfig nor an in-cluster account; pass --kubeconfig FILE, or --snapshot FILE to serve a \
         cluster from a file"
    )]
    Nothing(#[source] InClusterError),
    /// There is something that should say it. Another cluster than the one that was meant is no answer.
    #[error("cannot use kubeconfig {place}")]
    Unusable {
        /// Which one.
        place: String,
        /// Why not.
        source: KubeconfigError,
    },
}

/// Finds out.
pub(crate) async fn client_config(named: Option<&PathBuf>) -> Result<Config, NoClientConfig> {
    let (place, read) = match named {
        Some(path) => (path.display().to_string(), Kubeconfig::read_from(path)),
        None => match usual() {
            Some(place) => (place, Kubeconfig::read()),
            None => return Config::incluster().map(set).map_err(NoClientConfig::Nothing),
        },
    };
    let unusable = |source| NoClientConfig::Unusable { place: place.clone(), source };
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(read.map_err(unusable)?, &options).await;
    config.map(set).map_err(unusable)
}

fn set(mut config: Config) -> Config {
    // Watches bring their own pauses; a binding repeated behind our back would be told "already bound".
    config.default_retry = false;
    config
}

/// The kubeconfig that is used if none is named, in words; `None` if there is none.
fn usual() -> Option<String> {
    if let Some(paths) = std::env::var_os(VARIABLE)
        && std::env::split_paths(&paths).any(|path| !path.as_os_str().is_empty())
    {
        return Some(format!("{} (${VARIABLE})", Path::new(&paths).display()));
    }
    let path = std::env::home_dir()?.join(".kube").join("config");
    // What cannot be looked at is there, and reading it says why it cannot be used.
    path.try_exists().unwrap_or(true).then(|| path.display().to_string())
}
