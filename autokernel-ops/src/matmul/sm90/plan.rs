//! The launch of `sm90_matmul.cuh`.

use autokernel_core::plan::{Buffer, Contents};
use autokernel_core::{Arg, Field, Grid, KernelStep, LaunchPlan, Residency, Split, TileBox};

use super::operand_load::OperandLoad;
use super::{Mode, SWIZZLE_BYTES, Sm90Schedule, UNSWIZZLED, WARPS_PER_WARPGROUP, groups, panel_k, tile_k};
use crate::body;
use crate::matmul::block_scales::AT_ONCE;
use crate::matmul::plan::{A_SCALES, Operands, field, pointer, raster};
use crate::matmul::problem::Class;
use crate::source::{Constant, boolean, int};

/// The workspace of stream K, by the numbers of its buffers: sums that are handed on, and a flag for each warp's.
const HANDED_ON: u8 = 0;
const FLAGS: u8 = 1;
const WORD_BYTES: u32 = 4;

/// Which of the tiles of an image a launch has: a field where there are several.
const TILE_M: &str = "tile_m";
/// The knob that says how many blocks share a tile: a field where the image can.
const SPLIT_K: &str = "split_k";

/// The launch of the kernel called `symbol`: clusters that walk over the tiles, or with a split K one for each.
pub fn plan(class: &Class, operands: &Operands, schedule: &Sm90Schedule, symbol: String) -> LaunchPlan {
    let &Sm90Schedule { tile_m, tile_n, cluster_m, cluster_n, split_k, stream_k, .. } = schedule;
    // How many tiles groups of rows have, they themselves count.
    let residency = match operands.many.counts_rows_on_device() || stream_k {
        true => Residency::Sharing { blocks_per_sm: 1 },
        false => Residency::Persistent { blocks_per_sm: 1 },
    };
    let args = args(class, operands, schedule);
    let field = args.iter().position(|field| field.name == SPLIT_K).and_then(|field| u8::try_from(field).ok());
    let grid = Grid {
        axes: operands.tiles(tile_m * cluster_m, class.columns_of_c(tile_n) * cluster_n),
        cluster: cluster_m * cluster_n,
        tiles: cluster_m * cluster_n,
        residency,
        split: field.map(|field| Split { field, whole: residency }),
    };
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: grid.split_into(split_k),
        args,
    };
    let workspace = if stream_k { workspace(schedule).to_vec() } else { Vec::new() };
    LaunchPlan { workspace, ..LaunchPlan::of_kernel(kernel, operands.aligned_rows()) }
}

/// A slot for a tile's sums, and flags, for each block.
fn workspace(schedule: &Sm90Schedule) -> [Buffer; 2] {
    let warps = WARPS_PER_WARPGROUP * schedule.consumers_sharing_a_tile();
    let of_block = |words, contents| Buffer::of_block(words * WORD_BYTES, contents);
    [of_block(schedule.tile_m * schedule.tile_n, Contents::Anything), of_block(warps, Contents::Zeros)]
}

