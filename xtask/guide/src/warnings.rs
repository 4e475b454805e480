//! What mdBook warns of: it says it by `tracing` alone, and goes on.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What `work` gives, and the warnings and errors that were told meanwhile, a line each.
pub fn of<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let result = tracing::subscriber::with_default(Listener { told: told.clone() }, work);
    let told = std::mem::take(&mut *told.lock().expect("nobody panics while they hold it"));
    (result, told)
}

struct Listener {
    told: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.told.lock().expect("nobody panics while they hold it").push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let separator = if self.0.is_empty() { "" } else { ", " };
        let written = match field.name() {
            "message" => write!(self.0, "{separator}{value:?}"),
            name => write!(self.0, "{separator}{name}: {value:?}"),
        };
        written.expect("a string takes everything");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn warnings_and_errors_are_kept_and_what_is_less_is_not() {
        let (result, told) = super::of(|| {
            tracing::info!("a page");
            tracing::warn!(page = 3, "no such anchor");
            tracing::error!("no such file");
            7
        });
        assert_eq!((result, told), (7, vec!["no such anchor, page: 3".to_owned(), "no such file".to_owned()]));
    }
}
