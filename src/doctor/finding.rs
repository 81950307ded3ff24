//! What can be wrong with an installation: a closed list of codes, and a finding, which is a code with its circumstances.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It works, and not as well, as safely or as cheaply as it could.
    Warning,
    /// It does not work, or does not keep what is promised.
    Error,
}

/// Makes [`Code`] and the list of all of them.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident,)+) => {
        /// What is wrong. Stable, as an API is: scripts may compare it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum Code {
            $($(#[$doc])* $code,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: [Code; [$(Code::$code),+].len()] = [$(Code::$code),+];

            /// The code as it is printed.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Code::$code => stringify!($code),)+
                }
            }
        }
    };
}

codes! {
    /// The file is no `KubeSchedulerConfiguration` that kube-scheduler would take.
    NotASchedulerConfiguration,
    /// A field that kube-scheduler does not know, for which it refuses to start.
    UnknownField,
    /// No extender points to Berth.
    NoExtender,
    /// Several extenders point to Berth.
    DuplicateExtender,
    /// Several extenders bind.
    SeveralBinders,
    /// A verb has a name that Berth does not know.
    UnknownVerb,
    /// `urlPrefix` is no URL that Berth could be reached by.
    UrlUnusable,
    /// Of `enableHTTPS`, `https://` and Berth's `server.tls` one is there without the others.
    HttpsContradiction,
    /// Any certificate is accepted.
    CertificateNotVerified,
    /// Any certificate is to be accepted, and an authority is named: kube-scheduler does not start.
    InsecureWithAuthority,
    /// A client certificate without its key, or the key alone.
    ClientCertificateIncomplete,
    /// Plain HTTP to another machine.
    PlainHttp,
    /// A name that only cluster DNS knows, where there is no cluster DNS.
    ClusterDnsName,
    /// `prioritizeVerb` without a weight.
    WeightMissing,
    /// Nobody asks for scores.
    PrioritizeVerbMissing,
    /// `nodeCacheCapable` is not set.
    NodeCacheIncapable,
    /// Nobody asks Berth to bind.
    BindVerbMissing,
    /// Nobody asks Berth which nodes may be used.
    FilterVerbMissing,
    /// Nobody asks Berth before pods are evicted.
    PreemptVerbMissing,
    /// Scheduling goes on without Berth although something depends on it.
    Ignorable,
    /// kube-scheduler gives up before Berth does.
    HttpTimeoutShort,
    /// A Berth that hangs holds up everybody for long.
    HttpTimeoutLong,
    /// Berth is asked about some pods only.
    ManagedResources,
    /// Every node is scored for every pod.
    EveryNodeScored,
    /// Groups may not see the nodes of their domain.
    GroupsSeeASample,
    /// kube-scheduler spreads by default, and so does Berth.
    SpreadTwice,
    /// Neither kube-scheduler nor Berth spreads by default.
    SpreadByNobody,
    /// Two profiles have one name.
    DuplicateProfile,
    /// Pods of groups name a scheduler that no profile serves.
    SchedulerNameUnserved,
    /// Berth's configuration is not accepted.
    ConfigurationInvalid,
    /// A file with a certificate, a key or authorities cannot be used.
    CertificateUnusable,
    /// A certificate is not valid yet.
    CertificateNotYetValid,
    /// A certificate has expired.
    CertificateExpired,
    /// A certificate expires soon.
    CertificateExpiresSoon,
    /// A certificate is for another name.
    CertificateForAnotherName,
    /// Certificate and key do not belong together.
    KeyMismatch,
    /// A certificate was not issued by the authority that the other side trusts.
    CertificateOfAnotherAuthority,
    /// Berth demands a client certificate, and kube-scheduler has none to show.
    ClientCertificateMissing,
    /// Nobody answers where kube-scheduler will ask.
    VerbsUnreachable,
    /// The answer is none that kube-scheduler could use.
    VerbsBroken,
    /// Berth answers, and says that it cannot decide now.
    VerbsUndecided,
    /// It is another Berth that answers kube-scheduler than the one that was looked at.
    AnotherBerth,
    /// The admin endpoints cannot be reached.
    AdminUnreachable,
    /// The admin endpoints say how Berth is, and refuse us the rest.
    AdminRefused,
    /// Berth is not ready.
    NotReady,
    /// A kind is not followed.
    KindNotFollowed,
    /// A changed configuration was not taken in.
    ConfigurationNotCurrent,
    /// Nodes are scored for pods, and nobody calls bind.
    NobodyBinds,
    /// Decisions have panicked.
    Panicked,
    /// The Berth that runs is of another version than this program.
    AnotherVersion,
    /// The API server cannot be reached.
    ApiServerUnreachable,
    /// A Kubernetes version that Berth has not been tried with.
    KubernetesUntried,
    /// kube-scheduler and the API server are too far apart.
    SchedulerSkew,
    /// A permission that Berth needs is missing.
    PermissionMissing,
    /// Who asks may not install Berth.
    MayNotInstall,
    /// No node has a label that a topology asks for.
    TopologyLabelUnknown,
    /// Some nodes do not have a label that a topology asks for.
    TopologyLabelMissing,
    /// The cluster could not be looked at.
    ClusterUnreadable,
}

/// Something that is wrong, why that matters, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// What was found, and what follows from it.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// Something that does not work, or does not keep what is promised.
    pub fn error(code: Code, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, reason: reason.into(), remedy: remedy.into() }
    }

    /// Something that could be better.
    pub fn warning(code: Code, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code, severity: Severity::Warning, reason: reason.into(), remedy: remedy.into() }
    }
}
