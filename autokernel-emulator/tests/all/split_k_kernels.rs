//! A split of K that the launch says: one image at every number of blocks that may share a tile.

use crate::support::case::{Case, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32, I8};
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};

/// Several waves with a ragged K, one tile of many blocks of K, fewer of these than blocks that share it, and no K.
const SHAPES: [(u32, u32, u32); 4] = [(130, 136, 456), (9, 72, 1000), (65, 24, 72), (9, 10, 0)];
/// Whole tiles, runs of warps that are even, uneven, of one warp each, and blocks that finish none.
const SPLITS: [u32; 6] = [1, 2, 3, 4, 7, 8];

fn check(test: &str, problem: Problem, schedule: Sm90Schedule) {
    let Some(compiler) = Compiler::find(test) else { return };
    let case = |split_k| {
        let schedule = Schedule::Sm90(Sm90Schedule { splits: true, split_k, ..schedule });
        Case { problem: problem.clone(), schedule }
    };
    let module = case(1).compile(&compiler, None).unwrap();
    for (seed, &(m, n, k)) in (0..).zip(&SHAPES) {
        for case in SPLITS.map(case) {
            case.check();
            let variation = Variation { seed, padding: [0, 8, 3], ..Variation::default() };
            let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
            case.run(&module, shape(m, n, k), variation).expect_right(&what);
        }
    }
}

macro_rules! images {
    ($($name:ident: $problem:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $problem, $schedule);
        })*
    };
}

images! {
    a_tile_of_four_warps_is_split_by_any_launch:
        problem(Bf16, F32, Nt, "identity"), Sm90Schedule { stages: 4, ..SM90 };
    a_tile_of_eight_warps_is_split_by_any_launch:
        problem(F16, F16, Nn, "relu"), Sm90Schedule { tile_m: 128, consumers: 2, stages: 6, ..SM90 };
    a_swapped_tile_is_split_by_any_launch:
        problem(Bf16, Bf16, Nt, "leaky_relu(0.25)"), Sm90Schedule { tile_m: 16, swap_ab: true, stages: 6, ..SM90 };
    a_swapped_tile_of_twelve_warps_is_split_by_any_launch:
        problem(I8, F32, Nt, "identity"), Sm90Schedule { tile_m: 24, tile_n: 192, consumers: 3, swap_ab: true, stages: 6, ..SM90 };
}
