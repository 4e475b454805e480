//! The launch of `sm80_matmul.cuh`.

use autokernel_core::{Alignment, Grid, KernelStep, LaunchPlan, Residency};

use super::Sm80Schedule;
use crate::matmul::plan::{A, B, C, VECTOR_BYTES, aligned_rows, extents, leading, pointer, raster, tiles};
use crate::matmul::problem::Class;
use crate::source::{Constant, int};

/// The launch of the kernel called `symbol`: a block for each tile.
pub fn plan(class: &Class, schedule: &Sm80Schedule, symbol: String) -> LaunchPlan {
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

/// The constants of CUDA's `struct Schedule`: the knobs that make an image, and what the launch needs too.
pub fn constants(class: &Class, schedule: &Sm80Schedule) -> Vec<Constant> {
    let Sm80Schedule { tile_m, tile_n, tile_k, warps_m, warps_n, stages, raster: _ } = *schedule;
    vec![
        int("kTileM", tile_m),
        int("kTileN", tile_n),
        int("kTileK", tile_k),
        int("kWarpsM", warps_m),
        int("kWarpsN", warps_n),
        int("kStages", stages),
        int("kSharedBytes", schedule.shared_bytes(class)),
    ]
}
