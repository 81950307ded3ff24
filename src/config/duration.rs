//! Durations as people write them in Kubernetes: `500ms`, `10s`, `2m`, `1h`.

use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortDuration(pub Duration);

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl ShortDuration {
    /// So many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// So many milliseconds.
    pub(crate) const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let millis = number.parse::<u64>().ok()?.checked_mul(factor)?;
        Some(Self(Duration::from_millis(millis)))
    }
}

impl fmt::Display for ShortDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let fits = |(_, factor): &&(&str, u64)| millis.is_multiple_of(*factor) && millis >= *factor;
        let (unit, factor) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[1]);
        write!(f, "{}{unit}", millis / factor)
    }
}

impl JsonSchema for ShortDuration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration in one unit, such as 500ms, 10s, 2m or 1h.",
            "type": "string",
            "pattern": "^[0-9]+(ms|s|m|h)$",
        })
    }
}

impl Serialize for ShortDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShortDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = ShortDuration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 500ms, 10s or 2m")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ShortDuration, E> {
        ShortDuration::parse(text).ok_or_else(|| match text.parse::<f64>() {
            Ok(_) => without_unit(text),
            Err(_) => E::custom(format!("`{text}` is no duration; write for example 500ms, 10s or 2m")),
        })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ShortDuration, E> {
        Err(without_unit(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ShortDuration, E> {
        Err(without_unit(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<ShortDuration, E> {
        Err(without_unit(number))
    }
}

fn without_unit<E: Error>(number: impl fmt::Display) -> E {
    E::custom(format!("`{number}` has no unit; write {number}s for seconds; there are ms, s, m and h"))
}

#[cfg(test)]
mod tests {
    use super::ShortDuration;

    #[test]
    fn durations_are_read_and_written_in_one_unit() {
        for (text, written) in
            [("500ms", "500ms"), ("10s", "10s"), ("120s", "2m"), ("90s", "90s"), ("0s", "0s"), ("2h", "2h")]
        {
            assert_eq!(ShortDuration::parse(text).map(|d| d.to_string()).as_deref(), Some(written));
        }
        for text in
            ["", "s", "10", "-1s", "1.5s", "10 s", "1d", "99999999999999999999s", "9999999999999999999h"]
        {
            assert_eq!(ShortDuration::parse(text), None, "{text}");
        }
    }
}
