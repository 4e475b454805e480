//! Where a tuned schedule comes from.

use serde::{Deserialize, Serialize};

use crate::{Extents, Implausible, Span, check_amount, check_ms};

/// What a schedule was tuned for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// The class of problems, for people: the nearest, where the problem's own was not tuned.
    pub class: String,
    /// The extents at which it won.
    pub extents: Extents,
    /// Beside these, the sizes of one of their dimensions that it was chosen for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Span>,
    /// How it was measured.
    pub provenance: Provenance,
}

/// How a tuned entry was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The GPU, as the driver names it; what begins with `none` is none, as of an entry that somebody wrote by hand for every GPU.
    pub gpu: String,
    /// The driver's version.
    pub driver: String,
    /// nvcc's version.
    pub nvcc: String,
    /// Hash of the CUDA files that the kernel was made of, 12 hexadecimal digits; entries of older tuners have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// The day of the measurement, `YYYY-MM-DD`.
    pub date: String,
    /// Median time of one launch, in milliseconds.
    pub median_ms: f64,
    /// Interquartile range of the samples as a share of the median, in percent.
    pub spread_pct: f64,
    /// The problem's operations over the median time, in 10¹² a second.
    pub tflops: f64,
    /// Samples behind the median.
    pub samples: u32,
    /// Rounds under load, each of which all rivals ran in, of the final that chose the schedule; 0 if it was chosen by
    /// times measured apart from each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub final_rounds: u32,
    /// The strategy that proposed the schedule.
    pub proposed_by: String,
}

impl Provenance {
    /// Whether it was measured on no GPU: somebody wrote the entry by hand, for all of them.
    pub fn is_by_hand(&self) -> bool {
        self.gpu.starts_with("none")
    }

    /// Refuses figures that cannot have been measured.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), Implausible> {
        check_ms("median_ms", self.median_ms)?;
        check_amount("spread_pct", self.spread_pct)?;
        check_amount("tflops", self.tflops)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(rounds: &u32) -> bool {
    *rounds == 0
}
