//! How the tiles of a schedule fall on a GPU, by the plan that launches it.

use autokernel_codegen::emit::plan;
use autokernel_codegen::matmul::problem::OfProducts;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Arch, Extents, Placement, SmLimits};

use crate::gpu_facts::GpuFacts;

/// How the tiles of `schedule` at `shape` fall on `sm_count` SMs that hold `blocks_per_sm` of its blocks each.
pub fn placement(
    schedule: &Schedule,
    class: &impl OfProducts,
    shape: Extents,
    sm_count: u32,
    blocks_per_sm: u32,
) -> Placement {
    let plan = plan(class, schedule, String::new());
    let of = |kernel| Placement::new(kernel, &shape, sm_count, blocks_per_sm);
    // The last kernel writes the result; those before it, if any, prepare its operands.
    plan.kernels.last().map_or(NOTHING, |kernel| of(&kernel.grid))
}

const NOTHING: Placement = Placement { tiles: 0, slots: 1, waves: 0.0, tail_pct: 0.0, utilization_pct: 0.0 };

/// What one SM of `gpu` holds.
pub fn sm_limits(arch: Arch, gpu: &GpuFacts) -> SmLimits {
    SmLimits::new(arch, gpu.registers_per_sm, gpu.shared_bytes_per_sm)
}
