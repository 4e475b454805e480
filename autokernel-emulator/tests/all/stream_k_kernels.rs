//! Stream K: clusters that share tiles, on GPUs of so few multiprocessors that the last wave is part-filled. Each case is
//! launched twice in one workspace, and must give the same bits.

use crate::support::case::{Case, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm90Schedule};

/// Several waves, one tile that all share, fewer tiles than clusters, and no K: with the multiprocessors of the GPU.
const SHAPES: [((u32, u32, u32), u32); 4] =
    [((130, 136, 456), 4), ((40, 30, 1000), 5), ((70, 67, 650), 7), ((9, 10, 0), 4)];

fn check(test: &str, problem: Problem, schedule: Sm90Schedule) {
    let Some(compiler) = Compiler::find(test) else { return };
    // Waves that are shared are told at launch: one image.
    let case = |shared_waves| {
        let schedule = Schedule::Sm90(Sm90Schedule { stream_k: true, shared_waves, ..schedule });
        Case { problem: problem.clone(), schedule }
    };
    let module = case(0).compile(&compiler, None).unwrap();
    let cluster = schedule.cluster_m * schedule.cluster_n;
    for (number, ((m, n, k), multiprocessors)) in (0..).zip(SHAPES) {
        for shared_waves in [0, 1, 2] {
            let case = case(shared_waves);
            case.check();
            let multiprocessors = multiprocessors * cluster;
            let variation = Variation { seed: number, padding: [0, 0, 3], multiprocessors, ..Variation::default() };
            let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
            case.run(&module, shape(m, n, k), variation).expect_right(&what);
        }
    }
}

macro_rules! modes {
    ($($name:ident: $problem:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $problem, $schedule);
        })*
    };
}

modes! {
    one_consumer_shares_tiles: problem(Bf16, Bf16, Nt, "identity"), SM90;
    cooperating_consumers_share_tiles:
        problem(F16, F32, Nn, "leaky_relu(0.25)"), Sm90Schedule { tile_m: 128, tile_n: 64, consumers: 2, ..SM90 };
    ping_pong_consumers_share_tiles:
        problem(Bf16, F32, Nt, "relu"), Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..SM90 };
    a_cluster_shares_tiles_with_others:
        problem(Bf16, Bf16, Nt, "identity"), Sm90Schedule { consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    swapped_tiles_are_shared:
        problem(F16, F16, Nn, "relu"), Sm90Schedule { tile_m: 40, tile_n: 128, consumers: 2, swap_ab: true, ..SM90 };
}
