//! Ending a run early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::intents::Intents;

/// A wish to end, shared with the signal handler. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    intents: Arc<OnceLock<Arc<Intents>>>,
}

/// Exit code of a process that an interrupt ended: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

impl Stop {
    /// A wish that Ctrl-C, SIGTERM and SIGHUP express: the first lets the trial under way end and the outputs be written,
    /// a second ends the process at once. The journal is whole either way.
    ///
    /// # Errors
    /// The system refuses a signal handler, or there is one already.
    pub fn on_signals() -> Result<Self, ctrlc::Error> {
        let stop = Stop::default();
        let wish = stop.clone();
        ctrlc::set_handler(move || {
            if wish.requested.swap(true, Ordering::SeqCst) {
                if let Some(intents) = wish.intents.get() {
                    intents.withdraw();
                }
                std::process::exit(i32::from(INTERRUPTED));
            }
            errln!("\nstopping after the trial under way; press Ctrl-C again to stop at once");
        })?;
        Ok(stop)
    }

    /// A second signal takes these back before it ends the process: what runs then is not to blame for the end.
    pub fn withdraws(&self, intents: &Arc<Intents>) {
        // A later journal of the same process would be another run's, with a wish of its own.
        let _ = self.intents.set(Arc::clone(intents));
    }

    /// Expresses the wish.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Whether the wish was expressed.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}
