//! Background services: what runs for as long as Berth does.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::task::JoinHandle;

/// The pause before a service that panicked is begun anew.
const PAUSE: Duration = Duration::from_secs(1);

/// Something that runs in the background and never ends by itself. If it panics, it is begun anew.
pub(super) struct Service {
    name: &'static str,
    begin: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    on_panic: Box<dyn Fn() + Send + Sync>,
}

impl Service {
    /// A service that is what `begin` returns, each time it is begun.
    pub(super) fn new<F>(name: &'static str, begin: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self { name, begin: Box::new(move || begin().boxed()), on_panic: Box::new(|| {}) }
    }

    /// Calls `on_panic` as soon as the service panicked, before it is begun anew.
    pub(super) fn on_panic(self, on_panic: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_panic: Box::new(on_panic), ..self }
    }

    async fn run(self, pause: Duration) {
        while AssertUnwindSafe((self.begin)()).catch_unwind().await.is_err() {
            (self.on_panic)();
            tracing::error!(service = self.name, "service panicked, beginning it anew");
            tokio::time::sleep(pause).await;
        }
    }
}

/// Services that have been started.
pub(super) struct RunningServices(Vec<JoinHandle<()>>);

impl RunningServices {
    /// Starts every service on a task of its own.
    pub(super) fn start(services: Vec<Service>) -> Self {
        Self(services.into_iter().map(|service| tokio::spawn(service.run(PAUSE))).collect())
    }

    /// Ends them wherever they are: none has anything to bring to an end.
    pub(super) fn stop(self) {
        for task in self.0 {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::Service;

    #[tokio::test]
    async fn a_service_that_panics_is_begun_anew_after_its_panic_was_told() {
        let (begun, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, telling) = (begun.clone(), told.clone());
        let service = Service::new("faulty", move || {
            let attempt = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(attempt >= 2, "the first two attempts fail") }
        });
        let service = service.on_panic(move || {
            telling.fetch_add(1, Ordering::Relaxed);
        });
        service.run(Duration::ZERO).await;
        assert_eq!((begun.load(Ordering::Relaxed), told.load(Ordering::Relaxed)), (3, 2));
    }
}
