//! Why a kind is not followed, in words that say what to do, and said no oftener than it helps.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::api::ApiError;
use crate::logging::with_causes;
use crate::model::Kind;

/// The same is not said again for so long.
const REPEAT: Duration = Duration::from_mins(5);
/// An outage that comes back sooner than this is the same one.
const SAME_OUTAGE: Duration = Duration::from_secs(10);
/// So many different things are remembered as said; causes are few, but nobody promises that.
const REMEMBERED: usize = 64;

/// Sorts of problems, as metrics name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The account may not list or watch the kind.
    Forbidden,
    /// The API server gives no answer.
    Unreachable,
    /// The API server answers with anything else that is no list or watch.
    Failing,
}

impl Problem {
    /// All of them.
    pub const ALL: [Problem; 3] = [Problem::Forbidden, Problem::Unreachable, Problem::Failing];

    /// The label in metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Problem::Forbidden => "forbidden",
            Problem::Unreachable => "unreachable",
            Problem::Failing => "failing",
        }
    }
}

/// What was tried when it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Asking where an optional kind is served.
    #[default]
    Locate,
    /// Listing it.
    List,
    /// Opening a watch.
    Watch,
    /// Reading what an open watch tells.
    Read,
}

/// Why one kind is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchProblem {
    /// Its sort.
    pub problem: Problem,
    /// What is wrong, and what helps.
    pub text: String,
}

impl WatchProblem {
    /// The problem behind a failure.
    pub(super) fn of(kind: Kind, attempt: Attempt, error: &ApiError, api_server: &str) -> Self {
        let cause = cause(error);
        let (problem, text) = match (error.code(), attempt) {
            (Some(403), _) => (Problem::Forbidden, format!("{}; {cause}", remedy(kind, attempt))),
            (Some(401), _) => (
                Problem::Failing,
                format!(
                    "the API server at {api_server} does not accept Berth's credentials; renew the token or the client \
                     certificate of its account; {cause}"
                ),
            ),
            (Some(_), _) => (Problem::Failing, format!("the API server at {api_server} answers: {cause}")),
            (None, Attempt::Read) => (Problem::Failing, format!("a watch at {api_server} was cut: {cause}")),
            (None, _) if matches!(error, ApiError::Kube(kube::Error::SerdeError(_))) => {
                (Problem::Failing, format!("what answers at {api_server} is no API server: {cause}"))
            }
            (None, _) => {
                (Problem::Unreachable, format!("the API server at {api_server} cannot be reached: {cause}"))
            }
        };
        Self { problem, text }
    }
}

/// The rule that is missing, and how to do without it where that is possible.
fn remedy(kind: Kind, attempt: Attempt) -> String {
    let (group, plural) = (kind.group(), kind.plural());
    if attempt == Attempt::Locate {
        return format!(
            "Berth's account may not ask where {plural} are served; bind the ClusterRole system:discovery to it, which \
             lets it get /apis/{group}"
        );
    }
    let verb = if attempt == Attempt::List { "list" } else { "watch" };
    let without = match kind {
        Kind::Group(group) => {
            format!(", or leave {} out of replicaGroups.sources", group.source().name())
        }
        kind if kind.is_for_members() => {
            ", or do without groups: empty replicaGroups.sources and replicaGroups.rules".to_owned()
        }
        _ => String::new(),
    };
    format!(
        "Berth's account may not {verb} {plural}; add {{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: \
         [\"list\", \"watch\"]}} to its ClusterRole{without}"
    )
}

/// What the API server says, or why it says nothing.
fn cause(error: &ApiError) -> String {
    match error {
        ApiError::Kube(kube::Error::Api(status)) if !status.message.is_empty() => {
            format!("{} ({})", status.message, status.code)
        }
        ApiError::Kube(kube::Error::Api(status)) => format!("status {}", status.code),
        ApiError::Kube(kube::Error::Service(error)) => with_causes(&**error),
        error => with_causes(error),
    }
}

/// Says what is wrong: once for all kinds if the API server cannot be reached, else once for each kind, and again when
/// it changes or after some minutes.
#[derive(Debug)]
pub struct ProblemLog {
    api_server: String,
    said: Mutex<Vec<Said>>,
}

#[derive(Debug)]
struct Said {
    /// `None` if it concerns all kinds.
    kind: Option<Kind>,
    problem: Arc<WatchProblem>,
    at: Instant,
}

impl ProblemLog {
    /// Nothing said so far about the API server at this URL.
    pub fn new(api_server: String) -> Self {
        Self { api_server, said: Mutex::default() }
    }

    /// Works out what is wrong, and says it if it is news.
    pub(super) fn tell(&self, kind: Kind, attempt: Attempt, error: &ApiError) -> Arc<WatchProblem> {
        let problem = Arc::new(WatchProblem::of(kind, attempt, error, &self.api_server));
        if self.is_news(kind, &problem, Instant::now()) {
            let (sort, reason) = (problem.problem.label(), &problem.text);
            match problem.problem {
                Problem::Unreachable => tracing::error!(problem = sort, reason, "nothing can be watched"),
                Problem::Forbidden => {
                    tracing::error!(kind = kind.label(), problem = sort, reason, "kind cannot be watched");
                }
                Problem::Failing => {
                    tracing::warn!(kind = kind.label(), problem = sort, reason, "kind cannot be watched");
                }
            }
        }
        problem
    }

