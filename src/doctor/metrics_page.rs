//! The text format of Prometheus, as much of it as Berth writes.

/// A page of metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a>(&'a str);

/// One series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series<'a> {
    labels: &'a str,
    pub(super) value: f64,
}

impl<'a> Page<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// All series of that name.
    pub(super) fn series(self, name: &str) -> impl Iterator<Item = Series<'a>> {
        self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name)?;
            let (labels, value) = match rest.strip_prefix('{') {
                Some(rest) => rest.split_once("} ")?,
                None => ("", rest.strip_prefix(' ')?),
            };
            Some(Series { labels, value: value.trim().parse().ok()? })
        })
    }

    /// The value of the first series with all these labels.
    pub(super) fn value(self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.series(name).find(|series| series.has(labels)).map(|series| series.value)
    }

    /// The sum over the series with all these labels.
    pub(super) fn sum(self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.series(name).filter(|series| series.has(labels)).map(|series| series.value).sum()
    }
}

impl<'a> Series<'a> {
    /// The value of a label; empty if there is none. Berth's values hold no quotes.
    pub(super) fn label(&self, key: &str) -> &'a str {
        let parts = self.labels.split("\",").map(|part| part.trim_end_matches('"'));
        let mut pairs = parts.filter_map(|part| part.split_once("=\""));
        pairs.find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }

    fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(key, value)| self.label(key) == *value)
    }
}

#[test]
fn series_are_found_by_name_and_labels() {
    let page = Page::new("# TYPE a gauge\na 1\nab 2\nc{x=\"1\",y=\"2,3\"} 4\nc{x=\"2\",y=\"\"} 5.5\n");
    assert_eq!(page.value("a", &[]), Some(1.0));
    assert_eq!(page.value("c", &[("y", "2,3")]), Some(4.0));
    assert_eq!(page.value("c", &[("x", "2"), ("y", "")]), Some(5.5));
    assert_eq!(page.value("c", &[("x", "3")]), None);
    assert_eq!(page.sum("c", &[]).to_string(), "9.5");
}
