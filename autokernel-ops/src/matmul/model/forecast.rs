//! The model, of one image.

use autokernel_core::Extents;

use super::{Constants, Machine, Model, Traits};
use crate::forecast::Forecast;
use crate::matmul::extents::{batched_extents, matrices, sizes};
use crate::matmul::many::Many;
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
    many: Many,
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
    Some(Box::new(OfImage {
        model,
        traits: Traits::new(class, &schedule),
        schedule: schedule.into(),
        many: class.many(),
    }))
}

impl OfImage {
    /// Groups as a batch of products of as many rows each, or of as much of K: their sizes are known on the device alone.
    fn of_equal_groups(&self, extents: &Extents) -> Extents {
        let ([m, n, k], groups) = (sizes(extents), matrices(extents).max(1));
        match self.many {
            Many::One | Many::Batch | Many::Masked => *extents,
            Many::Groups => batched_extents(groups, m.div_ceil(groups), n, k),
            Many::GroupsAlongK => batched_extents(groups, m, n, k.div_ceil(groups)),
        }
    }
}

impl Forecast for OfImage {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        match self.many {
            Many::Groups => self.model.predicted_ms_of_groups(&self.traits, extents),
            _ => self.model.predicted_ms(&self.traits, &self.of_equal_groups(extents)),
        }
    }

    fn launch_knobs(&self, extents: &Extents) -> Vec<(&'static str, i32)> {
        let extents = &self.of_equal_groups(extents);
        let schedule = self.traits.with_raster(&self.schedule, extents);
        let shared_waves = self.model.shared_waves(&self.traits, extents);
        let shared = u16::try_from(shared_waves).ok().and_then(|waves| schedule.with(SHARED_WAVES, waves));
        shared.unwrap_or(schedule).launch_knobs().map(|(name, value)| (name, i32::from(value))).collect()
    }
}
