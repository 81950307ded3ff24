//! Reads the numbers of the admin port: as much of Prometheus' text format as the demo shows.

use anyhow::Context;

/// The text of `/metrics`.
pub struct Scrape {
    text: String,
}

impl Scrape {
    /// Reads from this text.
    pub fn new(text: String) -> Self {
        Self { text }
    }

    /// The count in the one series that begins like this: a name, or a name with all its labels.
    pub fn count(&self, series: &str) -> anyhow::Result<usize> {
        let value = self.value(series)?;
        value.parse().with_context(|| format!("metric {series} is no count: {value}"))
    }

    /// Seconds, in the one series that begins like this.
    pub fn seconds(&self, series: &str) -> anyhow::Result<f64> {
        let value = self.value(series)?;
        value.parse().with_context(|| format!("metric {series} is no number: {value}"))
    }

    fn value(&self, series: &str) -> anyhow::Result<&str> {
        let values = self.text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        values.map(str::trim).next().with_context(|| format!("Berth shows no metric {series}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Scrape;

    #[test]
    fn a_series_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na{x=\"1\"} 7\na_sum 0.5\na 3\n";
        let scrape = Scrape::new(text.to_owned());
        assert_eq!(scrape.count("a").ok(), Some(3));
        assert_eq!(scrape.count("a{x=\"1\"}").ok(), Some(7));
        assert_eq!(scrape.seconds("a_sum").ok(), Some(0.5));
        assert!(scrape.count("a_sum").is_err(), "half of something is no count");
        assert!(scrape.count("b").is_err());
    }
}
