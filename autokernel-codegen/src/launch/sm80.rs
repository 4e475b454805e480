//! The launch of `sm80_matmul.cuh`.

use autokernel_core::{Alignment, Grid, KernelStep, LaunchPlan, Residency};

use super::{A, B, C, VECTOR_BYTES, aligned_rows, extents, leading, pointer, raster, tiles};
use crate::problem::ProblemClass;
use crate::schedule::Sm80Schedule;

/// The launch of the kernel called `symbol`: a block for each tile.
pub fn sm80(class: &ProblemClass, schedule: &Sm80Schedule, symbol: String) -> LaunchPlan {
    let addresses = [pointer("a", A), pointer("b", B), pointer("c", C)];
    let strides = [leading("lda", A), leading("ldb", B), leading("ldc", C)];
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: false,
        grid: Grid {
            axes: tiles(schedule.tile_m, schedule.tile_n),
            cluster: 1,
            tiles: 1,
            residency: Residency::OneEach,
        },
        args: [addresses, strides, extents()].into_iter().flatten().chain(raster(schedule.raster)).collect(),
    };
    let c_base = Alignment { operand: C, bytes: VECTOR_BYTES, rows: false };
    LaunchPlan::of_kernel(kernel, [aligned_rows(), vec![c_base]].concat())
}
