//! Panics as results.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static LISTENS: Cell<bool> = const { Cell::new(false) };
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What the closure returns, or where and why it panicked. Such a panic prints nothing: a failing case is run
/// hundreds of times to make it small, and only the last of them is worth reading.
pub fn caught<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    install_hook();
    let listened = LISTENS.replace(true);
    HEARD.set(None);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    LISTENS.set(listened);
    outcome.map_err(|payload| HEARD.take().unwrap_or_else(|| message(&*payload)))
}

/// Tests of one binary share the hook and run beside each other: those that do not listen panic as ever.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if LISTENS.get() {
                HEARD.set(Some(panic.to_string()));
            } else {
                usual(panic);
            }
        }));
    });
}

/// For panics that pass the hook by.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}
