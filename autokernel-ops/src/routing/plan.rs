//! How routing is launched: two kernels that share the tokens in the same way.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::problem::{Class, OFFSETS, ORDER, ROWS, SCORES, TOKENS, WEIGHTS};
use super::schedule::Schedule;

/// Tokens of a tile, one for each bit of a word; `kTile` in CUDA.
const TILE: u32 = 32;
const WORD_BYTES: u32 = 4;
/// Threads of the reference, which is one block.
pub const REFERENCE_THREADS: u32 = 256;

/// What the second kernel is called.
pub fn second(symbol: &str) -> String {
    format!("{symbol}_sort")
}

/// The launch of the kernel called `symbol` and of the one behind it.
pub fn plan(class: &Class, schedule: &Schedule, symbol: String) -> LaunchPlan {
    let kernel = |symbol| KernelStep {
        symbol,
        threads: schedule.threads,
        shared_bytes: 0,
        overlaps_previous: schedule.overlap,
        grid: Grid {
            axes: vec![Axis { dim: TOKENS, step: TILE }],
            cluster: 1,
            tiles: 1,
            residency: Residency::Persistent { blocks_per_sm: 1 },
            split: None,
        },
        args: args(true),
    };
    let kernels = vec![kernel(symbol.clone()), kernel(second(&symbol))];
    let counts = Buffer::of_block(class.experts * WORD_BYTES, Contents::Anything);
    LaunchPlan { alignments: Vec::new(), workspace: vec![counts], kernels }
}

/// The launch of the reference.
pub fn reference(symbol: String) -> LaunchPlan {
    let kernel = KernelStep {
        symbol,
        threads: REFERENCE_THREADS,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid {
            axes: vec![Axis { dim: TOKENS, step: u32::MAX }],
            cluster: 1,
            tiles: 1,
            residency: Residency::OneEach,
            split: None,
        },
        args: args(false),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

fn args(has_counts: bool) -> Vec<Field> {
    let pointer = |name: &str, operand| Field { name: name.to_owned(), arg: Arg::Pointer { operand } };
    let stride = |name: &str, operand| Field { name: name.to_owned(), arg: Arg::Stride { operand, axis: 0 } };
    let mut fields = vec![
        pointer("scores", SCORES),
        pointer("weights", WEIGHTS),
        pointer("offsets", OFFSETS),
        pointer("order", ORDER),
        pointer("rows", ROWS),
        stride("scores_stride", SCORES),
        stride("weights_stride", WEIGHTS),
        stride("order_stride", ORDER),
        stride("rows_stride", ROWS),
    ];
    fields.extend(has_counts.then(|| Field { name: "counts".to_owned(), arg: Arg::Workspace { buffer: 0 } }));
    fields.push(Field { name: "tokens".to_owned(), arg: Arg::Extent { dim: TOKENS } });
    fields
}
