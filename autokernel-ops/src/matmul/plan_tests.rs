use autokernel_core::plan::{Contents, Layout as StructLayout};
use autokernel_core::{Arg, Extents, LaunchPlan, Residency, TileBox, dim};

use super::*;
use crate::matmul::emit;
use crate::matmul::schedule::{Mode, Schedule, Sm90Schedule};
use crate::matmul::sm90;
use autokernel_core::Arch;
use autokernel_core::Dtype;

const PLAIN: Sm90Schedule = Sm90Schedule {
    tile_n: 256,
    consumers: 2,
    raster: Raster { order: RasterOrder::AlongN, group: 8 },
    ..Sm90Schedule::PLAIN
};

fn problem(output: Dtype, layout: Layout) -> Problem {
    Problem { output, ..Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap()) }
}

fn plan(schedule: Sm90Schedule, output: Dtype, layout: Layout) -> LaunchPlan {
    sm90::plan(&problem(output, layout).class(), &Operands::PLAIN, &schedule, "symbol".to_owned())
}

fn boxes(schedule: Sm90Schedule, output: Dtype, layout: Layout) -> Vec<(u32, u32, u32)> {
    let plan = plan(schedule, output, layout);
    let tile = |field: &Field| match field.arg {
        Arg::Map { tile: TileBox { rows, columns, swizzle }, .. } => Some((columns, rows, swizzle)),
        _ => None,
    };
    plan.kernels[0].args.iter().filter_map(tile).collect()
}

#[test]
fn a_signature_says_types_axes_and_what_is_known() {
    let known = Problem { known_n: Some(96), ..problem(Dtype::F32, Layout::Nt) };
    let signature = signature(&known);
    let dims: Vec<_> = signature.dims.iter().map(|dim| (dim.name.as_str(), dim.known)).collect();
    assert_eq!(dims, [("m", None), ("n", Some(96)), ("k", None)]);
    let operands: Vec<_> =
        signature.operands.iter().map(|operand| (operand.name.as_str(), operand.dtype, &operand.axes[..])).collect();
    let bf16 = Dtype::Bf16;
    assert_eq!(operands, [("a", bf16, &[0, 2][..]), ("b", bf16, &[1, 2]), ("c", Dtype::F32, &[0, 1])]);
    assert_eq!(super::signature(&problem(Dtype::Bf16, Layout::Nn)).operands[1].axes, [2, 1]);
    assert_eq!(super::signature(&problem(Dtype::Bf16, Layout::Tt)).operands[0].axes, [2, 0]);
}

#[test]
fn blocks_of_a_cluster_share_the_load_of_an_operand() {
    let paired = boxes(Sm90Schedule { cluster_m: 2, ..PLAIN }, Dtype::Bf16, Layout::Nt);
    assert_eq!(paired[..2], [(64, 128, 128), (64, 128, 128)]);
    let beside = boxes(Sm90Schedule { cluster_n: 2, ..PLAIN }, Dtype::Bf16, Layout::Nn);
    assert_eq!(beside[..2], [(64, 64, 128), (64, 64, 128)], "panels of 64 columns");
    let transposed = boxes(Sm90Schedule { tile_m: 256, ..PLAIN }, Dtype::Bf16, Layout::Tt);
    assert_eq!(transposed[..2], [(64, 64, 128), (64, 256, 128)], "panels of 64 rows");
}

#[test]
fn a_store_box_is_the_widest_swizzle_row_of_a_tile_whose_last_one_may_overlap() {
    let store = |output, tile_n| boxes(Sm90Schedule { tile_n, ..PLAIN }, output, Layout::Nt)[2];
    assert_eq!(store(Dtype::Bf16, 256), (64, 16, 128));
    assert_eq!(store(Dtype::F32, 256), (32, 16, 128));
    assert_eq!(store(Dtype::Bf16, 96), (64, 16, 128));
    assert_eq!(store(Dtype::Bf16, 208), (64, 16, 128));
    assert_eq!(store(Dtype::Bf16, 24), (16, 16, 32));
    assert_eq!(store(Dtype::F32, 24), (16, 16, 64));
    assert_eq!(store(Dtype::F32, 16), (16, 16, 64));
}

#[test]
fn a_transposed_tile_has_as_few_store_boxes_of_up_to_64_rows_as_shared_memory_has_room_for() {
    let store = |output, tile_m| boxes(Sm90Schedule { tile_m, swap_ab: true, ..PLAIN }, output, Layout::Nt)[2];
    assert_eq!(store(Dtype::Bf16, 8), (16, 8, 32));
    assert_eq!(store(Dtype::F32, 64), (16, 64, 64));
    assert_eq!(store(Dtype::F32, 96), (16, 48, 64));
    assert_eq!(store(Dtype::Bf16, 88), (16, 48, 32));
    assert_eq!(store(Dtype::Bf16, 256), (16, 64, 32));
    let wide = Sm90Schedule { tile_n: 256, consumers: 2, swap_ab: true, ..PLAIN };
    let rows = |tile_m| boxes(Sm90Schedule { tile_m, ..wide }, Dtype::Bf16, Layout::Nt)[2].1;
    assert_eq!([152, 168, 176, 184].map(rows), [56, 56, 32, 16]);
}

