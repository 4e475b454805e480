//! The launch of `reference_matmul.cuh`.

use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};

use super::plan::{Operands, extents, tiles};

/// Rows and columns that a block computes at a time; a thread for each element.
pub const TILE: u32 = 16;

/// The launch of the reference called `symbol`. Its result is fp32 whatever the problem's output type is.
pub fn plan(operands: &Operands, symbol: String) -> LaunchPlan {
    let fields = operands.matrices().chain(extents());
    let kernel = KernelStep {
        symbol,
        threads: TILE * TILE,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid { axes: tiles(TILE, TILE), cluster: 1, tiles: 1, residency: Residency::OneEach },
        args: fields.chain(operands.others.iter().cloned()).collect(),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
