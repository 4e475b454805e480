//! The sm90 family: TMA, mbarriers, wgmma, clusters.

use crate::support::case::{Case, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{self, Bf16, E4m3, E5m2, F16, F32, I8};
use autokernel_codegen::matmul::inputs::other;
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt, Tn, Tt};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm90Schedule};

/// A product of a float of 8 bits and the other one.
fn pair(input: Dtype, output: Dtype, epilogue: &str) -> Problem {
    Problem { second: other(input), ..problem(input, output, Nt, epilogue) }
}

/// Shapes that end inside, at and beyond tiles, and without K.
const SHAPES: [(u32, u32, u32); 5] = [(128, 128, 128), (65, 72, 200), (1, 130, 64), (200, 24, 72), (9, 8, 0)];

fn check(test: &str, problem: Problem, schedule: Sm90Schedule, variations: &[Variation]) {
    let Some(compiler) = Compiler::find(test) else { return };
    let case = Case { problem, schedule: Schedule::Sm90(schedule) };
    case.check();
    let module = case.compile(&compiler, None).unwrap();
    for &(m, n, k) in &SHAPES {
        for &variation in variations {
            let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
            case.run(&module, shape(m, n, k), variation).expect_right(&what);
        }
    }
}

/// Late events, events in random orders, and rows of C that TMA cannot store. With `AUTOKERNEL_SOAK=1`, many orders.
fn variations() -> Vec<Variation> {
    let plain = Variation::default();
    if std::env::var_os("AUTOKERNEL_SOAK").is_some() {
        return (0..24).map(|seed| Variation { seed, ..plain }).collect();
    }
    vec![
        plain,
        Variation { seed: 1, ..plain },
        Variation { seed: 2, padding: [8, 16, 3], ..plain },
        Variation { seed: 3, skew_c: 4, ..plain },
    ]
}

macro_rules! families {
    ($($name:ident: $problem:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $problem, $schedule, &variations());
        })*
    };
}

