use autokernel_core::{Arch, Arg, TileBox};

use super::*;
use crate::body::{Body as Statements, Operand};
use crate::matmul::body::{Body, Product, Written};
use crate::matmul::emit;
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Mode, Schedule};
use crate::matmul::sm90::Sm90Schedule as S;
use crate::rows::cases::{name, reads, store, writes};

const PLAIN: S = S { consumers: 2, ..S::PLAIN };
const PLAIN_TRANSPOSED: S = S { swap_ab: true, ..PLAIN };

/// `out = dot(x, w) + skip`, where `other` is read too.
fn problem(skip: Dtype, out: Dtype, other: Option<Operand>) -> Problem {
    let element = name("dot") + name("skip");
    let element = if other.is_some() { element + name("other") } else { element };
    let matrices = [("x", Dtype::Bf16), ("w", Dtype::Bf16)].map(|(name, dtype)| reads(name, Kind::Matrix, dtype));
    let read = matrices.into_iter().chain(other).chain([reads("skip", Kind::Matrix, skip)]);
    let operands = read.chain([writes("out", Kind::Matrix, out)]).collect();
    let body = Statements { operands, steps: vec![store("out", element)], ..Statements::default() };
    let body = Body::new(Written { product: Product::plain("dot", "x", "w"), second: None, body }).unwrap();
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { output: out, body: Some(body.into()), ..plain }
}

fn class(skip: Dtype, out: Dtype) -> Class {
    problem(skip, out, None).class()
}

fn swizzle(class: &Class, schedule: S) -> Option<u32> {
    schedule.operand_load(class).map(|load| load.tile.swizzle)
}

#[test]
fn boxes_of_a_matrix_have_as_many_elements_as_those_of_c_and_fit_in_them() {
    let of = |skip, out| swizzle(&class(skip, out), PLAIN);
    assert_eq!(of(Dtype::Bf16, Dtype::F16), Some(128));
    assert_eq!(of(Dtype::F32, Dtype::F32), Some(128));
    assert_eq!(of(Dtype::Bf16, Dtype::F32), Some(64));
    assert_eq!(of(Dtype::F32, Dtype::Bf16), None, "wider than what is staged");
    let narrow = S { tile_n: 24, ..PLAIN };
    let load = narrow.operand_load(&class(Dtype::Bf16, Dtype::F32)).unwrap();
    assert_eq!(load.tile, TileBox { rows: 16, columns: 8, swizzle: 16 });
    assert_eq!(swizzle(&class(Dtype::Bf16, Dtype::Bf16), S { tile_n: 24, ..PLAIN }), Some(16));
}

#[test]
fn the_first_matrix_that_fits_is_loaded() {
    let of =
        |other: Operand| PLAIN.operand_load(&problem(Dtype::Bf16, Dtype::Bf16, Some(other)).class()).unwrap().operand;
    assert_eq!(of(reads("other", Kind::Row, Dtype::F32)), 3);
    assert_eq!(of(reads("other", Kind::Matrix, Dtype::F32)), 3);
    assert_eq!(of(reads("other", Kind::Matrix, Dtype::F16)), 2);
}

#[test]
fn boxes_of_transposed_tiles_have_the_columns_of_a_warp() {
    let of = |skip, out| PLAIN_TRANSPOSED.operand_load(&class(skip, out)).map(|load| load.tile);
    assert_eq!(of(Dtype::Bf16, Dtype::F16), Some(TileBox { rows: 64, columns: 16, swizzle: 32 }));
    assert_eq!(of(Dtype::F32, Dtype::F32), Some(TileBox { rows: 64, columns: 16, swizzle: 64 }));
    assert_eq!(of(Dtype::Bf16, Dtype::F32), Some(TileBox { rows: 64, columns: 16, swizzle: 32 }));
}

