//! Which Berth this is.

/// Its version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from, or `unknown`.
pub const COMMIT: &str = match option_env!("BERTH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// The compiler that it was built with, or `unknown`.
pub const RUST: &str = match option_env!("BERTH_RUST") {
    Some(version) => version,
    None => "unknown",
};

/// The version of Kubernetes that it is built for. Others nearby work, too.
pub const KUBERNETES: &str = "1.36";
