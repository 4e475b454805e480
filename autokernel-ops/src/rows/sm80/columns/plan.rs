//! How a reduction along columns is launched.

use autokernel_core::plan::{Axis, Buffer, Contents, Each};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency, Role};

use crate::body::Operand;
use crate::body::cuda::fields;
use crate::rows::sm80::schedule::Sm80Schedule;

/// Threads of a block of the reference, each of which has a column.
pub const REFERENCE_THREADS: u32 = 256;
/// Parts of strips that a block leaves at most: the end of one that another block began, and the beginning of one.
const PARTS_OF_BLOCK: u32 = 2;
const ROWS: u8 = 0;
const COLUMNS: u8 = 1;

/// Columns of a block.
pub const fn strip(schedule: &Sm80Schedule) -> u32 {
    schedule.threads_per_row * schedule.vector
}

/// The launch of the kernel called `symbol`, of which an SM holds so many blocks.
pub fn plan(operands: &[Operand], schedule: &Sm80Schedule, blocks_per_sm: u32, symbol: String) -> LaunchPlan {
    let outputs = operands.iter().filter(|operand| operand.role == Role::Output).count();
    let part = strip(schedule) * u32::try_from(outputs).unwrap_or(u32::MAX) * bytes_of::<f32>();
    let columns = Axis { dim: COLUMNS, step: strip(schedule) };
    let whole = Axis { dim: COLUMNS, step: u32::MAX };
    let arrivals = Buffer { bytes: bytes_of::<u32>(), each: Each::Part([columns, whole]), contents: Contents::Zeros };
    let workspace = vec![Buffer::of_block(PARTS_OF_BLOCK * part, Contents::Anything), arrivals];
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: 0,
        overlaps_previous: schedule.cluster > 0,
        grid: Grid {
            axes: vec![columns],
            cluster: 1,
            tiles: 1,
            residency: Residency::Sharing { blocks_per_sm },
            split: None,
        },
        args: args(operands, &["partials", "arrivals"]),
    };
    LaunchPlan { alignments: Vec::new(), workspace, kernels: vec![kernel] }
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
        args: args(operands, &[]),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

const fn bytes_of<T>() -> u32 {
    size_of::<T>() as u32
}

/// What each operand needs, the extents, and where in the workspace what lies.
fn args(operands: &[Operand], workspace: &[&str]) -> Vec<Field> {
    let extents = [("rows", ROWS), ("columns", COLUMNS)].map(|(name, dim)| (name, Arg::Extent { dim }));
    let workspace = (0..).zip(workspace).map(|(buffer, name)| (*name, Arg::Workspace { buffer }));
    let named = extents.into_iter().chain(workspace).map(|(name, arg)| Field { name: name.to_owned(), arg });
    fields((0..).zip(operands)).into_iter().chain(named).collect()
}
