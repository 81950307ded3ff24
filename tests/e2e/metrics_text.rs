//! Prometheus' text format, as much as assertions need.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// One scrape.
#[derive(Clone, Debug)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Metrics {
    pub fn parse(text: &str) -> Result<Self> {
        let samples = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| sample(line).with_context(|| format!("not a metric: {line}")))
            .collect::<Result<_>>()?;
        Ok(Self { samples })
    }

    /// Sum over the series that carry all these labels; 0 when there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.series(name)
            .filter(|sample| {
                labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|have| have == value))
            })
            .map(|sample| sample.value)
            .sum()
    }

    /// Is there any series of this name? Tells an absent metric from one that is zero.
    pub fn has(&self, name: &str) -> bool {
        self.series(name).next().is_some()
    }

    fn series<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }
}

/// `name{label="value",...} 1.5` with an optional timestamp behind.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    Some(Sample { name: name.to_owned(), labels, value: rest.split_whitespace().next()?.parse().ok()? })
}

/// Labels up to the closing brace, and what is behind it.
fn labels(mut text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        text = text.trim_start_matches([',', ' ']);
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, quoted) = text.split_once("=\"")?;
        let (value, rest) = quoted_value(quoted)?;
        labels.insert(key.to_owned(), value);
        text = rest;
    }
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            plain => value.push(plain),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    const TEXT: &str = "# HELP a_total Things.
# TYPE a_total counter
a_total{verb=\"filter\",code=\"200\"} 3
a_total{verb=\"filter\",code=\"500\"} 1 1700000000
a_total{verb=\"bind\",code=\"a \\\"b\\\" }\"} 5
plain 0.5
infinite{le=\"+Inf\"} +Inf
";

    #[test]
    fn series_are_summed_over_the_labels_that_are_left_open() {
        let metrics = Metrics::parse(TEXT).unwrap();
        let sums = [
            metrics.sum("a_total", &[]),
            metrics.sum("a_total", &[("verb", "filter")]),
            metrics.sum("a_total", &[("verb", "filter"), ("code", "500")]),
            metrics.sum("a_total", &[("code", "a \"b\" }")]),
            metrics.sum("a_total", &[("verb", "none")]),
            metrics.sum("plain", &[]),
        ];
        let expected = [9.0, 4.0, 1.0, 5.0, 0.0, 0.5];
        for (sum, expected) in sums.into_iter().zip(expected) {
            assert!((sum - expected).abs() < f64::EPSILON, "{sum} != {expected}");
        }
        assert!(metrics.has("plain") && !metrics.has("a"));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(Metrics::parse("a{b=\"c} 1\n").is_err());
        assert!(Metrics::parse("a one\n").is_err());
    }
}
