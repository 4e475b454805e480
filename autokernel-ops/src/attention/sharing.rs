//! Launches whose blocks share the keys of all tiles.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::fields::{self, Operands, field};
use super::problem::Class;

/// The workspace: of each 64 rows of a tile how many came to the tile that begins in its block's share, and what it leaves of two
/// tiles.
const COUNTERS: u8 = 0;
const PARTIALS: u8 = 1;
const COUNTER_BYTES: u32 = 4;
/// Those of a warpgroup.
const ROWS_OF_COUNTER: u32 = 64;
/// Of each row beside its values: the largest score, and the sum of weights.
const STATE: u32 = 2;
const F32_BYTES: u32 = 4;
/// Tiles that a block can leave parts of.
const PARTS: u32 = 2;
/// In shared memory of each warpgroup: whether it came last to a tile.
pub const VERDICT_BYTES: u32 = 4;

/// Bytes of the parts that a block leaves of tiles of so many rows; `kPartialBytes` in CUDA.
pub fn partial_bytes(class: &Class, rows: u32) -> u32 {
    PARTS * rows * (class.value_dim + STATE) * F32_BYTES
}

/// The launch of a kernel whose tiles have so many rows.
pub fn of_kernel(class: &Class, rows: u32, kernel: KernelStep) -> LaunchPlan {
    let buffer = Buffer::of_block;
    let workspace = vec![
        buffer(rows / ROWS_OF_COUNTER * COUNTER_BYTES, Contents::Zeros),
        buffer(partial_bytes(class, rows), Contents::Anything),
    ];
    LaunchPlan { workspace, ..LaunchPlan::of_kernel(kernel, fields::alignments(class)) }
}

/// The parts of the grid are rows, which kernels count; blocks share them, however few there are.
pub fn grid(class: &Class, blocks_per_sm: u32) -> Grid {
    let axes = Operands { class }.rows().map(|dim| Axis { dim, step: 1 }).collect();
    Grid { axes, cluster: 1, tiles: 1, residency: Residency::Sharing { blocks_per_sm }, split: None }
}

/// Behind what a kernel reads, what it writes and counts.
pub fn with_results(class: &Class, mut args: Vec<Field>) -> Vec<Field> {
    let operands = Operands { class };
    args.extend(operands.results("query"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    args.push(field("counters", Arg::Workspace { buffer: COUNTERS }));
    args.push(field("partials", Arg::Workspace { buffer: PARTIALS }));
    args
}
