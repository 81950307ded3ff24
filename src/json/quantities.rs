//! Quantities by name, as they stand in JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::Quantity;

/// A resource list. Of a name that is given twice the last one counts.
#[derive(Clone, Debug, Default)]
pub struct Quantities(Vec<(String, Quantity)>);

impl Quantities {
    /// Takes over what is named there and not here.
    pub fn fill_in(&mut self, others: &Self) {
        for (name, quantity) in &others.0 {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name.clone(), *quantity));
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, quantity)| (&**name, *quantity))
    }
}

impl<'de> Deserialize<'de> for Quantities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Quantities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of quantities")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Quantities, A::Error> {
                let mut pairs: Vec<(String, Quantity)> =
                    Vec::with_capacity(map.size_hint().unwrap_or(0).min(8));
                while let Some(name) = map.next_key::<String>()? {
                    // As it was written: a number must not pass through binary fractions.
                    let quantity = read(map.next_value::<&RawValue>()?.get())
                        .ok_or_else(|| A::Error::custom(format_args!("invalid quantity for {name:?}")))?;
                    match pairs.iter_mut().find(|(known, _)| *known == name) {
                        Some(known) => known.1 = quantity,
                        None => pairs.push((name, quantity)),
                    }
                }
                Ok(Quantities(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A text or a number; blanks around the text are passed over.
fn read(json: &str) -> Option<Quantity> {
    if json == "null" {
        return Some(Quantity::ZERO);
    }
    let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(json);
    Quantity::parse(text.trim())
}

#[cfg(test)]
mod tests {
    use super::Quantities;

    #[test]
    fn quantities_are_texts_or_numbers() {
        for (json, expected) in [
            (r#"{"cpu":"1500m","memory":" 2Ki "}"#, Some(vec![("cpu", 1_500), ("memory", 2_048_000)])),
            (
                r#"{"cpu":2,"memory":0.1,"x":1e3}"#,
                Some(vec![("cpu", 2_000), ("memory", 100), ("x", 1_000_000)]),
            ),
            (r#"{"cpu":null}"#, Some(vec![("cpu", 0)])),
            (r#"{"cpu":"1","cpu":"2"}"#, Some(vec![("cpu", 2_000)])),
            (r#"{"cpu":"a lot"}"#, None),
            (r#"{"cpu":true}"#, None),
            (r#"{"cpu":{}}"#, None),
        ] {
            let quantities: Result<Quantities, _> = serde_json::from_str(json);
            let read = quantities.as_ref().ok();
            let read = read.map(|list| list.iter().map(|(name, q)| (name, q.milli_value())).collect());
            assert_eq!(read, expected, "{json}");
        }
    }
}