#[test]
fn a_split_k_grid_has_a_cluster_for_each_tile_and_others_are_persistent() {
    let extents = |m, n| Extents::new([(dim("m"), m), (dim("n"), n), (dim("k"), 64)]);
    let split = plan(Sm90Schedule { splits: true, split_k: 4, ..PLAIN }, Dtype::Bf16, Layout::Nt);
    assert_eq!(split.kernels[0].grid.blocks(&extents(8192, 8192), 132), 4 * 64 * 32);
    let paired = plan(Sm90Schedule { cluster_m: 2, ..PLAIN }, Dtype::Bf16, Layout::Nt);
    assert_eq!(paired.kernels[0].grid.blocks(&extents(300, 300), 132), 2 * 2 * 2);
    assert_eq!(paired.kernels[0].grid.residency, Residency::Persistent { blocks_per_sm: 1 });
    assert!(paired.workspace.is_empty() && split.workspace.is_empty());
}

#[test]
fn every_split_of_k_is_a_plan_of_one_image() {
    let extents = Extents::new([(dim("m"), 300), (dim("n"), 512), (dim("k"), 64)]);
    let (problem, tile) = (problem(Dtype::Bf16, Layout::Nt), Sm90Schedule { splits: true, ..PLAIN });
    let of = |split_k| emit::kernel(&problem, &Schedule::Sm90(Sm90Schedule { split_k, ..tile }));
    let (source, mut plan) = of(1);
    assert!(!source.cuda.contains("__cluster_dims__") && source.cuda.contains("kSplits = true"));
    assert_eq!(plan.kernels[0].grid.residency, Residency::Persistent { blocks_per_sm: 1 });
    for split_k in 1..=8 {
        let (other, planned) = of(split_k);
        assert_eq!(other, source, "split_k {split_k}");
        plan.set_knob("split_k", split_k as i32);
        assert_eq!(plan, planned, "a knob tells as much as a schedule, split_k {split_k}");
        assert_eq!(plan.kernels[0].grid.blocks(&extents, 132), u64::from(3 * 2 * split_k));
    }
    let whole = emit::kernel(&problem, &Schedule::Sm90(PLAIN));
    assert!(whole.1.kernels[0].args.iter().all(|field| field.name != "split_k") && whole.0 != source);
}

#[test]
fn clusters_that_share_tiles_have_a_slot_for_each_block_and_a_flag_for_each_warp_of_a_tile() {
    let of_block = |schedule| {
        let plan = plan(Sm90Schedule { stream_k: true, shared_waves: 2, ..schedule }, Dtype::Bf16, Layout::Nt);
        assert_eq!(plan.kernels[0].grid.residency, Residency::Sharing { blocks_per_sm: 1 });
        let arg = |name: &str| {
            let field = plan.kernels[0].args.iter().find(|field| field.name == name);
            field.map(|field| field.arg.clone())
        };
        assert_eq!(arg("shared_waves"), Some(Arg::Knob { value: 2 }));
        assert_eq!(arg("handed_on"), Some(Arg::Workspace { buffer: 0 }));
        assert_eq!(arg("flags"), Some(Arg::Workspace { buffer: 1 }));
        let [sums, flags] = plan.workspace[..] else { panic!("{:?}", plan.workspace) };
        assert_eq!((sums.contents, flags.contents), (Contents::Anything, Contents::Zeros));
        (sums.bytes, flags.bytes)
    };
    let Sm90Schedule { tile_m, tile_n, .. } = PLAIN;
    assert_eq!(of_block(Sm90Schedule { consumers: 2, ..PLAIN }), (tile_m * tile_n * 4, 8 * 4));
    assert_eq!(of_block(Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..PLAIN }).1, 4 * 4);
}

#[test]
fn argument_structs_are_as_large_as_their_fields_ask_for() {
    let problem = problem(Dtype::Bf16, Layout::Nt);
    let bytes = |plan: &LaunchPlan| StructLayout::of_struct(&plan.kernels[0].args).bytes;
    let of = |arch| emit::kernel(&problem, &Schedule::default_for(&problem.class(), arch)).1;
    assert_eq!((bytes(&of(Arch::SM_90A)), bytes(&of(Arch::SM_80))), (448, 72));
    assert_eq!(bytes(&emit::reference(&problem).1), 64);
}

#[test]
fn a_raster_is_a_knob_of_the_launch() {
    let mut plan = plan(PLAIN, Dtype::Bf16, Layout::Nt);
    let knob = |plan: &LaunchPlan, name: &str| {
        plan.kernels[0].args.iter().find(|field| field.name == name).map(|field| field.arg.clone())
    };
    let value = |value| Some(Arg::Knob { value });
    assert_eq!((knob(&plan, "raster_order"), knob(&plan, "raster_group")), (value(1), value(8)));
    plan.set_knob("raster_group", 3);
    assert_eq!(knob(&plan, "raster_group"), value(3));
}
