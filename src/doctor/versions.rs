//! Versions of Kubernetes: which ones Berth has been tried with, and how far kube-scheduler may be from the API server.

use std::fmt;

use super::finding::{Code, Finding};

/// Versions that the end-to-end tests have run with.
const TRIED: [Version; 4] =
    [Version::new(1, 34), Version::new(1, 35), Version::new(1, 36), Version::new(1, 37)];

/// A version of Kubernetes, without its patch level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads `v1.36.4`, `1.36`, `v1.36.4-gke.100`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim_start_matches('v').split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some(Self { major, minor: minor[..digits].parse().ok()? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether Berth has been tried with the API server's version.
pub(super) fn api_server(git_version: &str) -> Vec<Finding> {
    let [oldest, .., newest] = TRIED;
    match Version::parse(git_version) {
        Some(version) if (oldest..=newest).contains(&version) => Vec::new(),
        _ => vec![Finding::warning(
            Code::KubernetesUntried,
            format!("the API server is {git_version}, and Berth has been tried with {oldest} to {newest}"),
            "see docs/compatibility.md; with another version, try Berth with mode: Observe first",
        )],
    }
}

/// kube-scheduler must not be newer than the API server, and one minor version older at most.
pub(super) fn skew(git_version: &str, schedulers: &[Version]) -> Vec<Finding> {
    let Some(server) = Version::parse(git_version) else { return Vec::new() };
    let judge = |scheduler: &Version| {
        let is_newer = *scheduler > server;
        let is_old = scheduler.major == server.major && scheduler.minor + 1 < server.minor;
        (is_newer || is_old).then(|| {
            Finding::error(
                Code::SchedulerSkew,
                format!(
                    "kube-scheduler is {scheduler} and the API server {server}: Kubernetes supports a kube-scheduler that is \
                     one minor version older at most, and none that is newer"
                ),
                format!("run kube-scheduler {server}"),
            )
        })
    };
    schedulers.iter().filter_map(judge).collect()
}

#[test]
fn versions_are_read_from_what_servers_and_tags_say() {
    for (text, expected) in [
        ("v1.36.4", Some((1, 36))),
        ("1.36", Some((1, 36))),
        ("v1.35.1-eks-abc", Some((1, 35))),
        ("1.34+", Some((1, 34))),
        ("latest", None),
        ("v1", None),
    ] {
        assert_eq!(Version::parse(text), expected.map(|(major, minor)| Version { major, minor }), "{text}");
    }
}
