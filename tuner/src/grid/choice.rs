//! What a launch would choose, without a launch.

use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::model::{Model, Traits};
use autokernel_codegen::schedule::Schedule;

use crate::gpu_facts::GpuFacts;
use crate::target::Target;

/// The schedule that the model ranks first among the portfolio of `config` for `target` on `gpu`, with its predicted time
/// in milliseconds; none where there is no portfolio. Tuned entries do not count.
pub fn ranked(config: &Config, target: &Target, gpu: &GpuFacts) -> Option<(Schedule, f64)> {
    let portfolio = config.portfolio_for(&target.problem, target.arch)?;
    let model = Model { machine: gpu.machine(), constants: portfolio.model };
    let class = target.problem.class();
    let timed = portfolio.images_for(&class).filter_map(|image| {
        let traits = Traits::of(&class, &image.schedule)?;
        let ms = image.measured_over_predicted * model.predicted_ms(&traits, &target.shape);
        Some((traits.with_raster(&image.schedule, &target.shape), ms))
    });
    timed.min_by(|(_, a), (_, b)| a.total_cmp(b))
}