#[test]
fn tiles_that_are_shared_through_a_workspace_load_none() {
    let (class, schedule) = (class(Dtype::Bf16, Dtype::Bf16), S { stream_k: true, ..PLAIN });
    assert_eq!((swizzle(&class, schedule), schedule.load_barrier_bytes(&class)), (None, 0));
    assert!(!loads_operands(&Problem::new(Dtype::Bf16, Layout::Nt, "gelu".parse().unwrap()).class()));
}

#[test]
fn boxes_are_narrower_where_two_of_the_widest_do_not_fit() {
    let class = class(Dtype::Bf16, Dtype::Bf16);
    let deep = S { tile_m: 64, tile_n: 256, stages: 5, mode: Mode::PingPong, ..PLAIN };
    assert_eq!((deep.store_box(&class).columns, swizzle(&class, deep)), (32, Some(64)));
    assert_eq!(deep.store_box(&Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class()).columns, 64);
    assert!(deep.shared_bytes(&class) <= MAX_SHARED_BYTES);
    Schedule::Sm90(deep).check(&class, Arch::SM_90A).unwrap();
}

#[test]
fn a_warp_has_as_many_buffers_as_the_ring_leaves_room_for_up_to_the_boxes_of_its_part() {
    let class = class(Dtype::Bf16, Dtype::Bf16);
    let buffers = |schedule: S| schedule.store_buffers(&class);
    let in_turn = S { mode: Mode::PingPong, ..PLAIN };
    assert_eq!(buffers(S { stages: 6, ..in_turn }), 2, "of 2 KiB each, beside 192 KiB");
    assert_eq!(buffers(S { tile_n: 160, stages: 5, ..in_turn }), 5, "of 1 KiB each, beside 180 KiB");
    assert_eq!(buffers(in_turn), 4, "two blocks of 128 columns");
    assert_eq!(buffers(S { tile_m: 176, stages: 5, swap_ab: true, ..in_turn }), MOST_BUFFERS);
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
    assert_eq!(in_turn.store_buffers(&plain), 2, "nothing arrives in them");
}

#[test]
fn an_image_of_several_heights_loads_at_all_of_them_or_at_none() {
    let image = S { tile_m: 64, rows_up_to: 64, stages: 8, consumers: 1, ..PLAIN_TRANSPOSED };
    let wide = class(Dtype::F32, Dtype::F32);
    assert_eq!(S { tile_m: 40, ..image.alone() }.store_buffers(&wide), 2, "by itself one has room");
    for (class, loads) in [(class(Dtype::Bf16, Dtype::Bf16), true), (wide, false)] {
        let tiles: Vec<S> = asked_for(&class, &image).collect();
        assert!(tiles.len() > 4 && tiles.iter().all(|tile| tile.operand_load(&class).is_some() == loads));
        assert!(tiles.iter().all(|tile| tile.shared_bytes(&class) <= MAX_SHARED_BYTES));
    }
}

#[test]
fn a_launch_has_a_map_of_the_matrix_and_says_whether_it_is_there() {
    let (problem, schedule) = (problem(Dtype::Bf16, Dtype::Bf16, None), Schedule::Sm90(PLAIN));
    let (source, plan) = emit::kernel(&problem, &schedule);
    let tile = PLAIN.store_box(&problem.class());
    let args = &plan.kernels[0].args;
    let of = |name: &str| args.iter().find(|field| field.name == name).map(|field| field.arg.clone());
    assert_eq!(of("skip_load_map"), Some(Arg::Map { operand: 2, tile }));
    assert_eq!(of("skip_load_is_mapped"), Some(Arg::IsMapped { operand: 2 }));
    assert!(plan.alignments.iter().all(|alignment| alignment.operand != 2), "no copy of what is not aligned");
    assert!(source.cuda.contains("static constexpr int kLoadBarriers = 16;"));
    assert_eq!(PLAIN.shared_bytes(&problem.class()), PLAIN.shared_bytes_with(&problem.class(), 2) + 16 * 8);
}
