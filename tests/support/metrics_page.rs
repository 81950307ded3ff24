//! The metrics page, as much as assertions need.

/// The value of a series, written as on the page, such as `berth_x_total{verb="filter"}`.
pub fn value(page: &str, series: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

/// The value as a count; a series that is not there yet counts as 0.
pub fn count(page: &str, series: &str) -> u64 {
    value(page, series).map_or(0, |value| format!("{value:.0}").parse().unwrap_or(u64::MAX))
}
