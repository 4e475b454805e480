//! A schedule with a record.

use autokernel_codegen::schedule::Schedule;

/// A schedule with a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from, for the model and for people: `default for sm_90a`, `tuned for 8192x8192x8192, 1.6947 ms there`.
    pub origin: String,
}
