//! The launch of `reference_matmul.cuh`.

use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};

use super::plan::{Operands, extents, leading, pointer, tiles};

/// Rows and columns that a block computes at a time; a thread for each element.
pub const TILE: u32 = 16;

/// The launch of the reference called `symbol`. Its result is fp32 whatever the problem's output type is.
pub fn plan(operands: &Operands, symbol: String) -> LaunchPlan {
    let &Operands { a, b, c, ref others } = operands;
    let addresses = [pointer("a", a), pointer("b", b), pointer("c", c)];
    let strides = [leading("lda", a), leading("ldb", b), leading("ldc", c)];
    let fields = [addresses, strides, extents()].into_iter().flatten();
    let kernel = KernelStep {
        symbol,
        threads: TILE * TILE,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid { axes: tiles(TILE, TILE), cluster: 1, tiles: 1, residency: Residency::OneEach },
        args: fields.chain(others.iter().cloned()).collect(),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
