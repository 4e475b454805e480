//! All that is known of one target after its search.

use autokernel_codegen::schedule::Schedule;
use autokernel_runtime::roofline::Roofline;

use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::outcome::Measurement;
use crate::promote;
use crate::session::Search;

/// All that is known of one target after its search.
#[derive(Clone, Debug)]
pub struct TargetResult {
    /// The search.
    pub search: Search,
    /// The strategy and its seed, in words.
    pub strategy: String,
    /// Where the numbers are from.
    pub origin: String,
    /// Where they were measured.
    pub environment: Environment,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// The final; `None` if the run was stopped before it, or chooses for a range of sizes.
    pub promotion: Option<promote::Outcome>,
    /// Whether its schedules meet with those of other sizes, and one is chosen for all.
    pub is_of_a_range: bool,
    /// The fastest schedule of the whole space, where that is known.
    pub optimum: Option<(Schedule, Measurement)>,
    /// The median of the best of as many random draws, in milliseconds, where the whole space is known.
    pub best_at_random_ms: Option<f64>,
}

impl TargetResult {
    /// The GPU's two ceilings for the problem's inputs, where they are known.
    pub fn roofline(&self) -> Option<Roofline> {
        self.gpu.roofline(self.search.target.input())
    }

    /// The time of the best schedule: that of its final, or else of its trial. In milliseconds.
    pub fn best_ms(&self) -> Option<f64> {
        let in_final = self.promotion.as_ref().and_then(|promotion| promotion.winner.as_ref());
        in_final.map(|(_, time)| time.measurement.median_ms).or_else(|| self.search.best()?.median_ms())
    }

    /// The time of the safe default, in milliseconds: that of its final, or else of its trial.
    pub fn default_ms(&self) -> Option<f64> {
        if let Some(promotion) = &self.promotion {
            return time_of(&promotion.default_time);
        }
        let target = &self.search.target;
        let default = target.problem.class().default_schedule(target.arch);
        self.search.all().find(|trial| trial.schedule == default)?.median_ms()
    }

    /// The time of what is in use now, in milliseconds.
    pub fn incumbent_ms(&self) -> Option<f64> {
        time_of(&self.promotion.as_ref()?.incumbent_time)
    }

    /// The time of cuBLAS with the epilogue as a kernel of its own, in milliseconds.
    pub fn cublas_ms(&self) -> Option<f64> {
        time_of(&self.promotion.as_ref()?.cublas_time)
    }
}

fn time_of(time: &crate::evaluate::Final) -> Option<f64> {
    time.as_ref().ok().map(|time| time.measurement.median_ms)
}
