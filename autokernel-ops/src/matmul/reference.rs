//! The launch of `reference_matmul.cuh`.

use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};

use super::plan::Operands;

/// Rows and columns that a block computes at a time; a thread for each element.
pub const TILE: u32 = 16;

/// The launch of the reference called `symbol`. Its result is fp32 whatever the problem's output type is.
pub fn plan(operands: &Operands, symbol: String) -> LaunchPlan {
    let fields = [operands.matrices(), operands.extents(), operands.batch_strides(), operands.others.clone()];
    let kernel = KernelStep {
        symbol,
        threads: TILE * TILE,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid {
            axes: operands.tiles(TILE, TILE),
            cluster: 1,
            tiles: 1,
            residency: Residency::OneEach,
            split: None,
        },
        args: fields.concat(),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
