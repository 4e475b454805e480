//! A search for one target: generations of proposals, each tried, journaled and told back.

mod found;
mod progress;
mod reason;
mod search;

pub use found::Search;
pub(crate) use progress::Progress;
pub use reason::StopReason;
pub use search::Budget;
pub(crate) use search::{SearchError, Session, search};
