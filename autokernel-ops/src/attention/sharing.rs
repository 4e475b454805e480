//! The launch of a kernel whose blocks share the keys of all tiles.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::fields::{self, Operands, field};
use super::problem::Class;
use super::schedule::AttentionSchedule;
use super::signature::{K, V};

/// The workspace: of each consumer how many came to the tile that begins in its block's share, and what it leaves of two tiles.
const COUNTERS: u8 = 0;
const PARTIALS: u8 = 1;
const COUNTER_BYTES: u32 = 4;
/// Of each row beside its values: the largest score, and the sum of weights.
const STATE: u32 = 2;
const F32_BYTES: u32 = 4;
/// Tiles that a block can leave parts of.
const PARTS: u32 = 2;

/// Bytes of the parts that a block leaves; `kPartialBytes` in CUDA.
pub fn partial_bytes(class: &Class, schedule: &AttentionSchedule) -> u32 {
    PARTS * schedule.tile_queries() * (class.value_dim + STATE) * F32_BYTES
}

/// The launch of the kernel called `symbol`.
pub fn plan(class: &Class, schedule: &AttentionSchedule, symbol: String) -> LaunchPlan {
    let buffer = |bytes_per_block, contents| Buffer { bytes_per_block, contents };
    // The parts of the grid are rows, which kernels count; blocks share them, however few there are.
    let rows = Operands { class }.rows();
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: Grid {
            axes: rows.map(|dim| Axis { dim, step: 1 }).collect(),
            cluster: 1,
            tiles: 1,
            residency: Residency::Sharing { blocks_per_sm: 1 },
        },
        args: args(class, schedule),
    };
    let workspace = vec![
        buffer(schedule.consumers * COUNTER_BYTES, Contents::Zeros),
        buffer(partial_bytes(class, schedule), Contents::Anything),
    ];
    LaunchPlan { workspace, ..LaunchPlan::of_kernel(kernel, fields::alignments(class)) }
}

fn args(class: &Class, schedule: &AttentionSchedule) -> Vec<Field> {
    let (operands, rows) = (Operands { class }, class.sequences.box_keys(schedule.tile_keys));
    let mut args = vec![fields::map("k_map", K, rows), fields::map("v_map", V, rows)];
    args.extend(operands.queries("query"));
    args.extend(operands.locators());
    args.extend(operands.pages_are_there());
    args.extend(operands.results("query"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    args.push(field("counters", Arg::Workspace { buffer: COUNTERS }));
    args.push(field("partials", Arg::Workspace { buffer: PARTIALS }));
    args
}
