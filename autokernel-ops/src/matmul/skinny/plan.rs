//! The launch of `skinny_sm80_matmul.cuh`.

use autokernel_core::gpu::Multiprocessor;
use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};

use super::SkinnySchedule;
use crate::matmul::plan::{Operands, raster};
use crate::matmul::problem::Class;
use crate::source::{Constant, int};

/// The launch of the kernel called `symbol`, on operands that lie anywhere: on as many blocks as the GPU holds, but beside a body of lanes
/// that shift, which have no registers left for what it takes to go on to another tile.
pub fn plan(class: &Class, operands: &Operands, schedule: &SkinnySchedule, symbol: String) -> LaunchPlan {
    let residency = if class.layout.transpose_b() && class.body.is_some() {
        Residency::OneEach
    } else {
        // A launch asks for as many as the largest multiprocessor holds: where fewer fit, the rest take their turn.
        Residency::Persistent { blocks_per_sm: schedule.blocks_per_sm(class, Multiprocessor::HOPPER) }
    };
    let args = [operands.matrices(), operands.extents(), raster(schedule.raster).to_vec(), operands.others.clone()];
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: schedule.overlap,
        grid: Grid {
            axes: operands.tiles(schedule.tile_m, schedule.columns(class)),
            cluster: 1,
            tiles: 1,
            residency,
            split: None,
        },
        args: args.concat(),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

/// The constants of CUDA's `struct Schedule`: the knobs that make an image, and what the launch needs too.
pub fn constants(class: &Class, schedule: &SkinnySchedule) -> Vec<Constant> {
    let SkinnySchedule { tile_m, tile_n, tile_k, warps, stages, overlap: _, raster: _ } = *schedule;
    vec![
        int("kTileM", tile_m),
        int("kTileN", tile_n),
        int("kTileK", tile_k),
        int("kWarps", warps),
        int("kStages", stages),
        int("kSharedBytes", schedule.shared_bytes(class)),
    ]
}
