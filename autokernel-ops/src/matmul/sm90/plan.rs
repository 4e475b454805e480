//! The launch of `sm90_matmul.cuh`.

use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency, TileBox};

use super::{Mode, SWIZZLE_BYTES, Sm90Schedule, tile_k};
use crate::matmul::plan::{Operands, extents, field, leading, pointer, raster, tiles};
use crate::matmul::problem::Class;
use crate::source::{Constant, boolean, int};

/// The launch of the kernel called `symbol`: clusters that walk over the tiles, or with a split K one for each.
pub fn plan(class: &Class, operands: &Operands, schedule: &Sm90Schedule, symbol: String) -> LaunchPlan {
    let &Sm90Schedule { tile_m, tile_n, cluster_m, cluster_n, split_k, .. } = schedule;
    let residency = if split_k > 1 { Residency::OneEach } else { Residency::Persistent { blocks_per_sm: 1 } };
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: Grid {
            axes: tiles(tile_m * cluster_m, class.columns_of_c(tile_n) * cluster_n),
            cluster: cluster_m * cluster_n * split_k,
            tiles: cluster_m * cluster_n,
            residency,
        },
        args: args(class, operands, schedule),
    };
    LaunchPlan::of_kernel(kernel, operands.aligned_rows())
}

fn args(class: &Class, operands: &Operands, schedule: &Sm90Schedule) -> Vec<Field> {
    let &Operands { a, b, b2, c, ref others } = operands;
    let &Sm90Schedule { tile_m, tile_n, cluster_m, cluster_n, .. } = schedule;
    let tile_k = tile_k(class.input);
    let operand_box = |rows| TileBox { rows, columns: tile_k, swizzle: SWIZZLE_BYTES };
    // Blocks of a cluster load a slice each of what they share. Row-major B comes in panels of one swizzle row.
    let b_rows = if class.layout.transpose_b() { class.columns_of_c(tile_n) / cluster_m } else { tile_k };
    let map = |name, operand, tile| field(name, Arg::Map { operand, tile });
    let mut args = vec![map("a_map", a, operand_box(tile_m / cluster_n)), map("b_map", b, operand_box(b_rows))];
    args.extend(b2.map(|b2| map("b2_map", b2, operand_box(b_rows))));
    args.extend([map("c_map", c, schedule.store_box(class)), pointer("c", c), leading("ldc", c)]);
    args.extend(extents());
    args.extend(raster(schedule.raster));
    args.push(field("c_is_mapped", Arg::IsMapped { operand: c }));
    args.extend(others.iter().cloned());
    args
}

/// The constants of CUDA's `struct Schedule`: the knobs that make an image, and what the launch needs too.
pub fn constants(class: &Class, schedule: &Sm90Schedule) -> Vec<Constant> {
    let Sm90Schedule { tile_m, tile_n, stages, consumers, mode, cluster_m, cluster_n, swap_ab, split_k, raster: _ } =
        *schedule;
    let store = schedule.store_box(class);
    vec![
        int("kTileM", tile_m),
        int("kTileN", tile_n),
        int("kTileK", tile_k(class.input)),
        int("kStages", stages),
        int("kConsumers", consumers),
        boolean("kPingPong", mode == Mode::PingPong),
        int("kClusterM", cluster_m),
        int("kClusterN", cluster_n),
        boolean("kSwapAB", swap_ab),
        int("kSplitK", split_k),
        int("kStoreRows", store.rows),
        int("kStoreColumns", store.columns),
        int("kStoreBuffers", schedule.store_buffers(class)),
        int("kSharedBytes", schedule.shared_bytes(class)),
    ]
}
