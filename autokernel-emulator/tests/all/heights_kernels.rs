//! Tiles of several heights in one image: each that a launch may take.

use crate::support::case::{Case, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::heights;
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm90Schedule};

/// Several tiles with a ragged edge on every side, rows that fill no tile, and no K.
const SHAPES: [(u32, u32, u32); 3] = [(171, 200, 200), (9, 72, 456), (9, 10, 0)];

fn check(test: &str, problem: Problem, tallest: Sm90Schedule, rows: &[u32]) {
    let Some(compiler) = Compiler::find(test) else { return };
    let class = problem.class();
    let tiles: Vec<Sm90Schedule> = heights(&class, &tallest).collect();
    assert_eq!(tiles.iter().map(|tile| tile.tile_m).collect::<Vec<_>>(), rows);
    let case = |tile: Sm90Schedule| Case { problem: problem.clone(), schedule: Schedule::Sm90(tile) };
    let module = case(tiles[0]).compile(&compiler, None).unwrap();
    for tile in tiles {
        let splits: &[u32] = if tile.splits { &[1, 2, 3] } else { &[1] };
        for case in splits.iter().map(|&split_k| case(Sm90Schedule { split_k, ..tile })) {
            assert_eq!(case.schedule.check(&class, Arch::SM_90A), Ok(()));
            for (seed, &(m, n, k)) in (0..).zip(&SHAPES) {
                let variation = Variation { seed, padding: [0, 8, 3], ..Variation::default() };
                let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
                case.run(&module, shape(m, n, k), variation).expect_right(&what);
            }
        }
    }
}

macro_rules! images {
    ($($name:ident: $problem:expr, $schedule:expr, $rows:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $problem, Sm90Schedule { swap_ab: true, ..$schedule }, &$rows);
        })*
    };
}

images! {
    every_height_of_one_consumer_is_right:
        problem(Bf16, Bf16, Nt, "leaky_relu(0.25)"), Sm90Schedule { tile_n: 64, rows_up_to: 32, ..SM90 }, [8, 16, 24, 32];
    every_height_is_split_by_any_launch:
        problem(Bf16, F32, Nt, "identity"), Sm90Schedule { tile_n: 64, rows_up_to: 24, splits: true, ..SM90 }, [8, 16, 24];
    every_height_of_two_consumers_in_turns_is_right:
        problem(F16, F16, Nn, "relu"),
        Sm90Schedule { tile_n: 64, consumers: 2, mode: Mode::PingPong, rows_up_to: 80, ..SM90 }, [24, 32, 40, 48, 56, 64, 72, 80];
    every_height_of_three_consumers_is_right:
        problem(Bf16, Bf16, Nt, "identity"),
        Sm90Schedule { tile_n: 192, consumers: 3, rows_up_to: 176, ..SM90 }, [48, 56, 64, 80, 96, 112, 128, 144, 160, 176];
}
