//! One entry for a range of sizes of a dimension, in the place of one for each: whoever serves batches of any size tunes once.
//!
//! The search runs at some of the sizes. What was fastest at each of them then meets at all of them, and one schedule is chosen by
//! how far it is from the fastest, size by size.

mod args;
mod choice;
mod group;
mod meeting;
mod outcome;

pub use args::{By, NotOfShape, RangeArgs};
pub use group::{complete, groups};
pub use meeting::{Member, meet};
pub use outcome::RangeOutcome;
