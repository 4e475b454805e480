//! What every kernel carries of the family: for products whose rows begin anywhere, which others must copy first.

use autokernel_core::Arch;

use super::{SkinnySchedule, overlaps, serves};
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;

const FEW: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 1024, warps: 8, stages: 2, overlap: true, raster: Raster::PLAIN };

/// B stored as [k, n]. Tiles of 64 rows were slower than copies and tensor cores (`docs/results/drawn-h200/odd-seed2.txt`).
const ROWS_ARE_K: SkinnySchedule = SkinnySchedule { stages: 4, ..FEW };
/// B stored as [n, k], whose copies cost much where all is small. Tiles of 32 rows were slower than these.
const ROWS_ARE_N: SkinnySchedule = SkinnySchedule { tile_n: 16, ..FEW };

/// One, if it keeps the rules; none for the archs that carry one image, as a launch would choose among these alone.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<SkinnySchedule> {
    if !overlaps(arch) || !serves(class) {
        return Vec::new();
    }
    let image = if class.layout.transpose_b() { ROWS_ARE_N } else { ROWS_ARE_K };
    let keeps = |schedule: &SkinnySchedule| crate::rule::check(super::RULES, schedule, class, arch).is_ok();
    [image].into_iter().filter(keeps).collect()
}
