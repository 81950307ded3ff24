//! Rules about panels, whatever they ask.

use serde_json::Value;

use crate::dashboards::files::{panels, queries, variables};
use crate::dashboards::units::UNITS;

pub fn check(dashboard: &Value, find: &mut impl FnMut(&'static str, &str)) {
    let names = variables(dashboard)
        .filter(|variable| variable["type"] == "datasource")
        .filter_map(|variable| variable["name"].as_str());
    let sources: Vec<String> = names.flat_map(|name| [format!("${name}"), format!("${{{name}}}")]).collect();
    for panel in panels(dashboard) {
        let text = |field: &str| panel[field].as_str().unwrap_or_default();
        let place = format!("panel {} {:?}", panel["id"], text("title"));
        if !sources.iter().any(|source| panel["datasource"]["uid"] == **source) {
            find("panel-datasource", &place);
        }
        if text("title").trim().is_empty() || text("description").trim().is_empty() {
            find("panel-title-description", &place);
        }
        if !has_unit(panel) {
            find("panel-units", &place);
        }
        if queries(panel).next().is_none() {
            find("panel-no-targets", &place);
        }
        if panel["datasource"]["type"] == "loki" {
            find("target-logql", &place);
            find("target-logql-auto", &place);
        }
    }
}

fn has_unit(panel: &Value) -> bool {
    let config = &panel["fieldConfig"];
    if config["defaults"]["mappings"].as_array().is_some_and(|mappings| !mappings.is_empty()) {
        return true;
    }
    let overrides = config["overrides"].as_array().into_iter().flatten();
    let properties = overrides.flat_map(|field| field["properties"].as_array().into_iter().flatten());
    let overridden =
        properties.filter(|property| property["id"] == "unit").map(|property| &property["value"]);
    let mut units = overridden.chain([&config["defaults"]["unit"]]).filter_map(Value::as_str).peekable();
    units.peek().is_some() && units.all(|unit| UNITS.contains(&unit))
}
