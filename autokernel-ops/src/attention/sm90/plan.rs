//! The launches of `sm90_attention.cuh` and `sm90_attention_sharing.cuh`.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency};

use super::rules::ROWS_OF_CONSUMER;
use super::schedule::Sm90Schedule;
use crate::attention::fields::{self, Operands, field};
use crate::attention::problem::Class;
use crate::attention::sequences::Keys;
use crate::attention::sharing;
use crate::attention::signature::{K, Q, QUERIES, V};
use crate::source::{Constant, boolean, int};

/// The workspace: the counter of tiles, of which the first block's part holds all.
const COUNTERS: u8 = 0;
const COUNTERS_OF_BLOCK: Buffer = Buffer::of_block(8, Contents::Zeros);

/// The launch of the kernel called `symbol`: blocks that stay and draw tiles, or blocks that share the keys of all. Of packed queries
/// the device alone knows how many tiles there are, which is at most one for each row.
pub fn plan(class: &Class, schedule: &Sm90Schedule, symbol: String) -> LaunchPlan {
    if schedule.share_keys {
        return sharing_keys(class, schedule, symbol);
    }
    let step = if class.sequences.packed_queries { 1 } else { schedule.tile_queries() };
    let axes = Operands { class }.rows().map(|dim| Axis { dim, step: if dim == QUERIES { step } else { 1 } }).collect();
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: Grid { axes, cluster: 1, tiles: 1, residency: Residency::Persistent { blocks_per_sm: 1 }, split: None },
        args: args(class, schedule),
    };
    LaunchPlan { workspace: vec![COUNTERS_OF_BLOCK], ..LaunchPlan::of_kernel(kernel, fields::alignments(class)) }
}

/// That of blocks that share the keys of all tiles.
fn sharing_keys(class: &Class, schedule: &Sm90Schedule, symbol: String) -> LaunchPlan {
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

fn args(class: &Class, schedule: &Sm90Schedule) -> Vec<Field> {
    let operands = Operands { class };
    let rows = class.sequences.box_keys(schedule.tile_keys);
    let mut args =
        vec![fields::map("q_map", Q, ROWS_OF_CONSUMER), fields::map("k_map", K, rows), fields::map("v_map", V, rows)];
    args.extend(operands.locators());
    args.extend(operands.mapped_pages());
    args.extend(operands.results("query"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    args.push(field("counters", Arg::Workspace { buffer: COUNTERS }));
    args
}

/// The constants of CUDA's `struct Schedule`.
pub fn constants(class: &Class, schedule: &Sm90Schedule) -> Vec<Constant> {
    let Sm90Schedule { consumers, tile_keys, stages, ping_pong, share_keys, exp_by_fma } = *schedule;
    let mut constants = vec![
        int("kConsumers", consumers),
        int("kTileKeys", tile_keys),
        int("kStages", stages),
        boolean("kPingPong", ping_pong),
        int("kExpByFma", exp_by_fma),
        int("kSharedBytes", schedule.shared_bytes(class)),
        boolean("kSteps", schedule.steps(class)),
    ];
    if share_keys || matches!(class.sequences.keys, Keys::Paged(_)) {
        constants.push(int("kBoxKeys", class.sequences.box_keys(tile_keys)));
    }
    if share_keys {
        constants.push(int("kPartialBytes", sharing::partial_bytes(class, schedule.tile_queries())));
    }
    constants
}
