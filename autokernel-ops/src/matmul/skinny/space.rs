//! Which schedules a search tries.

use autokernel_core::Arch;

use super::{SkinnySchedule, overlaps};
use crate::matmul::schedule::Raster;

/// Every combination; the rules leave those of a layout.
pub fn images(arch: Arch) -> Vec<SkinnySchedule> {
    let mut images = Vec::new();
    for tile_m in [8, 16, 32, 64] {
        for tile_n in [16, 32, 64, 128] {
            for tile_k in [512, 768, 1024, 1536, 2048, 4096] {
                for warps in [8, 16] {
                    for stages in 1..=4 {
                        let (overlap, raster) = (overlaps(arch), Raster::PLAIN);
                        images.push(SkinnySchedule { tile_m, tile_n, tile_k, warps, stages, overlap, raster });
                    }
                }
            }
        }
    }
    images
}
