//! Which schedule serves where nothing was tuned.

use autokernel_core::Arch;

use super::problem::Class;
use super::rules::DIM_STEP;
use super::schedule::AttentionSchedule;

/// Keys of a block that any head fits.
const LEAST_KEYS: u32 = 32;

impl AttentionSchedule {
    /// The schedule for heads of that size where nothing was tuned.
    pub fn default_for(class: &Class) -> Self {
        let widest = class.head_dim.max(class.value_dim);
        let (consumers, tile_keys) = match widest {
            0..=64 => (3, 128),
            65..=96 => (2, 128),
            97..=128 => (2, 128),
            129..=192 => (2, 112),
            _ => (2, 80),
        };
        let mut schedule = AttentionSchedule { consumers, tile_keys, stages: 2, ping_pong: widest <= 128 };
        // A body takes registers.
        while schedule.check(class, Arch::SM_90A).is_err() && schedule.tile_keys > LEAST_KEYS {
            match schedule.consumers {
                3 => schedule.consumers = 2,
                _ => schedule.tile_keys -= DIM_STEP,
            }
        }
        schedule
    }
}
