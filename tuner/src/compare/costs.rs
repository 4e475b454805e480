//! What a search would take on a GPU, in seconds: a model, since a recording holds no wall times.

use crate::outcome::Outcome;

/// What the parts of a trial take.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Costs {
    /// nvcc on one core for one image, in seconds.
    pub nvcc_s: f64,
    /// Images that are compiled at once.
    pub compile_jobs: usize,
    /// The rest before a schedule is timed and the check of its result, in seconds.
    pub overhead_s: f64,
}

impl Costs {
    /// Compiling so many new images.
    pub fn compile_s(&self, images: usize) -> f64 {
        self.nvcc_s * images.div_ceil(self.compile_jobs.max(1)) as f64
    }

    /// Timing one schedule: its recorded samples at its recorded median.
    pub fn measure_s(&self, outcome: &Outcome) -> f64 {
        let timed = outcome.measurement().map_or(0.0, |timed| timed.median_ms * f64::from(timed.samples) / 1e3);
        self.overhead_s + timed
    }
}
