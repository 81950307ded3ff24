//! Durations as Go writes them: `10s`, `1m30s`, `1.5h`.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Reads a duration that is not negative.
pub(super) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(length);
        let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        seconds += number.parse::<f64>().ok()? * factor;
        rest = next;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, millis) in
        [("0", 0), ("0s", 0), ("10s", 10_000), ("1m30s", 90_000), ("250ms", 250), ("1.5h", 5_400_000)]
    {
        assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
    }
    for text in ["", "10", "s", "-1s", "1d", "ten", "1s1", "1..5s"] {
        assert_eq!(parse(text), None, "{text}");
    }
}
