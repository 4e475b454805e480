//! Which schedules serve where nothing was tuned: estimates, which nothing was fitted to.

use autokernel_core::{Arch, Features};

use super::schedule::Sm80Schedule;
use crate::attention::problem::Class;

/// Keys of a block that any head fits.
const LEAST_KEYS: u32 = 16;
/// GPUs whose blocks have the least shared memory: 99 KiB, as those of 8.9 and 12.0.
const LEAST_SHARED: Arch = Arch::new(8, 6, Features::Baseline);
/// What rows and keys of a block change by.
const STEP: u32 = 16;

impl Sm80Schedule {
    /// The schedule for a class where nothing was tuned.
    pub fn default_for(class: &Class, arch: Arch) -> Self {
        if class.sequences.are_whole() { Self::whole_for(class, arch) } else { Self::few_for(class, arch) }
    }

    /// For many queries of sequences that the tensors say: warps of 32 queries while their sums leave registers for that,
    /// and four of them, so that two blocks share an SM; beyond 128 elements one block of eight warps of 16.
    pub fn whole_for(class: &Class, arch: Arch) -> Self {
        let (warps, rows_of_warp, tile_keys) = match class.head_dim.max(class.value_dim) {
            0..=128 => (4, 32, 64),
            129..=192 => (8, 16, 64),
            _ => (8, 16, 48),
        };
        Self { warps, rows_of_warp, tile_keys, stages: 2, share_keys: false }.fitted(class, arch)
    }

    /// For many queries of sequences whose lengths the device knows.
    pub fn many_for(class: &Class, arch: Arch) -> Self {
        Self { warps: 8, rows_of_warp: 16, tile_keys: 64, stages: 2, share_keys: true }.fitted(class, arch)
    }

    /// For few queries on many keys, whose time is that of reading keys: bytes under way.
    pub fn few_for(class: &Class, arch: Arch) -> Self {
        Self { warps: 4, rows_of_warp: 16, tile_keys: 64, stages: 4, share_keys: true }.fitted(class, arch)
    }

    /// With fewer stages, keys or rows, until it fits: a body takes registers, and so do shares.
    fn fitted(mut self, class: &Class, arch: Arch) -> Self {
        while let Err(broken) = self.check(class, arch) {
            match broken.rule {
                "shared_memory" if self.stages > 2 => self.stages -= 1,
                "registers" if self.rows_of_warp > STEP && self.tile_keys <= 2 * STEP => self.rows_of_warp -= STEP,
                _ if self.tile_keys > LEAST_KEYS => self.tile_keys -= STEP,
                _ if self.rows_of_warp > STEP => self.rows_of_warp -= STEP,
                _ if self.warps > 4 => self.warps = 4,
                _ => break,
            }
        }
        self
    }
}

/// What a kernel carries where nothing was tuned: for many queries, and for few on many keys. An image of a baseline arch runs on GPUs
/// whose blocks have less shared memory, too: where the two do not fit that, others stand behind them which do.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<Sm80Schedule> {
    let mut all = for_many_and_few(class, arch).to_vec();
    if arch.features == Features::Baseline {
        all.extend(for_many_and_few(class, LEAST_SHARED));
    }
    let mut valid: Vec<Sm80Schedule> = Vec::new();
    for schedule in all {
        if !valid.contains(&schedule) && schedule.check(class, arch).is_ok() {
            valid.push(schedule);
        }
    }
    valid
}

fn for_many_and_few(class: &Class, arch: Arch) -> [Sm80Schedule; 2] {
    let many = match class.sequences.are_whole() {
        true => Sm80Schedule::whole_for(class, arch),
        false => Sm80Schedule::many_for(class, arch),
    };
    [many, Sm80Schedule::few_for(class, arch)]
}
