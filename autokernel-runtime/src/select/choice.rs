//! What was chosen, and why.

use super::knobs::Knobs;

/// Which variant serves some extents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// Its number.
    pub variant: usize,
    /// Its knobs that are set at launch, where they are not the plan's.
    pub knobs: Knobs,
    /// Why.
    pub reason: Reason,
}

/// Why a variant was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// It was the fastest of those that [`AnyKernel::autotune`](crate::AnyKernel::autotune) timed at these extents.
    Measured {
        /// Its time, in milliseconds.
        ms: f64,
        /// How many were timed.
        count: usize,
        /// The variant that would be taken without, where that is another one, and its time.
        instead_of: Option<(usize, f64)>,
    },
    /// It was tuned at exactly these extents.
    Exact,
    /// It was chosen for a range of sizes, of which these extents have one.
    Range,
    /// There is no portfolio, and it was tuned at the nearest extents, this far away; see [`Extents::distance`](crate::Extents::distance).
    Nearest {
        /// Distance in natural logarithms.
        distance: f64,
    },
    /// It is the image of the portfolio that the model predicts to be fastest.
    Predicted {
        /// The predicted time, in milliseconds.
        ms: f64,
        /// The variant that comes second, and its predicted time.
        second: Option<(usize, f64)>,
    },
    /// Nothing was tuned for this architecture: the safe default.
    Default,
}
