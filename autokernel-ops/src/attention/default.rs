//! Which schedule serves where nothing was tuned.

use super::problem::Class;
use super::schedule::AttentionSchedule;

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
        AttentionSchedule { consumers, tile_keys, stages: 2, ping_pong: widest <= 128 }
    }
}
