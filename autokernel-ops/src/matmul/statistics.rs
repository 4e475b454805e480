//! Reductions along rows of a product: the parts of rows that warps leave in the workspace, and the counters by which a block finds that
//! its tile is the last of its rows, whose parts it brings together (`body_statistics.cuh`); and what one number of each row comes to
//! (`body_folded.cuh`).

use autokernel_core::gpu::WARP_THREADS;
use autokernel_core::plan::{Axis, Buffer, Contents, Each};
use autokernel_core::{Arg, LaunchPlan};

use super::plan::{M, N, Operands, field};
use super::problem::Class;
use super::reference;
use super::schedule::{Schedule, Sm80Schedule, Sm90Schedule};
use super::sm90::WARPS_PER_WARPGROUP;
use crate::stated::stated;

const WORD_BYTES: u32 = 4;
/// Columns that a warp of a tile that is computed transposed holds.
const SWAPPED_COLUMNS: u32 = 16;
/// Rows of which one access has parts.
const NEIGHBOURS: u32 = stated(include_str!("cuda/body_statistics.cuh"), "constexpr int kNeighbours = ");

/// How the warps of a kernel have parts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Columns of a part: those that a warp holds.
    pub part_columns: u32,
    /// Rows of a tile.
    pub rows: u32,
    /// Warps of a tile, of which each brings together a share of its rows.
    pub warps: u32,
}

impl Shares {
    /// Those of a kernel by that schedule.
    pub fn of(class: &Class, schedule: &Schedule) -> Self {
        match *schedule {
            Schedule::Sm90(schedule @ Sm90Schedule { tile_m, tile_n, swap_ab, .. }) => {
                let part_columns = if swap_ab { SWAPPED_COLUMNS } else { class.columns_of_c(tile_n) };
                let warps = WARPS_PER_WARPGROUP * schedule.consumers_sharing_a_tile();
                Shares { part_columns, rows: tile_m, warps }
            }
            Schedule::Sm80(Sm80Schedule { tile_m, tile_n, warps_m, warps_n, .. }) => {
                Shares { part_columns: class.columns_of_c(tile_n) / warps_n, rows: tile_m, warps: warps_m * warps_n }
            }
            // Its rules leave such bodies out.
            Schedule::Skinny(schedule) => {
                Shares { part_columns: class.columns_of_c(schedule.tile_n), rows: schedule.tile_m, warps: 1 }
            }
        }
    }

    /// Those of the reference, whose blocks have a part each.
    pub const REFERENCE: Shares =
        Shares { part_columns: reference::TILE, rows: reference::TILE, warps: reference::THREADS / WARP_THREADS };
}

/// The launch of a product whose rows are reduced; as it is where none are.
pub fn with_workspace(mut plan: LaunchPlan, operands: &Operands, shares: Shares) -> LaunchPlan {
    if operands.statistics == 0 {
        return plan;
    }
    let of = |dim, step| Axis { dim, step };
    let part = Each::Part([of(M, NEIGHBOURS), of(N, shares.part_columns)]);
    let (share, launch) =
        (Each::Part([of(M, shares.rows), of(N, u32::MAX)]), Each::Part([of(M, u32::MAX), of(N, u32::MAX)]));
    let buffer = |words: u32, each, contents| Buffer { bytes: words * WORD_BYTES, each, contents };
    let of_rows = [
        ("parts", buffer(operands.statistics * NEIGHBOURS, part, Contents::Anything)),
        ("arrivals", buffer(shares.warps, share, Contents::Zeros)),
    ];
    let of_folds = [
        ("totals", buffer(operands.folds * shares.warps, share, Contents::Anything)),
        ("folded_shares", buffer(1, launch, Contents::Zeros)),
    ];
    for (name, buffer) in of_rows.into_iter().chain(of_folds.into_iter().filter(|_| operands.folds > 0)) {
        let number = u8::try_from(plan.workspace.len()).unwrap_or(u8::MAX);
        plan.workspace.push(buffer);
        plan.kernels.iter_mut().for_each(|kernel| kernel.args.push(field(name, Arg::Workspace { buffer: number })));
    }
    plan
}
