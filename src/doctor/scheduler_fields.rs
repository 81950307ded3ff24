//! The fields of kube-scheduler's configuration. It is decoded strictly: kube-scheduler refuses to start for any other.
//!
//! From `config/v1/types.go` of k8s.io/kube-scheduler 0.37 and `config/v1alpha1/types.go` of k8s.io/component-base. Older
//! versions lack some extension points of plugins, and nothing else.

use serde_json::{Map, Value};

use super::finding::{Code, Finding};

const TOP_LEVEL: [&str; 13] = [
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
];
const LEADER_ELECTION: [&str; 7] = [
    "leaderElect",
    "leaseDuration",
    "renewDeadline",
    "retryPeriod",
    "resourceLock",
    "resourceName",
    "resourceNamespace",
];
const CLIENT_CONNECTION: [&str; 5] = ["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"];
const PROFILE: [&str; 4] = ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
const PLUGINS: [&str; 16] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
];
const PLUGIN_SET: [&str; 2] = ["enabled", "disabled"];
const PLUGIN: [&str; 2] = ["name", "weight"];
const PLUGIN_CONFIG: [&str; 2] = ["name", "args"];
const EXTENDER: [&str; 12] = [
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
];
const MANAGED_RESOURCE: [&str; 2] = ["name", "ignoredByScheduler"];
const TLS: [&str; 8] =
    ["insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"];

/// The fields of the file that kube-scheduler does not know. What an object in `args` may hold is for its plugin to say.
pub(super) fn unknown(file: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut look = |path: &str, value: &Value, known: &[&str]| {
        let fields = value.as_object().into_iter().flat_map(Map::keys);
        for field in fields.filter(|field| !known.contains(&field.as_str())) {
            let near = known.iter().find(|known| known.eq_ignore_ascii_case(field));
            let remedy = match near {
                Some(near) => format!("write {near}"),
                None => format!("remove it, or write one of {}", known.join(", ")),
            };
            let reason = format!("{path}{field} is no field that kube-scheduler knows; it refuses to start");
            findings.push(Finding::error(Code::UnknownField, reason, remedy));
        }
    };
    look("", file, &TOP_LEVEL);
    look("leaderElection.", &file["leaderElection"], &LEADER_ELECTION);
    look("clientConnection.", &file["clientConnection"], &CLIENT_CONNECTION);
    for (path, profile) in items("profiles", &file["profiles"]) {
        look(&format!("{path}."), profile, &PROFILE);
        look(&format!("{path}.plugins."), &profile["plugins"], &PLUGINS);
        for (point, set) in profile["plugins"].as_object().into_iter().flatten() {
            let set_path = format!("{path}.plugins.{point}");
            look(&format!("{set_path}."), set, &PLUGIN_SET);
            for list in PLUGIN_SET {
                for (path, plugin) in items(&format!("{set_path}.{list}"), &set[list]) {
                    look(&format!("{path}."), plugin, &PLUGIN);
                }
            }
        }
        for (path, plugin) in items(&format!("{path}.pluginConfig"), &profile["pluginConfig"]) {
            look(&format!("{path}."), plugin, &PLUGIN_CONFIG);
        }
    }
    for (path, extender) in items("extenders", &file["extenders"]) {
        look(&format!("{path}."), extender, &EXTENDER);
        look(&format!("{path}.tlsConfig."), &extender["tlsConfig"], &TLS);
        for (path, resource) in items(&format!("{path}.managedResources"), &extender["managedResources"]) {
            look(&format!("{path}."), resource, &MANAGED_RESOURCE);
        }
    }
    findings
}

/// The items of a list, each with its path.
fn items<'a>(path: &str, list: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
    let items = list.as_array().into_iter().flatten().enumerate();
    items.map(move |(at, item)| (format!("{path}[{at}]"), item))
}

#[cfg(test)]
mod tests {
    use super::unknown;

    /// Every field that there is in kube-scheduler 1.37.
    const FULL: &str = r#"{
        "apiVersion": "a", "kind": "b", "parallelism": 1, "enableProfiling": true, "enableContentionProfiling": true,
        "percentageOfNodesToScore": 1, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1,
        "delayCacheUntilActive": true,
        "leaderElection": {"leaderElect": true, "leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s",
            "resourceLock": "leases", "resourceName": "a", "resourceNamespace": "b"},
        "clientConnection": {"kubeconfig": "a", "acceptContentTypes": "", "contentType": "", "qps": 50, "burst": 100},
        "profiles": [{"schedulerName": "a", "percentageOfNodesToScore": 1,
            "plugins": {"preEnqueue": {}, "queueSort": {}, "preFilter": {}, "filter": {}, "postFilter": {}, "preScore": {},
                "score": {"enabled": [{"name": "A", "weight": 1}], "disabled": [{"name": "*"}]}, "reserve": {},
                "permit": {}, "preBind": {}, "bind": {}, "postBind": {}, "multiPoint": {}, "placementGenerate": {},
                "placementScore": {}, "podGroupPostFilter": {}},
            "pluginConfig": [{"name": "A", "args": {"anything": 1}}]}],
        "extenders": [{"urlPrefix": "a", "filterVerb": "", "preemptVerb": "", "prioritizeVerb": "", "weight": 1,
            "bindVerb": "", "enableHTTPS": true, "httpTimeout": "1s", "nodeCacheCapable": true, "ignorable": true,
            "managedResources": [{"name": "a/b", "ignoredByScheduler": true}],
            "tlsConfig": {"insecure": true, "serverName": "", "certFile": "", "keyFile": "", "caFile": "", "certData": "",
                "keyData": "", "caData": ""}}]}"#;

    fn reasons(text: &str) -> Vec<String> {
        let findings = unknown(&serde_json::from_str(text).expect("JSON"));
        findings
            .iter()
            .map(|finding| finding.reason.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn every_field_of_kube_scheduler_is_known() {
        assert_eq!(reasons(FULL), Vec::<String>::new());
    }

    #[test]
    fn every_other_field_is_found_by_its_path() {
        for (from, to, path) in [
            ("\"parallelism\"", "\"parallel\"", "parallel"),
            ("\"leaderElect\"", "\"elect\"", "leaderElection.elect"),
            ("\"burst\"", "\"Burst\"", "clientConnection.Burst"),
            ("\"plugins\"", "\"plugin\"", "profiles[0].plugin"),
            ("\"score\"", "\"scores\"", "profiles[0].plugins.scores"),
            ("\"enabled\"", "\"enable\"", "profiles[0].plugins.score.enable"),
            ("\"weight\": 1}]", "\"weigh\": 1}]", "profiles[0].plugins.score.enabled[0].weigh"),
            ("\"args\"", "\"arguments\"", "profiles[0].pluginConfig[0].arguments"),
            ("\"filterVerb\"", "\"filterverb\"", "extenders[0].filterverb"),
            ("\"caFile\"", "\"ca\"", "extenders[0].tlsConfig.ca"),
            ("\"ignoredByScheduler\"", "\"ignored\"", "extenders[0].managedResources[0].ignored"),
        ] {
            assert!(FULL.contains(from), "{from}");
            assert_eq!(reasons(&FULL.replacen(from, to, 1)), [path], "{from}");
        }
    }
}
