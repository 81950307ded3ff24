//! What the dashboards have in common, so that people find their way from one to the other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::files::{dashboards, panels, variables};

const OVERVIEW: &str = "berth-overview";

#[test]
fn dashboards_are_alike() {
    let all = dashboards();
    for (name, dashboard) in &all {
        assert_eq!(dashboard["uid"], format!("berth-{name}"), "the address of {name}.json");
        let title = dashboard["title"].as_str().unwrap_or_default();
        assert!(title.starts_with("Berth / "), "{name}.json: {title}");
        assert!(dashboard["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}.json");
        for field in ["schemaVersion", "tags", "refresh", "time", "timezone", "graphTooltip"] {
            assert_eq!(dashboard[field], all[0].1[field], "{field} of {name}.json");
        }
        let names: Vec<_> = variables(dashboard).map(|variable| variable["name"].clone()).collect();
        assert_eq!(names, ["datasource", "job", "instance"], "{name}.json");
        let types: BTreeSet<_> = panels(dashboard).filter_map(|panel| panel["type"].as_str()).collect();
        let known = BTreeSet::from(["stat", "timeseries", "table", "state-timeline"]);
        assert!(types.is_subset(&known), "{name}.json has panels that no rule looks at: {types:?}");
    }
}

#[test]
fn the_overview_leads_to_all_others_and_they_lead_back() {
    let all = dashboards();
    let known: BTreeSet<&str> = all.iter().filter_map(|(_, dashboard)| dashboard["uid"].as_str()).collect();
    for (name, dashboard) in &all {
        let targets = linked(&dashboard["links"]);
        let of_panels = panels(dashboard).flat_map(|panel| linked(&panel["links"]));
        for target in targets.iter().cloned().chain(of_panels) {
            assert!(known.contains(&*target), "{name}.json leads to {target}, which is not there");
        }
        let expected: BTreeSet<String> = match dashboard["uid"].as_str() {
            Some(OVERVIEW) => {
                known.iter().filter(|uid| **uid != OVERVIEW).map(|uid| (*uid).to_owned()).collect()
            }
            _ => BTreeSet::from([OVERVIEW.to_owned()]),
        };
        assert_eq!(targets, expected, "{name}.json");
    }
}

fn linked(links: &Value) -> BTreeSet<String> {
    let urls = links.as_array().into_iter().flatten().filter_map(|link| link["url"].as_str());
    urls.map(|url| {
        let path = url.strip_prefix("/d/").unwrap_or_else(|| panic!("{url} is no address of a dashboard"));
        path.split('?').next().unwrap_or_default().to_owned()
    })
    .collect()
}

#[test]
fn panels_have_numbers_of_their_own_and_do_not_overlap() {
    for (name, dashboard) in dashboards() {
        let all = dashboard["panels"].as_array().expect("panels");
        let ids: BTreeSet<_> = all.iter().filter_map(|panel| panel["id"].as_u64()).collect();
        assert_eq!(ids.len(), all.len(), "{name}.json has two panels of one number");
        let mut taken = BTreeSet::new();
        for panel in all {
            let side = |field: &str| panel["gridPos"][field].as_u64().expect("a number");
            assert!(side("x") + side("w") <= 24, "{name}.json: panel {} is too wide", panel["id"]);
            for x in side("x")..side("x") + side("w") {
                for y in side("y")..side("y") + side("h") {
                    assert!(taken.insert((x, y)), "{name}.json: panel {} lies on another", panel["id"]);
                }
            }
        }
    }
}
