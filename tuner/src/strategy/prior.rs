//! What the model says about a schedule before anything is measured, corrected by what neighbouring shapes showed.
//!
//! It is the model that a launch chooses by, of whichever operation. It ranks schedules well where tiles do not fill the
//! GPU evenly, and knows little of what makes kernels of equal tiles differ: that is left to measurements.

use std::collections::{BTreeMap, HashMap};

use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;

use super::brief::Brief;
use super::categories::Categories;
use super::effects::Effects;
use crate::gpu_facts::GpuFacts;
use crate::placement::placement;
use crate::target::Target;

/// How much of what neighbouring shapes showed is taken to hold here as well.
const TRANSFER: f64 = 0.5;
/// Launch, and filling the pipeline.
const LAUNCH_MS: f64 = 0.0015;

/// The logarithm of the predicted time of each schedule of `brief`'s space: by arithmetic, corrected by what the
/// trials of neighbouring shapes in the brief's history showed of its knobs.
pub fn logs(brief: &Brief) -> Vec<f64> {
    let prior = Prior::new(&brief.target, &brief.gpu);
    let arithmetic = brief.space.iter().map(|schedule| prior.predicted_ms(schedule).ln());
    let surprises = neighbours_surprises(brief);
    if surprises.is_empty() {
        return arithmetic.collect();
    }
    let categories = Categories::new(&brief.space);
    let effects = Effects::fit(&categories, &surprises);
    let corrected = |(index, log)| log + TRANSFER * effects.of(&categories, index);
    arithmetic.enumerate().map(corrected).collect()
}

/// By how much the times of the history's other shapes missed what arithmetic says, beyond what all times of the same
/// shape did.
fn neighbours_surprises(brief: &Brief) -> Vec<(usize, f64)> {
    let index: HashMap<&Schedule, usize> = brief.space.iter().enumerate().map(|(index, of)| (of, index)).collect();
    let mut by_shape: BTreeMap<Extents, Vec<(usize, f64)>> = BTreeMap::new();
    for trial in brief.history.iter().filter(|trial| *trial.target != brief.target) {
        if let (Some(&index), Some(ms)) = (index.get(&trial.schedule), trial.cost()) {
            let expected = Prior::new(&trial.target, &brief.gpu).predicted_ms(&trial.schedule);
            by_shape.entry(trial.target.shape).or_default().push((index, (ms / expected).ln()));
        }
    }
    let centred = |surprises: Vec<(usize, f64)>| {
        let mean = surprises.iter().map(|(_, surprise)| surprise).sum::<f64>() / surprises.len() as f64;
        surprises.into_iter().map(move |(index, surprise)| (index, surprise - mean))
    };
    by_shape.into_values().flat_map(centred).collect()
}

/// The model for one target on one GPU.
pub struct Prior<'p> {
    target: &'p Target,
    class: ProblemClass,
    gpu: &'p GpuFacts,
}

impl<'p> Prior<'p> {
    /// The model for `target` on `gpu`.
    pub fn new(target: &'p Target, gpu: &'p GpuFacts) -> Self {
        Prior { target, class: target.problem.class(), gpu }
    }

    /// The time that `schedule` should take, in milliseconds.
    pub fn predicted_ms(&self, schedule: &Schedule) -> f64 {
        let forecast = self.class.forecast(schedule, None, self.gpu.machine(self.class.multiplies()));
        forecast.map_or_else(|| self.traffic_ms(schedule), |forecast| forecast.predicted_ms(&self.target.shape))
    }

    /// The time of the least traffic, as far as whole waves of blocks keep all SMs at it.
    fn traffic_ms(&self, schedule: &Schedule) -> f64 {
        let Prior { target, class, gpu, .. } = self;
        let placement = placement(schedule, class, target.shape, gpu.sm_count, 1);
        let busy = (placement.utilization_pct / 100.0).clamp(0.1, 1.0);
        target.work().bytes / (gpu.machine(None).memory_gb_per_s * 1e6 * busy) + LAUNCH_MS
    }
}
