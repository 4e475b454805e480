//! How a reduction along columns is launched.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency, Role};

use crate::body::cuda::fields;
use crate::body::{Kind, Operand};
use crate::rows::schedule::RowsSchedule;

/// Turns of a block over its part of the rows: so many that the parts are few, and so few that a sum of them is short.
pub const TURNS: u32 = 8;
/// Threads of a block of the reference, each of which has a column.
pub const REFERENCE_THREADS: u32 = 256;
const ROWS: u8 = 0;
const COLUMNS: u8 = 1;

/// Columns of a block.
pub const fn strip(schedule: &RowsSchedule) -> u32 {
    schedule.threads_per_row * schedule.vector
}

/// What the second kernel is called.
pub fn second(symbol: &str) -> String {
    format!("{symbol}_together")
}

/// The launch of the kernel called `symbol` and of the one behind it.
pub fn plan(operands: &[Operand], schedule: &RowsSchedule, symbol: String) -> LaunchPlan {
    let outputs = operands.iter().filter(|operand| operand.role == Role::Output).count();
    let bytes = strip(schedule) * u32::try_from(outputs).unwrap_or(u32::MAX) * f32_bytes();
    let part = schedule.rows_per_block * schedule.vectors * TURNS;
    let columns = Axis { dim: COLUMNS, step: strip(schedule) };
    let kernel = |symbol, threads, axes| KernelStep {
        symbol,
        threads,
        shared_bytes: 0,
        overlaps_previous: schedule.cluster > 0,
        grid: Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
        args: args(operands, Some(Arg::Workspace { buffer: 0 })),
    };
    let together = kernel(second(&symbol), strip(schedule), vec![columns]);
    let parts = kernel(symbol, schedule.threads(), vec![columns, Axis { dim: ROWS, step: part }]);
    let workspace = vec![Buffer::of_block(bytes, Contents::Anything)];
    LaunchPlan { alignments: Vec::new(), workspace, kernels: vec![parts, together] }
}

/// The launch of the reference.
pub fn reference(operands: &[Operand], symbol: String) -> LaunchPlan {
    let axes = vec![Axis { dim: COLUMNS, step: REFERENCE_THREADS }];
    let kernel = KernelStep {
        symbol,
        threads: REFERENCE_THREADS,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
        args: args(operands, None),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

const fn f32_bytes() -> u32 {
    size_of::<f32>() as u32
}

/// What each operand needs, the extents, and where the parts lie.
fn args(operands: &[Operand], partials: Option<Arg>) -> Vec<Field> {
    debug_assert!(operands.iter().all(|operand| operand.kind != Kind::Index), "a body without fetches");
    let extents = [("rows", ROWS), ("columns", COLUMNS)].map(|(name, dim)| (name, Arg::Extent { dim }));
    let partials = partials.map(|arg| ("partials", arg));
    let named = extents.into_iter().chain(partials).map(|(name, arg)| Field { name: name.to_owned(), arg });
    fields((0..).zip(operands)).into_iter().chain(named).collect()
}
