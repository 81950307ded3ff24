//! Reading the file, strictly.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::lenient;
use super::schema::{API_VERSION, Config, KIND};
use super::validate::{Findings, Wrong, validate};

/// Why a configuration was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be opened.
    #[error("cannot read configuration {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no YAML.
    #[error("configuration is not valid YAML: {0}")]
    Syntax(String),
    /// Fields are unknown or have wrong values.
    #[error("{}", in_one_line(.0))]
    Fields(Vec<Wrong>),
}

impl ConfigError {
    /// What is wrong, one line for each thing.
    pub fn lines(&self) -> Vec<String> {
        match self {
            ConfigError::Fields(wrong) => wrong.iter().map(ToString::to_string).collect(),
            other => vec![other.to_string()],
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "configuration field {}: {}", self.path, self.reason)
    }
}

fn in_one_line(wrong: &[Wrong]) -> String {
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Reads a configuration file.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    parse(&std::fs::read_to_string(path).map_err(unreadable)?)
}

/// Reads the text of a configuration. An error names all that is wrong with it.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    // By way of a plain value, so that errors speak of fields and not of the YAML parser's state.
    let value: Value = serde_saphyr::from_str(text).map_err(|error| ConfigError::Syntax(syntax(&error)))?;
    // What a file is comes before what is in it: of another kind's file every field would be unknown.
    let mut wrong = head(&value);
    let is_ours = value["apiVersion"].as_str().is_some_and(|version| group(version) == group(API_VERSION));
    if !wrong.is_empty() && !is_ours {
        return Err(ConfigError::Fields(wrong));
    }
    let read = lenient::read::<Config>(value);
    let named: Vec<_> = wrong.iter().map(|wrong| wrong.path.clone()).collect();
    wrong.extend(read.wrong.into_iter().filter(|found| !named.contains(&found.path)));
    if let Some(config) = &read.value {
        let mut findings = Findings::default();
        validate(config, &mut findings);
        // What follows from values that are wrong already, or were put in their place, is no news.
        let is_news = |found: &Wrong| {
            let repeats = |path: &String| is_within(&found.path, path) || is_within(path, &found.path);
            !read.replaced.iter().any(repeats)
        };
        wrong.extend(findings.into_vec().into_iter().filter(is_news));
    }
    match read.value {
        Some(config) if wrong.is_empty() => Ok(config),
        _ => Err(ConfigError::Fields(wrong)),
    }
}

/// Whether it is a configuration of Berth at all.
fn head(value: &Value) -> Vec<Wrong> {
    let mut findings = Findings::default();
    if !value.is_object() {
        findings.add("(top level)", format!("must be a mapping that begins with apiVersion: {API_VERSION}"));
        return findings.into_vec();
    }
    for (field, expected) in [("kind", KIND), ("apiVersion", API_VERSION)] {
        match &value[field] {
            Value::Null => findings.add(field, format!("is missing; write {field}: {expected}")),
            Value::String(found) if found == expected => {}
            Value::String(found) => findings.add(field, format!("must be {expected}, not {found}")),
            found => findings.add(field, format!("must be {expected}, not {found}")),
        }
    }
    findings.into_vec()
}

fn group(api_version: &str) -> &str {
    api_version.split('/').next().unwrap_or_default()
}

