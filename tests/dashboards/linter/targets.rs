//! Rules about queries. Every panel is held to them, of whatever type.

use serde_json::Value;

use crate::dashboards::files::{panels, queries};
use crate::dashboards::promql::{self, RATE_INTERVAL};

pub fn check(dashboard: &Value, find: &mut impl FnMut(&'static str, &str)) {
    for panel in panels(dashboard) {
        for query in queries(panel) {
            let place = format!("panel {}: {query}", panel["id"]);
            let Ok(expr) = promql::parse(query) else {
                find("target-promql", &place);
                continue;
            };
            for selector in promql::selectors(&expr) {
                let is_rate = matches!(selector.function, Some("rate" | "irate"));
                if is_rate && selector.range != Some(RATE_INTERVAL) {
                    find("target-rate-interval", &place);
                }
                if !selector.has_exactly("job", "$job") {
                    find("target-job", &place);
                }
                if !selector.has_exactly("instance", "$instance") {
                    find("target-instance", &place);
                }
                let counts = selector.metric.as_deref().is_some_and(|metric| metric.ends_with("_total"));
                if counts && !is_rate && selector.function != Some("increase") {
                    find("target-counter-agg", &place);
                }
            }
        }
    }
}
