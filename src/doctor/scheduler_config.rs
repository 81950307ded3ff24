//! kube-scheduler's configuration file, as much of it as concerns an extender.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::finding::{Code, Finding};
use super::{go_duration, scheduler_fields};

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";
const RETIRED: [&str; 3] = ["v1beta1", "v1beta2", "v1beta3"];

/// How long kube-scheduler waits for an extender unless it is told otherwise.
pub(super) const DEFAULT_HTTP_TIMEOUT: Duration = Duration::from_secs(5);

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SchedulerConfig {
    api_version: String,
    kind: String,
    #[serde(deserialize_with = "or_default")]
    leader_election: LeaderElection,
    pub(super) percentage_of_nodes_to_score: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) profiles: Vec<Profile>,
    #[serde(deserialize_with = "or_default")]
    pub(super) extenders: Vec<Extender>,
    /// What is wrong with fields that kube-scheduler does not know. The others can be looked at all the same.
    #[serde(skip)]
    pub(super) unknown_fields: Vec<Finding>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaderElection {
    resource_name: Option<String>,
}

/// One profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Profile {
    scheduler_name: Option<String>,
    pub(super) percentage_of_nodes_to_score: Option<i64>,
    plugins: Value,
    #[serde(deserialize_with = "or_default")]
    plugin_config: Vec<PluginConfig>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PluginConfig {
    name: String,
    args: Value,
}

/// One extender.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Extender {
    pub(super) url_prefix: String,
    pub(super) filter_verb: String,
    pub(super) preempt_verb: String,
    pub(super) prioritize_verb: String,
    pub(super) bind_verb: String,
    pub(super) weight: i64,
    #[serde(rename = "enableHTTPS")]
    pub(super) enable_https: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) tls_config: TlsConfig,
    http_timeout: Option<Value>,
    pub(super) node_cache_capable: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) managed_resources: Vec<ManagedResource>,
    pub(super) ignorable: bool,
}

/// How kube-scheduler encrypts its calls.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TlsConfig {
    pub(super) insecure: bool,
    pub(super) server_name: String,
    pub(super) cert_file: String,
    pub(super) key_file: String,
    pub(super) ca_file: String,
    pub(super) cert_data: String,
    pub(super) key_data: String,
    pub(super) ca_data: String,
}

/// A resource for the sake of which the extender is asked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ManagedResource {
    pub(super) name: String,
}

/// `null` is as good as nothing, in Go.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads the file. If it is no configuration of kube-scheduler, that is said.
pub(super) fn parse(text: &str) -> Result<SchedulerConfig, Finding> {
    let refused = |reason: String| {
        let remedy = format!(
            "write apiVersion: {API_VERSION} and kind: {KIND}; the shipped \
                              deploy/kube-scheduler-config.yaml is a good start"
        );
        Finding::error(Code::NotASchedulerConfiguration, reason, remedy)
    };
    let value: Value = serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        refused(format!("the file is not valid YAML: {}", error.lines().next().unwrap_or_default()))
    })?;
    let mut config: SchedulerConfig = serde_path_to_error::deserialize(&value)
        .map_err(|error| refused(format!("field {}: {}", error.path(), error.inner())))?;
    if config.kind != KIND {
        return Err(refused(format!("its kind is {:?}, and kube-scheduler takes {KIND} only", config.kind)));
    }
    if config.api_version != API_VERSION {
        let version = config.api_version.rsplit('/').next().unwrap_or_default();
        let retired = if RETIRED.contains(&version) { ", which kube-scheduler has retired" } else { "" };
        return Err(refused(format!("its apiVersion is {:?}{retired}", config.api_version)));
    }
    config.unknown_fields = scheduler_fields::unknown(&value);
    Ok(config)
}

impl SchedulerConfig {
    /// The name of the lease, if it is named.
    pub(super) fn lease(&self) -> Option<&str> {
        self.leader_election.resource_name.as_deref().filter(|name| !name.is_empty())
    }

    /// The profiles, or the one that there is without any.
    pub(super) fn effective_profiles(&self) -> Vec<Profile> {
        if self.profiles.is_empty() { vec![Profile::default()] } else { self.profiles.clone() }
    }

    /// The extenders that point to Berth, with their positions: those that say so by name or by port; if nobody does, a
    /// single one whose verbs are all called as Berth's are.
    pub(super) fn extenders_for_berth(&self) -> Vec<(usize, &Extender)> {
        let all = || self.extenders.iter().enumerate();
        let named: Vec<_> = all().filter(|(_, extender)| extender.names_berth()).collect();
        match self.extenders.as_slice() {
            [only] if named.is_empty() && only.has_verbs_of_berth() => vec![(0, only)],
            _ => named,
        }
    }
}