families! {
    one_consumer_is_right: problem(Bf16, Bf16, Nt, "identity"), SM90;
    row_major_b_is_right: problem(F16, F16, Nn, "leaky_relu(0.25)"), SM90;
    two_cooperating_consumers_are_right:
        problem(Bf16, F32, Nn, "relu"), Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, stages: 4, ..SM90 };
    three_cooperating_consumers_are_right:
        problem(F16, F16, Nt, "identity"), Sm90Schedule { tile_m: 192, tile_n: 96, consumers: 3, ..SM90 };
    ping_pong_is_right:
        problem(Bf16, Bf16, Nt, "identity"), Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..SM90 };
    ping_pong_of_a_cluster_is_right:
        problem(F16, F32, Nn, "identity"),
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    a_cluster_along_n_is_right:
        problem(Bf16, Bf16, Nn, "relu"), Sm90Schedule { cluster_n: 2, ..SM90 };
    a_cluster_of_four_is_right:
        problem(Bf16, F32, Nt, "identity"), Sm90Schedule { cluster_m: 4, ..SM90 };
    a_split_of_k_is_right:
        problem(Bf16, F32, Nt, "identity"), Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 };
    a_split_of_k_in_eight_is_right:
        problem(F16, F16, Nn, "relu"), Sm90Schedule { tile_m: 128, consumers: 2, splits: true, split_k: 8, stages: 6, ..SM90 };
    a_swapped_tile_is_right:
        problem(Bf16, Bf16, Nt, "identity"), Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 };
    a_swapped_tile_of_floats_is_right:
        problem(F16, F32, Nn, "leaky_relu(0.25)"),
        Sm90Schedule { tile_m: 40, tile_n: 128, consumers: 2, swap_ab: true, ..SM90 };
    a_swapped_split_tile_is_right:
        problem(Bf16, Bf16, Nn, "identity"),
        Sm90Schedule { tile_m: 32, tile_n: 128, consumers: 2, swap_ab: true, splits: true, split_k: 2, stages: 4, ..SM90 };
    a_last_store_box_of_columns_may_overlap_the_one_before:
        problem(Bf16, Bf16, Nt, "leaky_relu(0.25)"), Sm90Schedule { tile_n: 168, ..SM90 };
    boxes_of_a_narrow_tile_of_floats_overlap_in_turns:
        problem(F16, F32, Nt, "relu"), Sm90Schedule { tile_n: 56, consumers: 2, mode: Mode::PingPong, ..SM90 };
    a_last_store_box_of_rows_may_overlap_the_one_before:
        problem(Bf16, Bf16, Nn, "leaky_relu(0.25)"), Sm90Schedule { tile_m: 88, swap_ab: true, ..SM90 };
    boxes_of_rows_that_few_bytes_are_left_for_overlap:
        problem(F16, F32, Nt, "identity"),
        Sm90Schedule { tile_m: 136, tile_n: 128, consumers: 2, swap_ab: true, stages: 6, ..SM90 };
    overlapping_boxes_of_a_split_of_k_are_right:
        problem(Bf16, Bf16, Nt, "relu"),
        Sm90Schedule { tile_m: 72, tile_n: 128, consumers: 2, swap_ab: true, splits: true, split_k: 2, stages: 6, ..SM90 };
    a_product_of_8_bit_floats_is_right: problem(E4m3, Bf16, Nt, "identity"), SM90;
    ping_pong_of_8_bit_floats_in_a_cluster_is_right:
        problem(E5m2, F16, Nt, "relu"),
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    a_swapped_split_tile_of_8_bit_floats_is_right:
        problem(E4m3, F32, Nt, "leaky_relu(0.25)"),
        Sm90Schedule { tile_m: 16, swap_ab: true, splits: true, split_k: 4, stages: 4, ..SM90 };
    a_product_of_a_gradient_and_a_weight_of_8_bits_is_right: pair(E5m2, Bf16, "identity"), SM90;
    ping_pong_of_both_8_bit_floats_in_a_cluster_is_right:
        pair(E4m3, F16, "relu"), Sm90Schedule { tile_n: 80, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    a_swapped_split_tile_of_both_8_bit_floats_is_right:
        pair(E5m2, F32, "leaky_relu(0.25)"),
        Sm90Schedule { tile_m: 16, swap_ab: true, splits: true, split_k: 4, stages: 4, ..SM90 };
    a_product_of_whole_numbers_is_right: problem(I8, F32, Nt, "identity"), SM90;
    a_product_of_whole_numbers_by_a_width_of_its_own_is_right:
        problem(I8, Bf16, Nt, "leaky_relu(0.25)"), Sm90Schedule { tile_n: 24, ..SM90 };
    ping_pong_of_whole_numbers_in_a_cluster_is_right:
        problem(I8, F16, Nt, "relu"),
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    a_swapped_split_tile_of_whole_numbers_is_right:
        problem(I8, F32, Nt, "identity"),
        Sm90Schedule { tile_m: 16, swap_ab: true, splits: true, split_k: 4, stages: 4, ..SM90 };
    a_product_of_tf32_is_right: problem(F32, F32, Nt, "identity"), SM90;
    cooperating_consumers_of_tf32_in_a_cluster_are_right:
        problem(F32, F32, Nt, "leaky_relu(0.25)"),
        Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, cluster_n: 2, ..SM90 };
    a_swapped_split_tile_of_tf32_is_right:
        problem(F32, F32, Nt, "relu"), Sm90Schedule { tile_m: 24, swap_ab: true, splits: true, split_k: 4, stages: 4, ..SM90 };
    a_swapped_cluster_is_right:
        problem(Bf16, Bf16, Nt, "relu"),
        Sm90Schedule { tile_m: 32, tile_n: 128, consumers: 2, swap_ab: true, cluster_n: 2, ..SM90 };
    a_transposed_a_is_right: problem(Bf16, Bf16, Tn, "identity"), SM90;
    two_transposed_factors_are_right:
        problem(F16, F32, Tt, "leaky_relu(0.25)"), Sm90Schedule { tile_m: 128, tile_n: 96, consumers: 2, ..SM90 };
    blocks_of_three_consumers_of_a_transposed_a_are_right:
        problem(F16, F16, Tn, "identity"), Sm90Schedule { tile_m: 192, tile_n: 64, consumers: 3, ..SM90 };
    ping_pong_of_a_transposed_a_in_a_cluster_is_right:
        problem(Bf16, F32, Tn, "relu"),
        Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_n: 2, ..SM90 };
    ping_pong_of_transposed_factors_that_share_b_is_right:
        problem(F16, F16, Tt, "identity"),
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 };
    a_swapped_tile_of_a_transposed_a_is_right:
        problem(Bf16, Bf16, Tn, "identity"), Sm90Schedule { tile_n: 128, consumers: 2, swap_ab: true, ..SM90 };
    a_swapped_split_tile_of_transposed_factors_is_right:
        problem(F16, F32, Tt, "relu"),
        Sm90Schedule { tile_m: 128, tile_n: 64, swap_ab: true, splits: true, split_k: 2, stages: 4, ..SM90 };
    a_split_of_k_of_a_transposed_a_is_right:
        problem(Bf16, F32, Tn, "identity"), Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 };
    shared_tiles_of_a_transposed_a_are_right:
        problem(Bf16, Bf16, Tn, "identity"), Sm90Schedule { stream_k: true, shared_waves: 1, ..SM90 };
}

#[test]
fn sums_of_whole_numbers_are_exact_beyond_what_fp32_holds_until_they_are_stored() {
    let Some(compiler) = Compiler::find("sums_of_whole_numbers_are_exact_beyond_what_fp32_holds_until_they_are_stored")
    else {
        return;
    };
    let split = Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 };
    let swapped = Sm90Schedule { tile_m: 8, swap_ab: true, splits: true, split_k: 2, stages: 6, ..SM90 };
    let shared = Sm90Schedule { stream_k: true, shared_waves: 1, ..SM90 };
    for schedule in [SM90, split, swapped, shared] {
        let case = Case { problem: problem(I8, F32, Nt, "identity"), schedule: Schedule::Sm90(schedule) };
        case.check();
        let module = case.compile(&compiler, None).unwrap();
        // 65 · 127² is below 2²⁴, 1301 · 124² is not.
        for (m, n, k) in [(65, 72, 65), (65, 72, 1301), (9, 130, 4000)] {
            let variation = Variation { largest: true, ..Variation::default() };
            case.run(&module, shape(m, n, k), variation).expect_right(&format!("{}, {m}x{n}x{k}", case.schedule));
        }
    }
}
