//! The launches of `sm80_attention.cuh` and `sm80_attention_sharing.cuh`.

use autokernel_core::plan::Axis;
use autokernel_core::{Field, Grid, KernelStep, LaunchPlan, Residency};

use super::schedule::Sm80Schedule;
use crate::attention::fields::{self, Operands};
use crate::attention::problem::Class;
use crate::attention::sharing;
use crate::attention::signature::{BATCH, HEADS, QUERIES};
use crate::source::{Constant, int};

/// Blocks that share keys, of which an SM's registers hold as many.
const WARPS_OF_SM: u32 = 8;

/// The launch of the kernel called `symbol`: a block for each tile, or blocks that share the keys of all.
pub fn plan(class: &Class, schedule: &Sm80Schedule, symbol: String) -> LaunchPlan {
    let (threads, shared_bytes) = (schedule.threads(), schedule.shared_bytes(class));
    let kernel = |grid, args| KernelStep { symbol, threads, shared_bytes, overlaps_previous: false, grid, args };
    if schedule.share_keys {
        let grid = sharing::grid(class, WARPS_OF_SM / schedule.warps.max(1));
        let args = sharing::with_results(class, sequences(class));
        return sharing::of_kernel(class, schedule.tile_queries(), kernel(grid, args));
    }
    let axes = vec![
        Axis { dim: QUERIES, step: schedule.tile_queries() },
        Axis { dim: HEADS, step: 1 },
        Axis { dim: BATCH, step: 1 },
    ];
    let grid = Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None };
    LaunchPlan::of_kernel(kernel(grid, tensors(class)), fields::alignments(class))
}

/// What a kernel takes of sequences that the tensors say.
fn tensors(class: &Class) -> Vec<Field> {
    let operands = Operands { class };
    let fields = [operands.queries("query"), operands.keys(), operands.results("query"), operands.of_body()];
    fields.into_iter().flatten().chain(fields::extents()).collect()
}

/// What a kernel reads of sequences, wherever they lie.
fn sequences(class: &Class) -> Vec<Field> {
    let operands = Operands { class };
    [operands.queries("query"), operands.keys(), operands.locators(), operands.counted_pages()].concat()
}

/// The constants of CUDA's `struct Schedule`.
pub fn constants(class: &Class, schedule: &Sm80Schedule) -> Vec<Constant> {
    let Sm80Schedule { warps, rows_of_warp, tile_keys, stages, share_keys } = *schedule;
    let mut constants = vec![
        int("kWarps", warps),
        int("kRowsOfWarp", rows_of_warp),
        int("kTileKeys", tile_keys),
        int("kStages", stages),
        int("kSharedBytes", schedule.shared_bytes(class)),
    ];
    if share_keys {
        constants.push(int("kPartialBytes", sharing::partial_bytes(class, schedule.tile_queries())));
    }
    constants
}
