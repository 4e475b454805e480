//! The launch of `sm80_matmul.cuh`.

use autokernel_core::{Alignment, Grid, KernelStep, LaunchPlan, Residency};

use super::Sm80Schedule;
use crate::matmul::many::Many;
use crate::matmul::plan::{Operands, VECTOR_BYTES, raster};
use crate::matmul::problem::Class;
use crate::source::{Constant, int};

/// Blocks that walk over the tiles of groups, of which most schedules let an SM hold two.
const BLOCKS_PER_SM: u32 = 2;

/// The launch of the kernel called `symbol`: a block for each tile.
pub fn plan(class: &Class, operands: &Operands, schedule: &Sm80Schedule, symbol: String) -> LaunchPlan {
    let knobs = raster(schedule.raster).to_vec();
    let args = [operands.matrices(), operands.extents(), knobs, operands.batch_strides(), operands.others.clone()];
    // How many tiles groups have, they themselves count.
    let residency = match operands.many {
        Many::One | Many::Batch | Many::GroupsAlongK => Residency::OneEach,
        Many::Masked | Many::Groups => Residency::Sharing { blocks_per_sm: BLOCKS_PER_SM },
    };
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: false,
        grid: Grid {
            axes: operands.tiles(schedule.tile_m, class.columns_of_c(schedule.tile_n)),
            cluster: 1,
            tiles: 1,
            residency,
            split: None,
        },
        args: args.concat(),
    };
    // A stand-in for C would overwrite the rows of none.
    let c_base = operands.c.map(|operand| Alignment { operand, bytes: VECTOR_BYTES, rows: false });
    let of_c = c_base.filter(|_| !operands.many.counts_rows_on_device());
    LaunchPlan::of_kernel(kernel, operands.aligned_rows().into_iter().chain(of_c).collect())
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
