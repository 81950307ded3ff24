//! Units that Grafana knows. It knows more of them; add what a panel needs.

/// Their identifiers, as dashboards have them.
pub const UNITS: [&str; 22] = [
    "none",
    "short",
    "percent",
    "percentunit",
    "bytes",
    "decbytes",
    "Bps",
    "ns",
    "µs",
    "ms",
    "s",
    "m",
    "h",
    "d",
    "dtdurations",
    "dateTimeFromNow",
    "hertz",
    "ops",
    "reqps",
    "cps",
    "bool",
    "string",
];
