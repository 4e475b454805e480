//! A search for one target: generations of proposals, each tried, journaled and told back.

mod found;
mod generations;
mod limits;
mod memory;
mod progress;
mod reason;
mod search;

pub use found::Search;
pub use generations::Budget;
pub(crate) use limits::Limits;
pub(crate) use memory::Searcher;
pub(crate) use progress::Progress;
pub use reason::StopReason;
pub(crate) use search::{SearchError, Session, search};
