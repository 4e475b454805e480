//! What plain products carry for GPUs other than Hopper's, where nobody measured: a few tiles of the portable family from large to
//! small, and for few rows one of the skinny one. The model chooses among them by datasheets.

use autokernel_core::Arch;

use super::many::Many;
use super::problem::Class;
use super::schedule::{Raster, RasterOrder, Schedule, SkinnySchedule, Sm80Schedule};
use super::skinny;

const RASTER: Raster = Raster { order: RasterOrder::AlongM, group: 8 };

/// Every ring fits the 99 KiB that a block has on the smallest GPUs.
const TILES: [Sm80Schedule; 4] = {
    const SMALL: Sm80Schedule =
        Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 64, warps_m: 2, warps_n: 2, stages: 3, raster: RASTER };
    [
        Sm80Schedule { tile_m: 256, tile_n: 128, tile_k: 32, warps_m: 4, warps_n: 2, stages: 4, raster: RASTER },
        Sm80Schedule { tile_m: 128, tile_k: 32, stages: 4, ..SMALL },
        SMALL,
        Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 1, warps_n: 4, ..SMALL },
    ]
};

/// Of B stored as [k, n]; two stages spill on sm_80.
const FEW_ROWS: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 4096, warps: 8, stages: 1, overlap: false, raster: Raster::PLAIN };
/// Of B stored as [n, k].
const FEW_ROWS_ALONG_K: SkinnySchedule = SkinnySchedule { tile_n: 16, tile_k: 1024, stages: 2, ..FEW_ROWS };

/// The default, and those of these that keep the rules; none of what is no plain product of 16 bits, whose one image is the default.
pub(super) fn portfolio(class: &Class, arch: Arch) -> Vec<crate::Schedule> {
    if !is_plain(class) {
        return Vec::new();
    }
    let few_rows = if class.layout.transpose_b() { FEW_ROWS_ALONG_K } else { FEW_ROWS };
    let few_rows = skinny::serves(class).then_some(Schedule::Skinny(few_rows));
    let others = TILES.map(Schedule::Sm80).into_iter().chain(few_rows);
    let passing = others.filter(|schedule| schedule.check(class, arch).is_ok());
    [Schedule::default_for(class, arch)].into_iter().chain(passing).map(crate::Schedule::from).collect()
}

/// One product of 16-bit matrices without a body.
pub(super) fn is_plain(class: &Class) -> bool {
    let is_one = class.products() == 1 && class.many() == Many::One && class.body.is_none();
    is_one && class.input.bytes() == 2 && class.weights.is_none() && class.block.is_none()
}

#[cfg(test)]
#[path = "portable_tests.rs"]
mod tests;