impl Profile {
    /// The name that pods ask for.
    pub(super) fn name(&self) -> &str {
        self.scheduler_name.as_deref().unwrap_or("default-scheduler")
    }

    /// Whether kube-scheduler spreads pods that bring no constraints of their own.
    pub(super) fn spreads_by_default(&self) -> bool {
        const PLUGIN: &str = "PodTopologySpread";
        let is_off = |point: &Value| {
            let disabled = point["disabled"].as_array().into_iter().flatten();
            let enabled = point["enabled"].as_array().into_iter().flatten();
            let names = |plugin: &Value| plugin["name"] == PLUGIN;
            disabled.clone().any(|plugin| names(plugin) || plugin["name"] == "*")
                && !enabled.clone().any(names)
        };
        if is_off(&self.plugins["multiPoint"]) || is_off(&self.plugins["score"]) {
            return false;
        }
        let args = self.plugin_config.iter().find(|config| config.name == PLUGIN).map(|config| &config.args);
        let lists = args.filter(|args| args["defaultingType"] == "List");
        lists.is_none_or(|args| args["defaultConstraints"].as_array().is_some_and(|list| !list.is_empty()))
    }
}

impl Extender {
    fn names_berth(&self) -> bool {
        let authority = self.url_prefix.split_once("://").map_or(&*self.url_prefix, |(_, rest)| rest);
        authority.contains("berth") || authority.trim_end_matches('/').ends_with(":8888")
    }

    fn has_verbs_of_berth(&self) -> bool {
        let own = [
            (&self.filter_verb, "filter"),
            (&self.prioritize_verb, "prioritize"),
            (&self.preempt_verb, "preempt"),
            (&self.bind_verb, "bind"),
        ];
        // Other extenders have a `filter`, too; hardly any of them is asked about evictions, or binds.
        let is_told = !self.preempt_verb.is_empty() || !self.bind_verb.is_empty();
        is_told && own.iter().all(|(verb, name)| verb.is_empty() || verb.trim_matches('/') == *name)
    }

    /// How long kube-scheduler waits for an answer; the text if it is no duration.
    pub(super) fn http_timeout(&self) -> Result<Duration, String> {
        match &self.http_timeout {
            None | Some(Value::Null) => Ok(DEFAULT_HTTP_TIMEOUT),
            Some(Value::String(text)) => match go_duration::parse(text) {
                Some(Duration::ZERO) => Ok(DEFAULT_HTTP_TIMEOUT),
                Some(timeout) => Ok(timeout),
                None => Err(text.clone()),
            },
            Some(other) => Err(other.to_string()),
        }
    }

    /// Whether it is known whose certificates are good.
    pub(super) fn has_authority(&self) -> bool {
        !self.tls_config.ca_file.is_empty() || !self.tls_config.ca_data.is_empty()
    }

    /// Whether there is a certificate for kube-scheduler to show, and a key that should be its own.
    pub(super) fn names_client_certificate(&self) -> bool {
        !self.tls_config.cert_file.is_empty() || !self.tls_config.cert_data.is_empty()
    }

    pub(super) fn names_client_key(&self) -> bool {
        !self.tls_config.key_file.is_empty() || !self.tls_config.key_data.is_empty()
    }

    /// Whether any certificate is good: that is what `enableHTTPS` means where no authority is named.
    pub(super) fn accepts_any_certificate(&self) -> bool {
        self.tls_config.insecure || (self.enable_https && !self.has_authority())
    }
}

#[test]
fn a_single_extender_is_berth_if_all_its_verbs_are() {
    for (verbs, is_ours) in [
        ("filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, bindVerb: bind", true),
        ("filterVerb: filter, bindVerb: bind", true),
        ("filterVerb: /filter, preemptVerb: preempt", true),
        ("filterVerb: filter", false),
        ("filterVerb: filter, prioritizeVerb: prioritize", false),
        ("filterVerb: filter, bindVerb: gpushare/bind", false),
        ("filterVerb: predicates, preemptVerb: preempt", false),
    ] {
        let text = format!(
            "apiVersion: {API_VERSION}\nkind: {KIND}\nextenders: [{{urlPrefix: 'http://10.0.0.7:9999', {verbs}}}]\n"
        );
        let config = parse(&text).expect(verbs);
        assert_eq!(!config.extenders_for_berth().is_empty(), is_ours, "{verbs}");
    }
}
