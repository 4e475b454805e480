//! The launch of `reference_matmul.cuh`.

use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};

use super::plan::{A, B, C, extents, leading, pointer, tiles};

/// Rows and columns that a block computes at a time; a thread for each element.
pub const TILE: u32 = 16;

/// The launch of the reference called `symbol`. Its result is fp32 whatever the problem's output type is.
pub fn plan(symbol: String) -> LaunchPlan {
    let addresses = [pointer("a", A), pointer("b", B), pointer("c", C)];
    let strides = [leading("lda", A), leading("ldb", B), leading("ldc", C)];
    let kernel = KernelStep {
        symbol,
        threads: TILE * TILE,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid { axes: tiles(TILE, TILE), cluster: 1, tiles: 1, residency: Residency::OneEach },
        args: [addresses, strides, extents()].into_iter().flatten().collect(),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
