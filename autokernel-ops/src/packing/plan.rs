//! How packing is launched: a block for each group of as many rows as it has teams.

use autokernel_core::plan::Axis;
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::problem::{Class, K, N, PACKED, SCALES, W, ZEROS};
use super::schedule::Schedule;

const WARP: u32 = 32;
/// Weights that a lane holds at a time; `kTurn` in CUDA.
const TURN: u32 = 8;
/// Threads of a block of the reference, each with a row.
pub const REFERENCE_THREADS: u32 = 32;

/// Rows of a block, of each of which a team of lanes has a group.
pub fn rows_of_block(class: &Class, schedule: &Schedule) -> u32 {
    schedule.threads / class.group.map_or(WARP, |group| group / TURN)
}

/// The launch of the kernel called `symbol`.
pub fn plan(class: &Class, schedule: &Schedule, symbol: String) -> LaunchPlan {
    let rows = Axis { dim: N, step: rows_of_block(class, schedule) };
    // Neighbours have the groups of the same rows, so that what runs at once reads on in memory.
    let axes = class.group.map(|step| Axis { dim: K, step }).into_iter().chain([rows]).collect();
    let step = KernelStep {
        symbol,
        threads: schedule.threads,
        shared_bytes: 0,
        overlaps_previous: schedule.overlap,
        grid: grid(axes),
        args: args(class),
    };
    LaunchPlan::of_kernel(step, Vec::new())
}

/// The launch of the reference.
pub fn reference(class: &Class, symbol: String) -> LaunchPlan {
    let step = KernelStep {
        symbol,
        threads: REFERENCE_THREADS,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: grid(vec![Axis { dim: N, step: REFERENCE_THREADS }]),
        args: args(class),
    };
    LaunchPlan::of_kernel(step, Vec::new())
}

fn grid(axes: Vec<Axis>) -> Grid {
    Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None }
}

fn args(class: &Class) -> Vec<Field> {
    let field = |name: &str, arg| Field { name: name.to_owned(), arg };
    let zeros = if class.zeros { Some(ZEROS) } else { None };
    let mut fields = vec![
        field("w", Arg::Pointer { operand: W }),
        field("packed", Arg::Pointer { operand: PACKED }),
        field("scales", Arg::Pointer { operand: SCALES }),
    ];
    fields.extend(zeros.map(|operand| field("zeros", Arg::Pointer { operand })));
    fields.push(field("w_stride", Arg::Stride { operand: W, axis: 0 }));
    fields.push(field("packed_stride", Arg::Stride { operand: PACKED, axis: 0 }));
    if class.group.is_some() {
        fields.push(field("scales_stride", Arg::Stride { operand: SCALES, axis: 0 }));
        fields.extend(zeros.map(|operand| field("zeros_stride", Arg::Stride { operand, axis: 0 })));
    }
    fields.push(field("n", Arg::Extent { dim: N }));
    fields.push(field("k", Arg::Extent { dim: K }));
    fields
}
