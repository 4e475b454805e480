//! What every kernel carries of the family: for products whose rows begin anywhere, which others must copy first.

use autokernel_core::Arch;

use super::{SkinnySchedule, overlaps, serves};
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;

const FEW: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 1024, warps: 8, stages: 2, overlap: true, raster: Raster::PLAIN };

/// B stored as [k, n]: few rows, the same where an SM has one block at most, and more rows. Nobody measured them.
const ROWS_ARE_K: [SkinnySchedule; 3] =
    [FEW, SkinnySchedule { stages: 4, ..FEW }, SkinnySchedule { tile_m: 64, tile_k: 512, ..FEW }];
/// B stored as [n, k], whose copies cost much where all is small: few rows and more.
const ROWS_ARE_N: [SkinnySchedule; 2] =
    [SkinnySchedule { tile_n: 16, ..FEW }, SkinnySchedule { tile_m: 32, tile_n: 32, ..FEW }];

/// Those that keep the rules; none for the archs that carry one image, as a launch would choose among these alone.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<SkinnySchedule> {
    if !overlaps(arch) || !serves(class) {
        return Vec::new();
    }
    let images = if class.layout.transpose_b() { &ROWS_ARE_N[..] } else { &ROWS_ARE_K };
    let keeps = |schedule: &&SkinnySchedule| crate::rule::check(super::RULES, *schedule, class, arch).is_ok();
    images.iter().filter(keeps).copied().collect()
}
