//! An image that may serve a launch, as the runtime ranks it: which operation it is of, it does not know.

use autokernel_core::Extents;

pub use crate::matmul::model::Machine;
use crate::matmul::model::{Constants, Model, Traits};
use crate::registry::Problem;
use crate::schedule::Schedule;

/// Predicts times on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictor(Model);

impl Predictor {
    /// The model whose constants a build embedded as `json`, on a GPU; none if they cannot be read.
    pub fn read(json: &str, machine: Machine) -> Option<Self> {
        let constants: Constants = serde_json::from_str(json).ok()?;
        constants.is_plausible().then_some(Predictor(Model { machine, constants }))
    }
}

/// An image that may serve a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    traits: Traits,
    schedule: Schedule,
    measured_over_predicted: f64,
}

impl Contender {
    /// The image of the schedule and the problem that a build embedded as JSON; none if they cannot be read.
    pub fn read(problem: &str, schedule: &str, measured_over_predicted: f64) -> Option<Self> {
        let problem: Problem = serde_json::from_str(problem).ok()?;
        let schedule: Schedule = serde_json::from_str(schedule).ok()?;
        Some(Contender { traits: Traits::of(&problem.class(), &schedule)?, schedule, measured_over_predicted })
    }

    /// The time of a launch, in milliseconds.
    pub fn predicted_ms(&self, predictor: &Predictor, extents: &Extents) -> f64 {
        self.measured_over_predicted * predictor.0.predicted_ms(&self.traits, extents)
    }

    /// The knobs that are set at launch, with the values for those extents.
    pub fn launch_knobs(&self, extents: &Extents) -> impl Iterator<Item = (&'static str, i32)> + use<> {
        let schedule = self.traits.with_raster(&self.schedule, extents);
        let knobs: Vec<(&'static str, i32)> =
            schedule.launch_knobs().map(|(name, value)| (name, i32::from(value))).collect();
        knobs.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, Dtype};

    use super::*;
    use crate::matmul;
    use crate::matmul::problem::{self, Layout};

    const H200: Machine = Machine { sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 4800.0 };

    #[test]
    fn what_a_build_embeds_is_ranked_and_its_launch_knobs_are_set() {
        let problem = problem::Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let schedule = matmul::Schedule::default_for(&problem.class(), Arch::SM_90A);
        let json = |value: &dyn erased::Json| value.json();
        let contender =
            Contender::read(&json(&Problem::from(problem.clone())), &json(&Schedule::from(schedule)), 2.0).unwrap();
        let predictor = Predictor::read(&json(&Constants::START), H200).unwrap();
        let extents = matmul::extents(128, 4096, 4096);
        let model = Model { machine: H200, constants: Constants::START };
        let expected = 2.0 * model.predicted_ms(&Traits::new(&problem.class(), &schedule), &extents);
        assert_eq!(contender.predicted_ms(&predictor, &extents), expected);
        let knobs: Vec<_> = contender.launch_knobs(&extents).collect();
        assert_eq!(knobs, [("raster_order", 0), ("raster_group", 32)]);
    }

    #[test]
    fn what_cannot_be_read_is_no_contender_and_no_predictor() {
        assert_eq!(Contender::read("{}", "{}", 1.0), None);
        assert_eq!(Predictor::read("{}", H200), None);
    }

    mod erased {
        pub trait Json {
            fn json(&self) -> String;
        }

        impl<T: serde::Serialize> Json for T {
            fn json(&self) -> String {
                serde_json::to_string(self).unwrap()
            }
        }
    }
}
