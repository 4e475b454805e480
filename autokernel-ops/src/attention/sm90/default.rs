//! Which schedule serves where nothing was tuned.

use autokernel_core::Arch;

use super::schedule::Sm90Schedule;
use crate::attention::dims::DIM_STEP;
use crate::attention::problem::Class;
use crate::attention::sequences::Sequences;

/// Keys of a block that any head fits.
const LEAST_KEYS: u32 = 32;

impl Sm90Schedule {
    /// The schedule for heads of that size where nothing was tuned.
    pub fn default_for(class: &Class) -> Self {
        let sequences = class.sequences;
        if sequences.are_whole() || sequences.are_packed() { Self::whole_for(class) } else { Self::few_for(class) }
    }

    /// For many queries of sequences. Where nothing waits for a largest score, three consumers hide what a cap costs.
    pub fn whole_for(class: &Class) -> Self {
        let moving = Self::moving_for(class);
        if !class.may_stay_within() {
            return moving;
        }
        let within = match class.head_dim.max(class.value_dim) {
            0..=64 if !class.sequences.are_whole() => {
                Sm90Schedule { consumers: 3, tile_keys: 128, exp_by_fma: 0, ..moving }
            }
            0..=64 => Sm90Schedule { exp_by_fma: 3, ..moving },
            97..=128 => Sm90Schedule { consumers: 3, tile_keys: 80, exp_by_fma: 0, ..moving },
            _ => moving,
        };
        if within.check(class, Arch::SM_90A).is_ok() { within } else { moving }
    }

    /// The same where the shift of a row's exponents moves as larger scores come.
    pub fn moving_for(class: &Class) -> Self {
        let widest = class.head_dim.max(class.value_dim);
        let (consumers, tile_keys) = match widest {
            0..=64 => (3, 128),
            65..=128 => (2, 128),
            129..=192 => (2, 112),
            _ => (2, 80),
        };
        let (ping_pong, exp_by_fma) = (widest <= 128, exp_by_fma(class));
        Sm90Schedule { consumers, tile_keys, stages: 2, ping_pong, share_keys: false, exp_by_fma }.fitted(class)
    }

    /// For many queries of sequences whose lengths the device knows, by blocks that share keys.
    pub fn many_for(class: &Class) -> Self {
        let whole = Self::moving_for(&Class { sequences: Sequences::default(), ..class.clone() });
        Sm90Schedule { share_keys: true, ..whole }.fitted(class)
    }

    /// For few queries on many keys, whose time is that of reading keys: one consumer. Two stages are bytes enough under way, and with
    /// more the first block comes later.
    pub fn few_for(class: &Class) -> Self {
        let tile_keys = if class.head_dim.max(class.value_dim) <= 128 { 128 } else { 64 };
        let few =
            Sm90Schedule { consumers: 1, tile_keys, stages: 2, ping_pong: false, share_keys: true, exp_by_fma: 0 };
        few.fitted(class)
    }

    /// With fewer consumers or keys, until it fits: a body takes registers, and so do shares.
    fn fitted(mut self, class: &Class) -> Self {
        while self.check(class, Arch::SM_90A).is_err() && self.tile_keys > LEAST_KEYS {
            match self.consumers {
                3 => self.consumers = 2,
                _ => self.tile_keys -= DIM_STEP,
            }
        }
        self
    }
}

/// Of eight exponentials those that leave the special-function unit to what a body calls.
fn exp_by_fma(class: &Class) -> u32 {
    let calls = class.score.as_ref().is_some_and(|score| score.cost.special_functions > 0);
    u32::from(calls)
}
