//! From the winner of a search to an entry of `best_config.json`: a final against what is used now, and a verdict.

mod entry;
mod incumbent;
mod meeting;
mod origin;
mod outcome;
mod verdict;

pub use entry::{confirmed, entry, kept};
pub use incumbent::{Incumbent, incumbent};
pub use meeting::{Final, FinalPlan};
pub use origin::Origin;
pub use outcome::Outcome;
pub use verdict::{Comparison, Verdict, compare};
