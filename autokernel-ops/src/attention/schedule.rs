//! How attention is computed: a schedule of one of the kernel families.

use super::problem::Class;
use super::sm80::{self, Sm80Schedule};
use super::sm90::{self, Sm90Schedule};
use crate::schedule::typed_schedules;

typed_schedules! {
    Class;
    /// mma.sync and cp.async; sm_80 and later.
    Sm80(Sm80Schedule, sm80::RULES),
    /// wgmma and TMA; sm_90a alone.
    Sm90(Sm90Schedule, sm90::RULES),
}

impl Schedule {
    /// Rows of a tile: queries, or with [`shares_keys`](Self::shares_keys) queries each with all heads that share keys.
    pub fn tile_queries(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.tile_queries(),
            Schedule::Sm90(schedule) => schedule.tile_queries(),
        }
    }

    /// Keys of a block.
    pub fn tile_keys(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.tile_keys,
            Schedule::Sm90(schedule) => schedule.tile_keys,
        }
    }

    /// Blocks of keys, or of keys and values in turn, that are on chip at once.
    pub fn stages(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.stages,
            Schedule::Sm90(schedule) => schedule.stages,
        }
    }

    /// Whether blocks of the grid share the keys of a tile.
    pub fn shares_keys(&self) -> bool {
        match self {
            Schedule::Sm80(schedule) => schedule.share_keys,
            Schedule::Sm90(schedule) => schedule.share_keys,
        }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.threads(),
            Schedule::Sm90(schedule) => schedule.threads(),
        }
    }
}
