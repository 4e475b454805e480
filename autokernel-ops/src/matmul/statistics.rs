//! Reductions along rows of a product: the parts of rows that warps leave in the workspace, and the kernel behind the product that
//! brings them together (`body_statistics.cuh`), and what one number of each row comes to (`body_folded.cuh`).

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Grid, KernelStep, LaunchPlan, Residency};

use super::plan::{M, N, Operands, field};
use super::problem::Class;
use super::reference;
use super::schedule::{Schedule, Sm90Schedule};

/// Rows of a block of the second kernel, and its threads.
const ROWS: u32 = 32;
const THREADS: u32 = 256;
/// Parts of each of those rows for which its grid has a block, as the workspace is sized by that.
const PARTS: u32 = 32;
const WORD_BYTES: u32 = 4;
/// Columns that a warp of a tile that is computed transposed holds.
const SWAPPED_COLUMNS: u32 = 16;

/// Columns of a part, by that schedule: those that a warp holds.
pub fn part_columns(class: &Class, schedule: &Schedule) -> u32 {
    match schedule {
        Schedule::Sm90(Sm90Schedule { swap_ab: true, .. }) => SWAPPED_COLUMNS,
        Schedule::Sm90(schedule) => class.columns_of_c(schedule.tile_n),
        Schedule::Sm80(schedule) => class.columns_of_c(schedule.tile_n) / schedule.warps_n,
        // Its rules leave such bodies out.
        Schedule::Skinny(schedule) => class.columns_of_c(schedule.tile_n),
    }
}

/// Columns of a part of the reference: those of a block.
pub const REFERENCE_COLUMNS: u32 = reference::TILE;

/// The function that brings parts together.
pub fn together(class: &Class) -> &'static str {
    if class.joins_rows() { "bring_together_joined" } else { "bring_together" }
}

/// What the second kernel is called.
pub fn second(symbol: &str) -> String {
    format!("{symbol}_together")
}

/// The launch of a product that leaves parts of so many columns, and of the kernel behind it; as it is where rows are not reduced.
pub fn with_second_kernel(mut plan: LaunchPlan, operands: &Operands, part_columns: u32) -> LaunchPlan {
    if operands.statistics == 0 {
        return plan;
    }
    let buffer = u8::try_from(plan.workspace.len()).unwrap_or(u8::MAX);
    let parts = field("parts", Arg::Workspace { buffer });
    let bytes_per_block = ROWS * PARTS * operands.statistics * WORD_BYTES;
    plan.workspace.push(Buffer { bytes_per_block, contents: Contents::Anything });
    plan.kernels.iter_mut().for_each(|kernel| kernel.args.push(parts.clone()));
    let mut workspace = vec![parts];
    if operands.folds > 0 {
        let buffers = [
            ("totals", Buffer { bytes_per_block: operands.folds * WORD_BYTES, contents: Contents::Anything }),
            ("folded_blocks", Buffer { bytes_per_block: WORD_BYTES, contents: Contents::Zeros }),
        ];
        for (buffer, (name, contents)) in (buffer + 1..).zip(buffers) {
            plan.workspace.push(contents);
            workspace.push(field(name, Arg::Workspace { buffer }));
        }
    }
    let extents = [("m", M), ("n", N)].map(|(name, dim)| field(name, Arg::Extent { dim }));
    let overlaps_previous = plan.kernels.iter().all(|kernel| kernel.overlaps_previous);
    let second = KernelStep {
        symbol: plan.kernels.first().map_or_else(String::new, |kernel| second(&kernel.symbol)),
        threads: THREADS,
        shared_bytes: 0,
        overlaps_previous,
        grid: Grid {
            axes: vec![Axis { dim: M, step: ROWS }, Axis { dim: N, step: PARTS * part_columns }],
            cluster: 1,
            tiles: 1,
            residency: Residency::OneEach,
            split: None,
        },
        args: extents.into_iter().chain(operands.others.iter().cloned()).chain(workspace).collect(),
    };
    plan.kernels.push(second);
    plan
}
