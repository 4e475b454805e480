//! How the tiles of a schedule fall on a GPU, by the plan that launches it.

use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Arch, Extents, KernelStep, Placement, SmLimits};

use crate::gpu_facts::GpuFacts;

/// How the tiles of `schedule` at `shape` fall on `sm_count` SMs that hold `blocks_per_sm` of its blocks each.
pub fn placement(
    schedule: &Schedule,
    class: &ProblemClass,
    shape: Extents,
    sm_count: u32,
    blocks_per_sm: u32,
) -> Placement {
    let of = |kernel: KernelStep| Placement::new(&kernel.grid, &shape, sm_count, blocks_per_sm);
    main_kernel(schedule, class).map_or(NOTHING, of)
}

/// The kernel of `schedule` that writes the result; those before it, if any, prepare its operands. None if the schedule
/// computes something else.
pub fn main_kernel(schedule: &Schedule, class: &ProblemClass) -> Option<KernelStep> {
    class.plan(schedule, String::new()).ok()?.kernels.pop()
}

/// The blocks of `kernel` that an SM holds, where they are as many as it is launched with and do not hang on what ptxas
/// makes of it.
pub const fn resident_blocks(kernel: &KernelStep) -> Option<u32> {
    kernel.grid.residency.blocks_per_sm()
}

/// The blocks that share a tile of `kernel`.
pub fn blocks_per_tile(kernel: &KernelStep) -> u32 {
    kernel.grid.cluster / kernel.grid.tiles.max(1)
}

const NOTHING: Placement = Placement { tiles: 0, slots: 1, waves: 0.0, tail_pct: 0.0, utilization_pct: 0.0 };

/// What one SM of `gpu` holds.
pub fn sm_limits(arch: Arch, gpu: &GpuFacts) -> SmLimits {
    SmLimits::new(arch, gpu.registers_per_sm, gpu.shared_bytes_per_sm)
}
