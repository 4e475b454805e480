//! The model, of one image.

use autokernel_core::{Arch, Extents};

use super::{Constants, Machine, Model, Traits};
use crate::forecast::Forecast;
use crate::matmul::extents::{batched_extents, matrices, sizes};
use crate::matmul::many::Many;
use crate::matmul::problem::Class;
use crate::matmul::schedule::{Schedule, Sm90Schedule};

/// The knob that the model sets beside the raster and the split of K, where a family has it.
const SHARED_WAVES: &str = "shared_waves";
/// Splits of K among which a launch chooses: those of recordings. What an image that can split takes for whole tiles nobody measured.
/// Of equal ones the smaller.
const SPLITS: [u32; 3] = [2, 4, 8];

/// One image on one GPU.
#[derive(Clone, Debug, PartialEq)]
struct OfImage {
    model: Model,
    /// The schedule as it is.
    own: Form,
    /// The image at each split of K that a launch may have; none where it has no choice.
    splits: Vec<Form>,
    many: Many,
}

/// An image at one split of K.
#[derive(Clone, Debug, PartialEq)]
struct Form {
    traits: Traits,
    schedule: crate::Schedule,
}

impl Form {
    fn new(class: &Class, schedule: Schedule) -> Self {
        Form { traits: Traits::new(class, &schedule), schedule: schedule.into() }
    }
}

/// What the constants that a build embedded as JSON predict of an image, or without them those that a fit begins with.
pub fn forecast(
    class: &Class,
    schedule: Schedule,
    constants: Option<&str>,
    machine: Machine,
) -> Option<Box<dyn Forecast>> {
    let constants = constants.map_or(Ok(Constants::START), serde_json::from_str::<Constants>).ok()?;
    let model = constants.check().is_ok().then_some(Model { machine, constants })?;
    let splits = splits_of(class, schedule).map(|schedule| Form::new(class, schedule)).collect();
    Some(Box::new(OfImage { model, own: Form::new(class, schedule), splits, many: class.many() }))
}

/// The forms of the image of `schedule` among which a launch chooses: those that differ in the split of K. None where it has no choice.
pub fn splits_of(class: &Class, schedule: Schedule) -> impl Iterator<Item = Schedule> + '_ {
    let splitting = match schedule {
        Schedule::Sm90(schedule) if schedule.splits => Some(schedule),
        _ => None,
    };
    let of_image = |schedule| SPLITS.map(|split_k| Schedule::Sm90(Sm90Schedule { split_k, ..schedule }));
    let all = splitting.into_iter().flat_map(of_image);
    all.filter(|schedule| schedule.check(class, Arch::SM_90A).is_ok())
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

    fn ms_of(&self, form: &Form, extents: &Extents) -> f64 {
        match self.many {
            Many::Groups => self.model.predicted_ms_of_groups(&form.traits, extents),
            _ => self.model.predicted_ms(&form.traits, &self.of_equal_groups(extents)),
        }
    }

    /// What a launch of those extents takes, and how long that is.
    fn fastest(&self, extents: &Extents) -> (&Form, f64) {
        let timed = self.splits.iter().map(|form| (form, self.ms_of(form, extents)));
        let least = timed.reduce(|best, other| if other.1 < best.1 { other } else { best });
        least.unwrap_or_else(|| (&self.own, self.ms_of(&self.own, extents)))
    }
}

impl Forecast for OfImage {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        self.ms_of(&self.own, extents)
    }

    fn launched_ms(&self, extents: &Extents) -> f64 {
        self.fastest(extents).1
    }

    fn sustained_ms(&self, extents: &Extents, rested_ms: f64) -> f64 {
        self.model.sustained_ms(&self.own.traits, extents, rested_ms)
    }

    fn launch_knobs(&self, extents: &Extents) -> Vec<(&'static str, i32)> {
        let Form { traits, schedule } = self.fastest(extents).0;
        let extents = &self.of_equal_groups(extents);
        let schedule = traits.with_raster(schedule, extents, &self.model.machine);
        let shared_waves = self.model.shared_waves(traits, extents);
        let shared = u16::try_from(shared_waves).ok().and_then(|waves| schedule.with(SHARED_WAVES, waves));
        shared.unwrap_or(schedule).launch_knobs().map(|(name, value)| (name, i32::from(value))).collect()
    }
}
