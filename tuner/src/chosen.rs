//! What a launch would choose where nobody tuned, without a launch.

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use crate::gpu_facts::GpuFacts;
use crate::target::Target;

/// Of the portfolio that a build with `config` compiles for `target`, the schedule that is predicted to be fastest on `gpu`,
/// its launch-time knobs set, and that time in milliseconds; none where there is no portfolio. Tuned entries do not count.
pub fn predicted(config: &Config, target: &Target, gpu: &GpuFacts) -> Option<(Schedule, f64)> {
    let class = target.problem.class();
    let constants = config.portfolio_for(&target.problem, target.arch);
    let constants = constants.map(|of| serde_json::to_string(&of.model).expect("constants have only string keys"));
    let images = config.images_for(&target.problem, target.arch).into_iter();
    let machine = gpu.machine(class.multiplies());
    let timed = images.filter_map(|(image, measured_over_predicted)| {
        let forecast = class.forecast(&image, constants.as_deref(), machine)?;
        let knobs = forecast.launch_knobs(&target.shape);
        Some((with_knobs(image, &knobs), forecast.expected_ms(&target.shape, measured_over_predicted)))
    });
    timed.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// `image` with the values that its model sets at launch.
fn with_knobs(image: Schedule, knobs: &[(&'static str, i32)]) -> Schedule {
    let set = |schedule: Schedule, &(name, value): &(&str, i32)| {
        u16::try_from(value).ok().and_then(|value| schedule.with(name, value)).unwrap_or(schedule)
    };
    knobs.iter().fold(image, set)
}

#[cfg(test)]
pub(crate) mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::model::{Model, Traits, splits_of};
    use autokernel_codegen::matmul::{self, extents};
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;

    pub(crate) const H200: &str = r#"{"name": "NVIDIA H200", "sm_count": 132, "shared_bytes_per_block": 232448,
        "shared_bytes_per_sm": 233472, "registers_per_sm": 65536, "l2_bytes": 52428800, "memory_gb_per_s": 4800.0,
        "matrix_tflops": 989.4}"#;

    /// The config that ships.
    pub(crate) fn shipped() -> Config {
        Config::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../best_config.json")).unwrap()
    }

    /// A product with LeakyReLU.
    pub(crate) fn product(sizes: [u32; 3]) -> Target {
        let [m, n, k] = sizes;
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "leaky_relu".parse().unwrap());
        Target { problem, arch: Arch::SM_90A, shape: extents(m, n, k) }
    }

    #[test]
    fn an_untuned_product_is_launched_as_the_room_of_products_predicts_its_portfolio() {
        let (config, gpu) = (shipped(), serde_json::from_str::<GpuFacts>(H200).unwrap());
        let mut chosen = std::collections::HashSet::new();
        for sizes in [[3, 5000, 777], [300, 1300, 2100], [5000, 5000, 5000], [8192, 640, 12288]] {
            let target = product(sizes);
            let portfolio = config.portfolio_for(&target.problem, target.arch).unwrap();
            let class = target.problem.class();
            let model = Model { machine: gpu.machine(class.multiplies()), constants: portfolio.model };
            let product = target.problem.as_product().unwrap().class();
            let timed = config.images_for(&target.problem, target.arch).into_iter().flat_map(
                |(schedule, measured_over_predicted)| {
                    let typed = matmul::Schedule::try_from(&schedule).unwrap();
                    let splits: Vec<Schedule> = splits_of(&product, typed).map(Schedule::from).collect();
                    let forms = if splits.is_empty() { vec![schedule] } else { splits };
                    let timed = |form: Schedule| {
                        let traits = Traits::of(&class, &form).unwrap();
                        let rested_ms = measured_over_predicted * model.predicted_ms(&traits, &target.shape);
                        let ms = model.sustained_ms(&traits, &target.shape, rested_ms);
                        (traits.with_raster(&form, &target.shape, &model.machine), ms)
                    };
                    forms.into_iter().map(timed).collect::<Vec<_>>()
                },
            );
            let best = timed.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap();
            assert_eq!(predicted(&config, &target, &gpu), Some(best), "{target}");
            chosen.insert(best.0.image());
        }
        assert!(chosen.len() > 1, "one image for all of them shows little");
    }

    #[test]
    fn a_product_without_a_portfolio_is_not_predicted() {
        let gpu = serde_json::from_str(H200).unwrap();
        assert_eq!(predicted(&Config::default(), &product([512, 512, 512]), &gpu), None);
    }
}