fn args(class: &Class, operands: &Operands, schedule: &Sm90Schedule) -> Vec<Field> {
    let &Operands { a, b, b2, c, ref others, .. } = operands;
    let &Sm90Schedule { tile_m, tile_n, cluster_m, cluster_n, .. } = schedule;
    let tile_k = tile_k(class);
    let operand_box = |rows, columns| TileBox { rows, columns, swizzle: SWIZZLE_BYTES };
    // Of weights a stage is as deep as a swizzle row of them, and what is multiplied with them comes panel by panel.
    let elements_of_b = class.weights.map_or(tile_k, |weights| tile_k / weights.dtype.numbers());
    // Blocks of a cluster load a slice each of what they share. What lies across K comes in panels of one swizzle row.
    let a_rows = if class.layout.transpose_a() { tile_k } else { tile_m / cluster_n };
    let b_rows = if class.layout.transpose_b() { class.columns_of_c(tile_n) / cluster_m } else { tile_k };
    let map = |name, operand, tile| field(name, Arg::Map { operand, tile });
    let box_of_b = operand_box(b_rows, elements_of_b);
    let map_of_a = map("a_map", a, operand_box(a_rows, panel_k(class)));
    // TMA gathers no rows.
    let mut args = match operands.gathers {
        None => vec![map_of_a],
        Some(_) => [pointer("a", a), operands.leading("lda", a)].into_iter().chain(operands.gathered()).collect(),
    };
    args.push(map("b_map", b, box_of_b));
    args.extend(b2.map(|b2| map("b2_map", b2, box_of_b)));
    args.extend(maps_of_scales(class, operands, schedule));
    args.extend(
        c.into_iter()
            .flat_map(|c| [map("c_map", c, schedule.store_box(class)), pointer("c", c), operands.leading("ldc", c)]),
    );
    if class.block.is_some() {
        args.extend(operands.addressed_scales());
    }
    args.extend(operands.extents());
    args.extend(raster(schedule.raster));
    if schedule.has_heights() {
        args.push(field(TILE_M, Arg::Knob { value: i32::try_from(tile_m).unwrap_or(i32::MAX) }));
    }
    if schedule.splits {
        let value = i32::try_from(schedule.split_k).unwrap_or(i32::MAX);
        args.push(field(SPLIT_K, Arg::Knob { value }));
    }
    if schedule.stream_k {
        let value = i32::try_from(schedule.shared_waves).unwrap_or(i32::MAX);
        args.push(field("shared_waves", Arg::Knob { value }));
        let buffers = [("handed_on", HANDED_ON), ("flags", FLAGS)];
        args.extend(buffers.map(|(name, buffer)| field(name, Arg::Workspace { buffer })));
    }
    args.extend(c.map(|operand| field("c_is_mapped", Arg::IsMapped { operand })));
    args.extend(operands.batch_strides());
    args.extend(others.iter().cloned());
    args.extend(schedule.operand_load(class).into_iter().flat_map(|load| fields_of_load(operands, load)));
    args
}

/// The tensor map of a matrix that a body reads, and whether it is there: a launch whose matrix TMA cannot load has none.
fn fields_of_load(operands: &Operands, OperandLoad { operand, tile }: OperandLoad) -> [Field; 2] {
    let address = operands.others.iter().find(|field| field.arg == Arg::Pointer { operand });
    let name = address.map_or("", |field| &field.name);
    [
        field(&body::cuda::load_map(name), Arg::Map { operand, tile }),
        field(&body::cuda::is_load_mapped(name), Arg::IsMapped { operand }),
    ]
}

/// The tensor maps of scales: of groups those of second factors, with their zero points, of blocks that of the first one.
fn maps_of_scales(class: &Class, operands: &Operands, schedule: &Sm90Schedule) -> Vec<Field> {
    let map = |name: &str, operand, tile| field(&format!("{name}_map"), Arg::Map { operand, tile });
    if let Some(of_a) = operands.a_scales {
        let tile = TileBox { rows: schedule.tile_m, columns: AT_ONCE, swizzle: UNSWIZZLED };
        return vec![map(A_SCALES, of_a, tile)];
    }
    let columns = class.columns_of_c(schedule.tile_n);
    let tile = TileBox { rows: groups(class), columns, swizzle: UNSWIZZLED };
    operands.tables().map(|(name, operand)| map(name, operand, tile)).collect()
}

/// The constants of CUDA's `struct Schedule`: the knobs that make an image, and what the launch needs too.
pub fn constants(class: &Class, schedule: &Sm90Schedule) -> Vec<Constant> {
    let Sm90Schedule { tile_m, tile_n, stages, consumers, mode, cluster_m, cluster_n, .. } = *schedule;
    let Sm90Schedule { swap_ab, rows_up_to: _, splits, split_k: _, stream_k, shared_waves: _, raster: _, .. } =
        *schedule;
    let store = schedule.store_box(class);
    let mut constants = vec![
        int("kTileM", tile_m),
        int("kTileN", tile_n),
        int("kTileK", tile_k(class)),
        int("kStages", stages),
        int("kConsumers", consumers),
        boolean("kPingPong", mode == Mode::PingPong),
        int("kClusterM", cluster_m),
        int("kClusterN", cluster_n),
        boolean("kSwapAB", swap_ab),
        boolean("kSplits", splits),
        boolean("kStreamK", stream_k),
        int("kStoreRows", store.rows),
        int("kStoreColumns", store.columns),
        int("kStoreBuffers", schedule.store_buffers(class)),
        int("kSharedBytes", schedule.shared_bytes(class)),
    ];
    constants.extend(schedule.operand_load(class).map(|_| int("kLoadBarriers", schedule.load_barriers(class))));
    constants
}
