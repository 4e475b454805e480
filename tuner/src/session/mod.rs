//! A search for one target: generations of proposals, each tried, journaled and told back.

mod progress;
mod search;
mod stop;

pub use progress::Progress;
pub use search::{Budget, Search, SearchError, search};
pub use stop::{INTERRUPTED, Stop, StopReason};

use crate::evaluate::Evaluator;
use crate::journal::Journal;
use crate::strategy::Strategy;
use crate::target::Target;

/// What a search works with.
pub struct Session<'s> {
    /// What is tuned.
    pub target: &'s Target,
    /// Who measures.
    pub evaluator: &'s mut dyn Evaluator,
    /// Who proposes.
    pub strategy: &'s mut dyn Strategy,
    /// Who remembers.
    pub journal: &'s mut Journal,
    /// What may be spent.
    pub budget: Budget,
    /// Whether somebody wants it to end.
    pub stop: &'s Stop,
    /// Who tells the person.
    pub progress: &'s Progress,
}
