//! The launch of `reference_matmul.cuh`.

use autokernel_core::plan::{Buffer, Contents};
use autokernel_core::{Arg, Dtype, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::plan::{N, Operands, field};

/// Rows and columns that a block computes at a time; a thread for each element.
pub const TILE: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = TILE * TILE;

/// The launch of the reference called `symbol`. Its result is fp32 whatever the problem's output type is; where there is no C, it lies in
/// the workspace.
pub fn plan(operands: &Operands, symbol: String) -> LaunchPlan {
    let fields = [
        operands.matrices(),
        operands.extents(),
        operands.batch_strides(),
        operands.others.clone(),
        c_of_workspace(operands),
    ];
    let kernel = KernelStep {
        symbol,
        threads: THREADS,
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
    let tile = Buffer::of_block(TILE * TILE * Dtype::F32.bytes(), Contents::Anything);
    let workspace = if operands.c.is_none() { vec![tile] } else { Vec::new() };
    LaunchPlan { workspace, ..LaunchPlan::of_kernel(kernel, Vec::new()) }
}

/// A C that nobody reads.
fn c_of_workspace(operands: &Operands) -> Vec<Field> {
    if operands.c.is_some() {
        return Vec::new();
    }
    vec![field("c", Arg::Workspace { buffer: 0 }), field("ldc", Arg::Extent { dim: N })]
}