/// Whether a path leads to a place or to something below it. `server.timeouts` is not below `server.timeout`.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What is wrong and where, in one line, without the advice that the library has for programmers.
fn syntax(error: &serde_saphyr::Error) -> String {
    let error = error.without_snippet();
    let reason = match error {
        serde_saphyr::Error::MultipleDocuments { .. } => {
            "a second document begins here, and there may be only one".to_owned()
        }
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the field {key} is there twice")
        }
        serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "a field is there twice".to_owned(),
        other => return first_line(&other.to_string()).trim_start_matches("error: ").to_owned(),
    };
    match error.location() {
        Some(at) => format!("line {} column {}: {reason}", at.line(), at.column()),
        None => reason,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Config, ConfigError, parse};

    const HEAD: &str = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";

    #[test]
    fn defaults_are_filled_in_and_survive_a_round_trip() {
        let config = parse(HEAD).expect("head alone");
        assert_eq!(config, Config::default());
        let printed = serde_saphyr::to_string(&config).expect("printable");
        assert_eq!(parse(&printed).expect(&printed), config);
    }

    #[test]
    fn every_section_of_the_contract_is_known() {
        let text = format!(
            "{HEAD}topologySpread:\n  defaultingType: System\n  defaultConstraints: []\n  overrides: []\n\
             nominatedNode:\n  policy: Disabled\nreplicaGroups: {{}}\npreemption: {{}}\nserver: {{}}\n"
        );
        parse(&text).expect(&text);
    }

    #[test]
    fn errors_name_the_field() {
        for (text, path) in [
            ("topologySpred: {}", "topologySpred"),
            ("topologySpread: {defaultingTyp: List}", "topologySpread"),
            ("topologySpread: {defaultingType: Sytem}", "topologySpread.defaultingType"),
            ("topologySpread: {defaultConstraints: [{}]}", "topologySpread.defaultConstraints[0]"),
            (
                "topologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
                "topologySpread.defaultingType",
            ),
            (
                "topologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
                "topologySpread.defaultConstraints[0].maxSkew",
            ),
            (
                "topologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: '', whenUnsatisfiable: DoNotSchedule}]}",
                "topologySpread.defaultConstraints[0].topologyKey",
            ),
            (
                "topologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Maybe}]}",
                "topologySpread.defaultConstraints[0].whenUnsatisfiable",
            ),
            (
                "topologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}",
                "topologySpread.defaultConstraints[0].labelSelector",
            ),
            (
                "topologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
                "topologySpread.defaultConstraints[1]",
            ),
            (
                "topologySpread: {overrides: [{podSelector: {matchExpressions: [{key: a, operator: In}]}, defaultConstraints: []}]}",
                "topologySpread.overrides[0].podSelector.matchExpressions[0].values",
            ),
            ("nominatedNode: {policy: Maybe}", "nominatedNode.policy"),
            ("replicaGroups: {x: 1}", "replicaGroups"),
            ("server: {limits: {maxBodyBytes: -1}}", "server.limits.maxBodyBytes"),
            ("server: {limits: {maxInFlight: 0}}", "server.limits.maxInFlight"),
            ("server: {timeouts: {idle: 90s}}", "server.timeouts.idle"),
            ("server: {timeouts: {body: soon}}", "server.timeouts.body"),
            ("server: {timeouts: {decision: 0s}}", "server.timeouts.decision"),
            ("server: {tls: {certFile: a}}", "server.tls"),
        ] {
            let error = parse(&format!("{HEAD}{text}\n")).expect_err(text).to_string();
            assert!(error.contains(path), "{text}: {error}");
        }
        for text in
            ["", "- a", "7", "kind: BerthConfiguration", "apiVersion: v1\nkind: BerthConfiguration", "a: ["]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    fn wrong(text: &str) -> Vec<String> {
        match parse(text) {
            Err(ConfigError::Fields(wrong)) => wrong.into_iter().map(|wrong| wrong.path).collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn all_errors_are_named_not_only_the_first() {
        let text = format!(
            "{HEAD}topologySpred: {{}}\ntopologySpread: {{defaultingType: Sytem, mood: good}}\n\
             replicaGroups: {{sources: [JobSet, Jobs], packing: Tight, limits: {{members: 0}}, rules: [{{}}]}}\n\
             server: {{stalenessLimit: 60, limits: {{maxInFlight: many, maxConnections: 0}}, tls: {{}}}}\n"
        );
        let mut found = wrong(&text);
        found.sort();
        assert_eq!(
            found,
            [
                "replicaGroups.limits.members",
                "replicaGroups.packing",
                "replicaGroups.rules[0].label",
                "replicaGroups.rules[0].topology",
                "replicaGroups.sources[1]",
                "server.limits.maxConnections",
                "server.limits.maxInFlight",
                "server.stalenessLimit",
                "server.tls.certFile",
                "server.tls.keyFile",
                "topologySpread.defaultingType",
                "topologySpread.mood",
                "topologySpred",
            ]
        );
    }

    #[test]
    fn what_follows_from_a_wrong_value_is_not_named_too() {
        let constraint = "{maxSkew: 1, topologyKey: [], whenUnsatisfiable: DoNotSchedule}";
        let text = format!(
            "{HEAD}topologySpread: {{defaultingType: List, defaultConstraints: [{constraint}, {constraint}]}}\n"
        );
        let keys = [0, 1].map(|at| format!("topologySpread.defaultConstraints[{at}].topologyKey"));
        assert_eq!(wrong(&text), keys);
        let system = format!(
            "{HEAD}topologySpread: {{defaultingType: Lst, defaultConstraints: [{{maxSkew: 1, topologyKey: a, \
             whenUnsatisfiable: ScheduleAnyway}}]}}\n"
        );
        assert_eq!(wrong(&system), ["topologySpread.defaultingType"]);
    }

    #[test]
    fn a_file_of_another_kind_is_called_that_and_nothing_else() {
        let scheduler =
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: []\n";
        assert_eq!(wrong(scheduler), ["kind", "apiVersion"]);
        let typo = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfig\nservers: {}\n";
        assert_eq!(wrong(typo), ["kind", "servers"], "the kind comes first");
        assert_eq!(wrong("server: {}\n"), ["kind", "apiVersion"]);
    }

    #[test]
    fn a_wrong_field_hides_no_other_whose_name_begins_like_its_own() {
        for (text, paths) in [
            (
                "server: {timeout: {body: 1s}, timeouts: {idle: 5s}}",
                &["server.timeout", "server.timeouts.idle"][..],
            ),
            (
                "server: {limits: {maxIn: 1, maxInFlight: 0}}",
                &["server.limits.maxIn", "server.limits.maxInFlight"],
            ),
            (
                "server: {timeouts: {body: [], bodys: 1s, bind: 0s}}",
                &["server.timeouts.body", "server.timeouts.bodys", "server.timeouts.bind"],
            ),
            (
                "server: {tls: {certFile: a, keyFile: [], keyFiles: b}, ledgerTtl: 0s}",
                &["server.tls.keyFile", "server.tls.keyFiles", "server.ledgerTtl"],
            ),
        ] {
            let mut found = wrong(&format!("{HEAD}{text}\n"));
            let mut paths = paths.to_vec();
            found.sort();
            paths.sort_unstable();
            assert_eq!(found, paths, "{text}");
        }
    }

    #[test]
    fn a_section_with_nothing_below_it_is_the_defaults() {
        for text in [
            "server:",
            "topologySpread:\nnominatedNode:\nreplicaGroups:\npreemption:",
            "server:\n  limits:\n  timeouts:\n  tls:\nreplicaGroups:\n  limits:",
        ] {
            assert_eq!(parse(&format!("{HEAD}{text}\n")).expect(text), Config::default(), "{text}");
        }
    }

    #[test]
    fn errors_speak_of_yaml_and_not_of_the_program() {
        for (text, says) in [
            ("server: 1", "server: must be a mapping of fields, not integer `1`"),
            ("replicaGroups: {rules: [~]}", "rules[0]: is empty, and must be a mapping of fields"),
            ("replicaGroups:\n  sources:", "sources: is empty, and must be a list"),
            ("server: {tls: {certFile: a, keyFile: [b]}}", "keyFile: must be a path, not a list"),
            (
                "server: {limits: {maxInFlight: -1}}",
                "must be a whole number that is not negative, not integer",
            ),
            ("server: {insecure: 1}", "insecure: must be true or false, not integer `1`"),
            (
                "topologySpread: {mode: Off}",
                "mode: must be `Enforce` or `Observe`, not `false`; without quotes",
            ),
            (
                "topologySpread: {mode: off}",
                "mode: must be `Enforce` or `Observe`, not `false`; without quotes",
            ),
            ("topologySpread: {mode: {}}", "mode: must be `Enforce` or `Observe`, not"),
            ("topologySpread:\n  mode:", "mode: is empty, and must be `Enforce` or `Observe`"),
            ("topologySpread: {mode: 'Off'}", "mode: must be `Enforce` or `Observe`, not `Off`"),
            ("replicaGroups: {sources: [Jobs]}", "must be one of `"),
            ("server: {}\nserver: {}", "line 4 column 1: the field server is there twice"),
            ("server: {}\n---\nserver: {}", "line 5 column 1: a second document begins here"),
            ("server: [", "unclosed bracket '[' at line 3, column 9"),
        ] {
            let error = parse(&format!("{HEAD}{text}\n")).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            for internal in
                ["struct", "variant", "null", "serde", "Options", "from_str", "usize", "invalid type"]
            {
                assert!(!error.contains(internal), "{text}: {error}");
            }
        }
    }

    #[test]
    fn a_number_that_should_be_a_duration_is_told_how_to_be_one() {
        for number in ["60", "'60'"] {
            let error = parse(&format!("{HEAD}server: {{ledgerTtl: {number}}}\n")).expect_err("no unit");
            assert!(error.to_string().contains("write 60s"), "{error}");
        }
    }
}
