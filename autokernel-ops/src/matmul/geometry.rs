//! What a launch must know of a schedule.

use super::raster::Raster;
use crate::family::Family;

/// The launch geometry of a compiled kernel: plain numbers, derived from its schedule and problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The kernel family, which decides the argument struct and the grid.
    pub family: Family,
    /// Rows of `C` a tile has.
    pub tile_m: u32,
    /// Columns of `B` a block multiplies.
    pub tile_n: u32,
    /// Columns of `C` a tile has: as many, or with two products half of them.
    pub columns: u32,
    /// Elements of K in one stage.
    pub tile_k: u32,
    /// Blocks of a cluster along M.
    pub cluster_m: u32,
    /// Blocks of a cluster along N.
    pub cluster_n: u32,
    /// Whether the tile is computed transposed, which decides how it is stored.
    pub swap_ab: bool,
    /// Blocks that share one tile's sum over K.
    pub split_k: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The order of tiles.
    pub raster: Raster,
}
