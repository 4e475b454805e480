//! The schedules used where nothing was tuned: middle of the road, on every GPU of the arch.

use super::schedule::{Raster, RasterOrder, Schedule, Sm80Schedule, Sm90Schedule};
use crate::matmul::problem::Class;
use autokernel_core::Arch;

const RASTER: Raster = Raster { order: RasterOrder::AlongM, group: 8 };

pub(super) fn default_for(problem: &Class, arch: Arch) -> Schedule {
    let schedule = if arch == Arch::SM_90A { SM90 } else { SM80 };
    debug_assert_eq!(schedule.check(problem, arch), Ok(()));
    schedule
}

/// Four warps and 64 KiB of ring: fits the 99 KiB of the smallest Ampere and Ada parts.
const SM80: Schedule = Schedule::Sm80(Sm80Schedule {
    tile_m: 128,
    tile_n: 128,
    tile_k: 32,
    warps_m: 2,
    warps_n: 2,
    stages: 4,
    raster: RASTER,
});

const SM90: Schedule = Schedule::Sm90(Sm90Schedule { consumers: 2, raster: RASTER, ..Sm90Schedule::PLAIN });
