//! Versions of Kubernetes: which ones Berth has been tried with, and how far kube-scheduler may be from the API server.

use std::fmt;

use super::finding::{Code, Finding};

/// kube-schedulers that the end-to-end tests have run with. `docs/compatibility.md` has both lists.
const TRIED_SCHEDULERS: [Version; 4] =
    [Version::new(1, 34), Version::new(1, 35), Version::new(1, 36), Version::new(1, 37)];
/// API servers that they have run with: older kube-schedulers were tried with a newer API server only.
const TRIED_API_SERVERS: [Version; 2] = [Version::new(1, 36), Version::new(1, 37)];

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
    match Version::parse(git_version) {
        Some(version) if TRIED_API_SERVERS.contains(&version) => Vec::new(),
        _ => vec![untried("the API server", git_version, &TRIED_API_SERVERS)],
    }
}

/// Whether Berth has been tried with these kube-schedulers.
pub(super) fn schedulers(versions: &[Version]) -> Vec<Finding> {
    let untried_ones = versions.iter().filter(|version| !TRIED_SCHEDULERS.contains(version));
    untried_ones.map(|version| untried("a kube-scheduler", &version.to_string(), &TRIED_SCHEDULERS)).collect()
}

fn untried(who: &str, version: &str, tried: &[Version]) -> Finding {
    let tried: Vec<_> = tried.iter().map(ToString::to_string).collect();
    Finding::warning(
        Code::KubernetesUntried,
        format!("{who} is {version}, and Berth has been tried with {}", tried.join(", ")),
        "see docs/compatibility.md; with another version, try Berth with mode: Observe first",
    )
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
fn each_program_has_versions_of_its_own_that_were_tried() {
    for (version, server_is_tried, scheduler_is_tried) in [
        ("v1.33.9", false, false),
        ("v1.34.10", false, true),
        ("v1.35.8-gke.1", false, true),
        ("v1.36.4", true, true),
        ("v1.37.1", true, true),
        ("v1.38.0", false, false),
    ] {
        assert_eq!(api_server(version).is_empty(), server_is_tried, "{version}");
        let scheduler = Version::parse(version).expect(version);
        assert_eq!(schedulers(&[scheduler]).is_empty(), scheduler_is_tried, "{version}");
    }
}

/// The table in the docs is what was tried.
#[test]
fn the_page_about_compatibility_lists_the_same_versions() {
    let page = include_str!("../../docs/compatibility.md");
    let rows = page.lines().filter(|line| line.starts_with("| 1."));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let version = |text: &str| Version::parse(text).expect("a version");
    let (mut of_schedulers, mut of_servers): (Vec<_>, Vec<_>) =
        cells.map(|cells| (version(cells[1]), version(cells[2]))).unzip();
    of_schedulers.dedup();
    of_servers.dedup();
    assert_eq!((of_schedulers, of_servers), (TRIED_SCHEDULERS.to_vec(), TRIED_API_SERVERS.to_vec()));
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
