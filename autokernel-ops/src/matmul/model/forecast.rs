//! The model, of one image.

use autokernel_core::Extents;

use super::{Constants, Machine, Model, Traits};
use crate::forecast::Forecast;
use crate::matmul::extents::{batched_extents, matrices, products, sizes};
use crate::matmul::problem::Class;
use crate::matmul::schedule::Schedule;

/// The knob that the model sets beside the raster, where a family has it.
const SHARED_WAVES: &str = "shared_waves";

/// One image on one GPU.
#[derive(Clone, Debug, PartialEq)]
struct OfImage {
    model: Model,
    traits: Traits,
    schedule: crate::Schedule,
}

/// What the constants that a build embedded as JSON predict of an image, or without them those that a fit begins with.
pub fn forecast(
    class: &Class,
    schedule: Schedule,
    constants: Option<&str>,
    machine: Machine,
) -> Option<Box<dyn Forecast>> {
    let constants = constants.map_or(Ok(Constants::START), serde_json::from_str::<Constants>).ok()?;
    let model = constants.is_plausible().then_some(Model { machine, constants })?;
    Some(Box::new(OfImage { model, traits: Traits::new(class, &schedule), schedule: schedule.into() }))
}

/// Groups as a batch of products of as many rows each: their sizes are known on the device alone.
fn of_equal_groups(extents: &Extents) -> Extents {
    let ([m, n, k], groups) = (sizes(extents), matrices(extents).max(1));
    if products(extents) == groups { *extents } else { batched_extents(groups, m.div_ceil(groups), n, k) }
}

impl Forecast for OfImage {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        self.model.predicted_ms(&self.traits, &of_equal_groups(extents))
    }

    fn launch_knobs(&self, extents: &Extents) -> Vec<(&'static str, i32)> {
        let extents = &of_equal_groups(extents);
        let schedule = self.traits.with_raster(&self.schedule, extents);
        let shared_waves = self.model.shared_waves(&self.traits, extents);
        let shared = u16::try_from(shared_waves).ok().and_then(|waves| schedule.with(SHARED_WAVES, waves));
        shared.unwrap_or(schedule).launch_knobs().map(|(name, value)| (name, i32::from(value))).collect()
    }
}
