//! Reading the file, strictly.

use std::path::{Path, PathBuf};

use super::schema::Config;
use super::validate::{Wrong, validate};

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
    /// A field is unknown or has a wrong value.
    #[error("configuration field {path}: {reason}")]
    Field {
        /// The field's path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a configuration file.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    parse(&std::fs::read_to_string(path).map_err(unreadable)?)
}

/// Reads the text of a configuration.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    // By way of a plain value, so that errors speak of fields and not of the YAML parser's state.
    let value: serde_json::Value =
        serde_saphyr::from_str(text).map_err(|e| ConfigError::Syntax(first_line(&e.to_string())))?;
    let config: Config = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => "(top level)".to_owned(),
            path => path,
        };
        ConfigError::Field { path, reason: error.into_inner().to_string() }
    })?;
    validate(&config).map_err(|Wrong { path, reason }| ConfigError::Field { path, reason })?;
    Ok(config)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Config, parse};

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
            ["", "- a", "kind: BerthConfiguration", "apiVersion: v1\nkind: BerthConfiguration", "a: ["]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
