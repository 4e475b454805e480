//! An image that may serve a launch, as the runtime ranks it: which operation it is of, it does not know.

use autokernel_core::{Dtype, Extents};

use crate::forecast::Forecast;
pub use crate::forecast::Machine;
use crate::registry::Problem;
use crate::schedule::Schedule;

/// The type that the matrix units multiply for the problem that a build embedded as JSON; none where they have nothing to do.
pub fn multiplies(problem: &str) -> Option<Dtype> {
    serde_json::from_str::<Problem>(problem).ok()?.class().multiplies()
}

/// An image that may serve a launch on one GPU.
#[derive(Debug)]
pub struct Contender {
    forecast: Box<dyn Forecast>,
    measured_over_predicted: f64,
}

impl Contender {
    /// The image of the schedule and the problem that a build embedded as JSON, by the model whose constants it embedded
    /// too, if there are any; none if they cannot be read, or nothing predicts such an image.
    pub fn read(
        problem: &str,
        schedule: &str,
        constants: Option<&str>,
        machine: Machine,
        measured_over_predicted: f64,
    ) -> Option<Self> {
        let problem: Problem = serde_json::from_str(problem).ok()?;
        let schedule: Schedule = serde_json::from_str(schedule).ok()?;
        let forecast = problem.forecast(&schedule, constants, machine)?;
        Some(Contender { forecast, measured_over_predicted })
    }

    /// The time of a launch under a load that lasts, in milliseconds.
    pub fn predicted_ms(&self, extents: &Extents) -> f64 {
        self.forecast.expected_ms(extents, self.measured_over_predicted)
    }

    /// The knobs that are set at launch, with the values for those extents.
    pub fn launch_knobs(&self, extents: &Extents) -> Vec<(&'static str, i32)> {
        self.forecast.launch_knobs(extents)
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, ComputeCapability, Dtype};

    use super::*;
    use crate::matmul;
    use crate::matmul::model::{Constants, Model, Traits};
    use crate::matmul::problem::{self, Layout};

    const H200: Machine = Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.4,
        memory_gb_per_s: 4800.0,
    };

    #[test]
    fn what_a_build_embeds_is_ranked_and_its_launch_knobs_are_set() {
        let problem = problem::Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let schedule = matmul::Schedule::default_for(&problem.class(), Arch::SM_90A);
        let [embedded, image] = [json(&Problem::from(problem.clone())), json(&Schedule::from(schedule))];
        let constants = Constants { launch_us: 5.0, ..Constants::START };
        let contender = Contender::read(&embedded, &image, Some(&json(&constants)), H200, 2.0).unwrap();
        let extents = matmul::extents(128, 4096, 4096);
        let model = Model { machine: H200, constants };
        let expected = 2.0 * model.predicted_ms(&Traits::new(&problem.class(), &schedule), &extents);
        assert_eq!(contender.predicted_ms(&extents), expected);
        let knobs = [("split_k", 1), ("shared_waves", 0), ("raster_order", 0), ("raster_group", 32)];
        assert_eq!(contender.launch_knobs(&extents), knobs);
        let unfitted = Contender::read(&embedded, &image, None, H200, 2.0).unwrap();
        assert!(unfitted.predicted_ms(&extents) < expected, "a launch takes 5 us by the constants alone");
        assert!(Contender::read(&embedded, &image, Some("{}"), H200, 1.0).is_none());
    }

    #[test]
    fn what_cannot_be_read_is_no_contender() {
        assert!(Contender::read("{}", "{}", None, H200, 1.0).is_none());
    }

    fn json(value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }
}
