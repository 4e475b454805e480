//! Ending a run early, and saying why a run ended.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::journal::Intents;

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

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its evaluations are used up.
    BudgetSpent,
    /// Its generations are used up, and some proposed fewer schedules than they might have.
    GenerationsSpent,
    /// The strategy has nothing more to propose.
    NothingLeft,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The strategy cannot go on before this file is there.
    Unanswered(PathBuf),
    /// The evaluator or the journal cannot go on.
    Broken(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::BudgetSpent => f.write_str("the budget is spent"),
            StopReason::GenerationsSpent => f.write_str("all generations are used up"),
            StopReason::NothingLeft => f.write_str("the strategy has nothing left to propose"),
            StopReason::Interrupted => f.write_str("interrupted; the same command goes on from here"),
            StopReason::Unanswered(reply) => {
                write!(f, "the prompt awaits its reply in {}; the same command then goes on from here", reply.display())
            }
            StopReason::Broken(reason) => write!(f, "it could not go on: {reason}"),
        }
    }
}
