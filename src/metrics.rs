//! Where metrics are registered and rendered.
//!
//! This module knows nothing of what is measured. Whoever measures something declares its metrics in a small struct
//! beside its own code, whose `register` makes them here and creates every series that can be named beforehand, so
//! that a rate over a series is right from its first event on. Label sets are closed: verbs, kinds, policies, causes,
//! never the name of anything in the cluster.

mod process;

use std::sync::{Mutex, PoisonError};

use self::process::ProcessMetrics;
use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{
    Encoder, Error, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, TextEncoder,
};

/// From some tens of microseconds, the cost of a small call, to kube-scheduler's patience.
const SECONDS: &[f64] = &[
    0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The label values of a metric that has no labels.
pub(crate) const NO_LABELS: &[&str] = &[];

type Refresh = Box<dyn Fn() + Send + Sync>;

/// Makes metrics with Berth's prefix, and renders all of them.
pub struct Registry {
    families: prometheus::Registry,
    /// Those whose names everybody knows without a prefix.
    unprefixed: prometheus::Registry,
    process: Option<ProcessMetrics>,
    #[cfg(test)]
    names: Mutex<Vec<String>>,
    refreshes: Mutex<Vec<Refresh>>,
}

impl Registry {
    /// A registry without metrics.
    pub fn new() -> Result<Self, Error> {
        let families = prometheus::Registry::new_custom(Some("berth".to_owned()), None)?;
        Ok(Self {
            families,
            unprefixed: prometheus::Registry::new(),
            process: None,
            #[cfg(test)]
            names: Mutex::default(),
            refreshes: Mutex::default(),
        })
    }

    /// Shows also what the operating system knows of this process.
    pub(crate) fn with_process(mut self) -> Result<Self, Error> {
        self.process = ProcessMetrics::register(&self.unprefixed)?;
        Ok(self)
    }

    /// A number that only grows.
    pub(crate) fn counter(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, Error> {
        self.register(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    /// A whole number that rises and falls.
    pub(crate) fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, Error> {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// A number that rises and falls.
    pub(crate) fn float_gauge(&self, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, Error> {
        self.register(GaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Times of calls, in seconds.
    pub(crate) fn histogram(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, Error> {
        self.histogram_with(SECONDS, name, help, labels)
    }

    /// Times of something that takes longer or shorter than calls do.
    pub(crate) fn histogram_with(
        &self,
        buckets: &[f64],
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<HistogramVec, Error> {
        let opts = HistogramOpts::from(Opts::new(name, help)).buckets(buckets.to_vec());
        self.register(HistogramVec::new(opts, labels)?)
    }

    fn register<C: Collector + Clone + 'static>(&self, family: C) -> Result<C, Error> {
        #[cfg(test)]
        self.names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(family.desc().iter().map(|description| description.fq_name.clone()));
        self.families.register(Box::new(family.clone()))?;
        Ok(family)
    }

    /// The metrics that the page does not show because they have no series.
    #[cfg(test)]
    pub(crate) fn without_series(&self) -> Vec<String> {
        let page = String::from_utf8(self.render()).unwrap_or_default();
        let is_shown = |name: &String| page.contains(&format!("# TYPE berth_{name} "));
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().filter(|name| !is_shown(name)).cloned().collect()
    }

    /// Calls `refresh` before every rendering, for gauges whose value is looked up rather than kept.
    pub(crate) fn before_rendering(&self, refresh: impl Fn() + Send + Sync + 'static) {
        self.refreshes.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(refresh));
    }

    /// The text format that Prometheus scrapes.
    pub fn render(&self) -> Vec<u8> {
        let refreshes = self.refreshes.lock().unwrap_or_else(PoisonError::into_inner);
        for refresh in refreshes.iter() {
            refresh();
        }
        if let Some(process) = &self.process {
            process.refresh();
        }
        let mut families = self.families.gather();
        families.extend(self.unprefixed.gather());
        // Held until here: what one page clears before it sets it anew must not be missing on another.
        drop(refreshes);
        let mut text = Vec::with_capacity(128 * 1024);
        // Writing into memory does not fail; a family without samples would, but those are not gathered.
        if TextEncoder::new().encode(&families, &mut text).is_err() {
            tracing::error!("metrics could not be rendered");
        }
        text
    }
}

/// Creates series with 0, one for each set of label values.
pub(crate) fn create_series<B: MetricVecBuilder, const LABELS: usize>(
    family: &MetricVec<B>,
    label_values: impl IntoIterator<Item = [&'static str; LABELS]>,
) {
    for values in label_values {
        family.with_label_values(&values);
    }
}

/// The value of a gauge that shows a count.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::{NO_LABELS, Registry, create_series};

    fn page(registry: &Registry) -> String {
        String::from_utf8(registry.render()).expect("text")
    }

    #[test]
    fn series_are_there_before_their_first_event() {
        let registry = Registry::new().expect("a registry");
        let calls = registry.counter("calls_total", "Calls.", &["verb", "result"]).expect("a counter");
        assert_eq!(page(&registry), "");
        create_series(&calls, [["a", "good"], ["a", "bad"]]);
        calls.with_label_values(&["a", "bad"]).inc();
        let expected = "# HELP berth_calls_total Calls.\n# TYPE berth_calls_total counter\n\
            berth_calls_total{result=\"bad\",verb=\"a\"} 1\nberth_calls_total{result=\"good\",verb=\"a\"} 0\n";
        assert_eq!(page(&registry), expected);
        assert!(registry.gauge("calls_total", "Again.", NO_LABELS).is_err(), "a name has one owner");
    }

    #[test]
    fn what_is_looked_up_is_current_when_rendered() {
        let registry = Registry::new().expect("a registry");
        let gauge = registry.gauge("pods", "Pods.", NO_LABELS).expect("a gauge").with_label_values(NO_LABELS);
        let pods = Arc::new(AtomicI64::new(0));
        let looked_up = pods.clone();
        registry.before_rendering(move || gauge.set(looked_up.load(Ordering::Relaxed)));
        for count in [3, 5] {
            pods.store(count, Ordering::Relaxed);
            assert!(page(&registry).ends_with(&format!("\nberth_pods {count}\n")));
        }
    }
}
