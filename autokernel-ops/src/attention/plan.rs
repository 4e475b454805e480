//! How attention is launched.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Extents, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::fields::{self, Operands, field};
use super::problem::Class;
use super::rules::ROWS_OF_CONSUMER;
use super::schedule::{AttentionSchedule, Schedule};
use super::signature::{BATCH, DIMS, GROUPS, HEADS, K, KEYS, Q, QUERIES, V};
use super::{sharing, sm80};

/// The workspace: the counter of tiles, of which the first block's part holds all.
const COUNTERS: u8 = 0;
const COUNTERS_OF_BLOCK: Buffer = Buffer::of_block(8, Contents::Zeros);

/// The sizes of a problem by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sequences.
    pub batch: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys and values.
    pub groups: u32,
    /// Queries of a sequence.
    pub queries: u32,
    /// Keys of a sequence.
    pub keys: u32,
}

impl Sizes {
    /// Those among `extents`.
    pub fn of(extents: &Extents) -> Self {
        let [batch, heads, groups, queries, keys] = [BATCH, HEADS, GROUPS, QUERIES, KEYS].map(|dim| extents.size(dim));
        Sizes { batch, heads, groups, queries, keys }
    }

    /// The extents of heads of those sizes.
    pub fn extents(&self, class: &Class) -> Extents {
        let &Sizes { batch, heads, groups, queries, keys } = self;
        let sizes = [batch, heads, groups, queries, keys, class.head_dim, class.value_dim];
        Extents::collect(DIMS.into_iter().zip(sizes)).expect("seven different names")
    }
}

/// The launch of the kernel called `symbol`.
pub fn plan(class: &Class, schedule: &Schedule, symbol: String) -> LaunchPlan {
    match schedule {
        Schedule::Sm80(schedule) => sm80::plan::plan(class, schedule, symbol),
        Schedule::Sm90(schedule) => sm90(class, schedule, symbol),
    }
}

fn sm90(class: &Class, schedule: &AttentionSchedule, symbol: String) -> LaunchPlan {
    if schedule.share_keys {
        return sharing_sm90(class, schedule, symbol);
    }
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: Grid {
            axes: vec![
                Axis { dim: QUERIES, step: schedule.tile_queries() },
                Axis { dim: HEADS, step: 1 },
                Axis { dim: BATCH, step: 1 },
            ],
            cluster: 1,
            tiles: 1,
            residency: Residency::Persistent { blocks_per_sm: 1 },
            split: None,
        },
        args: args(class, schedule),
    };
    LaunchPlan { workspace: vec![COUNTERS_OF_BLOCK], ..LaunchPlan::of_kernel(kernel, fields::alignments(class)) }
}

/// That of blocks that share the keys of all tiles.
fn sharing_sm90(class: &Class, schedule: &AttentionSchedule, symbol: String) -> LaunchPlan {
    let operands = Operands { class };
    let rows = class.sequences.box_keys(schedule.tile_keys);
    let mut args = vec![fields::map("k_map", K, rows), fields::map("v_map", V, rows)];
    args.extend(operands.queries("query"));
    args.extend(operands.locators());
    args.extend(operands.mapped_pages());
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: sharing::grid(class, 1),
        args: sharing::with_results(class, args),
    };
    sharing::of_kernel(class, schedule.tile_queries(), kernel)
}

fn args(class: &Class, schedule: &AttentionSchedule) -> Vec<Field> {
    let operands = Operands { class };
    let mut args = vec![
        fields::map("q_map", Q, ROWS_OF_CONSUMER),
        fields::map("k_map", K, schedule.tile_keys),
        fields::map("v_map", V, schedule.tile_keys),
    ];
    args.extend(operands.results("query"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    args.push(field("counters", Arg::Workspace { buffer: COUNTERS }));
    args
}

/// The launch of the reference called `symbol`: a block for each query.
pub fn reference(class: &Class, threads: u32, symbol: String) -> LaunchPlan {
    let operands = Operands { class };
    let mut args = operands.queries("row");
    args.extend(operands.keys());
    args.extend(operands.locators());
    args.extend(operands.results("row"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    let axes = operands.rows().map(|dim| Axis { dim, step: 1 }).collect();
    let grid = Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None };
    let kernel = KernelStep { symbol, threads, shared_bytes: 0, overlaps_previous: false, grid, args };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
