//! From the winner of a search to an entry of `best_config.json`: a final against what is used now, and a verdict.

mod entry;
mod incumbent;
mod meeting;
mod origin;
mod outcome;
mod verdict;

pub(crate) use entry::{confirmed, entry, kept, measured};
pub use incumbent::{Incumbent, incumbent};
pub use meeting::{Final, FinalPlan};
pub use origin::Origin;
pub(crate) use outcome::Outcome;
pub(crate) use verdict::ENERGY_FLOOR_PCT;
