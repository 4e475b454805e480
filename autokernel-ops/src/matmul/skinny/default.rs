//! What every kernel carries of the family: for products whose rows begin anywhere, which others must copy first.

use autokernel_core::Arch;

use super::{SkinnySchedule, overlaps, serves};
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;

const FEW: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 1024, warps: 8, stages: 2, overlap: true, raster: Raster::PLAIN };

/// B stored as [k, n]: of up to 8 rows, and of up to 32. Those of 48 took 0.8 of what copies and tensor cores take, others more
/// (`docs/results/drawn-h200/in-place.txt`).
const ROWS_ARE_K: &[SkinnySchedule] =
    &[SkinnySchedule { tile_k: 4096, ..FEW }, SkinnySchedule { tile_m: 32, tile_k: 2048, ..FEW }];
/// B stored as [n, k], whose copies cost much where all is small. Tiles of 32 rows were slower than these.
const ROWS_ARE_N: &[SkinnySchedule] = &[SkinnySchedule { tile_n: 16, ..FEW }];

/// Those that keep the rules; none for archs other than Hopper's, whose plain products carry one beside other tiles.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<SkinnySchedule> {
    if !overlaps(arch) || !serves(class) {
        return Vec::new();
    }
    let images = if class.layout.transpose_b() { ROWS_ARE_N } else { ROWS_ARE_K };
    let keeps = |schedule: &&SkinnySchedule| crate::rule::check(super::RULES, schedule, class, arch).is_ok();
    images.iter().filter(keeps).copied().collect()
}