    /// A kind is followed again.
    pub(super) fn is_well(&self, kind: Kind) {
        if self.forget(kind, Instant::now()) {
            tracing::info!(api_server = self.api_server, "the API server answers again");
        }
    }

    fn is_news(&self, kind: Kind, problem: &Arc<WatchProblem>, now: Instant) -> bool {
        let kind = (problem.problem != Problem::Unreachable).then_some(kind);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|said| now.duration_since(said.at) < REPEAT);
        if said.iter().any(|said| said.kind == kind && said.problem == *problem) {
            return false;
        }
        if said.len() == REMEMBERED {
            said.remove(0);
        }
        said.push(Said { kind, problem: problem.clone(), at: now });
        true
    }

    /// Forgets what is over, and tells whether an outage was.
    fn forget(&self, kind: Kind, now: Instant) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |said: &Said| {
            now.duration_since(said.at) >= SAME_OUTAGE && said.kind.is_none_or(|said| said == kind)
        };
        let outage = said.iter().any(|said| said.kind.is_none() && is_over(said));
        said.retain(|said| !is_over(said));
        outage
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Attempt, Kind, Problem, ProblemLog, REPEAT, WatchProblem};
    use crate::cluster::api::ApiError;
    use crate::model::group::Source;

    fn status(code: u16) -> ApiError {
        let status = kube::core::Status::failure("as told", "Test").with_code(code);
        ApiError::Kube(kube::Error::Api(Box::new(status)))
    }

    fn problem(kind: Kind, attempt: Attempt, error: &ApiError) -> WatchProblem {
        WatchProblem::of(kind, attempt, error, "https://api:6443")
    }

    #[test]
    fn what_is_forbidden_comes_with_the_rule_that_is_missing() {
        let pods = problem(Kind::Pod, Attempt::List, &status(403));
        assert_eq!(pods.problem, Problem::Forbidden);
        for part in
            ["may not list pods", r#"{apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"]}"#]
        {
            assert!(pods.text.contains(part), "{}", pods.text);
        }
        assert!(!pods.text.contains("replicaGroups"), "there is no way without pods");
        let sets = Source::LeaderWorkerSet.kind().expect("LeaderWorkerSet objects");
        let sets = problem(sets, Attempt::Watch, &status(403)).text;
        assert!(
            sets.contains("may not watch leaderworkersets") && sets.contains("leave LeaderWorkerSet out of")
        );
        let quotas = problem(Kind::ResourceQuota, Attempt::List, &status(403)).text;
        assert!(quotas.contains("empty replicaGroups.sources"), "{quotas}");
        let grove = Source::Grove.kind().expect("PodGang objects");
        assert!(problem(grove, Attempt::Locate, &status(403)).text.contains("system:discovery"));
    }

    #[test]
    fn other_failures_are_told_apart() {
        for (attempt, error, expected) in [
            (Attempt::List, status(401), Problem::Failing),
            (Attempt::List, status(500), Problem::Failing),
            (Attempt::Watch, ApiError::TimedOut, Problem::Unreachable),
            (Attempt::Read, ApiError::TimedOut, Problem::Failing),
        ] {
            let problem = problem(Kind::Node, attempt, &error);
            assert_eq!(problem.problem, expected, "{attempt:?} {error:?}");
            assert!(problem.text.contains("https://api:6443"), "{}", problem.text);
        }
    }

    #[test]
    fn an_outage_is_said_once_for_all_kinds_until_it_changes_or_has_lasted_for_minutes() {
        let log = ProblemLog::new("https://api:6443".to_owned());
        let now = Instant::now();
        let refused = std::sync::Arc::new(problem(Kind::Pod, Attempt::List, &ApiError::TimedOut));
        let other = WatchProblem { text: "another cause".to_owned(), ..WatchProblem::clone(&refused) };
        let other = std::sync::Arc::new(other);
        assert!(log.is_news(Kind::Pod, &refused, now));
        assert!(!log.is_news(Kind::Node, &refused, now), "it is the same for another kind");
        assert!(log.is_news(Kind::Node, &other, now), "it changed");
        assert!(!log.is_news(Kind::Pod, &refused, now + REPEAT / 2), "even if it changes back");
        assert!(log.is_news(Kind::Pod, &refused, now + REPEAT));

        let later = now + REPEAT + Duration::from_mins(1);
        assert!(log.forget(Kind::Pod, later), "it is over");
        assert!(!log.forget(Kind::Node, later), "which is said once");
        assert!(log.is_news(Kind::Pod, &refused, later), "the next one is another");

        let forbidden = std::sync::Arc::new(problem(Kind::Pod, Attempt::List, &status(403)));
        assert!(log.is_news(Kind::Pod, &forbidden, later) && log.is_news(Kind::Node, &forbidden, later));
        assert!(!log.is_news(Kind::Pod, &forbidden, later));
    }
}
