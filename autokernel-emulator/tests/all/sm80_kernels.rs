//! The sm80 family: mma.sync, ldmatrix, cp.async.

use crate::support::case::{Case, SM80, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt, Tn, Tt};
use autokernel_codegen::matmul::schedule::{Schedule, Sm80Schedule};

/// Shapes that end inside, at and beyond tiles.
const SHAPES: [(u32, u32, u32); 5] = [(64, 64, 64), (65, 72, 40), (1, 130, 33), (100, 17, 100), (7, 8, 0)];

fn check(test: &str, cases: &[Case], variations: &[Variation]) {
    let Some(compiler) = Compiler::find(test) else { return };
    for case in cases {
        case.check();
        let module = case.compile(&compiler, None).unwrap();
        for &(m, n, k) in &SHAPES {
            for &variation in variations {
                let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
                case.run(&module, shape(m, n, k), variation).expect_right(&what);
            }
        }
    }
}

#[test]
fn every_layout_and_type_is_right_on_ragged_shapes() {
    let cases = [
        (problem(Bf16, Bf16, Nt, "identity"), SM80),
        (problem(Bf16, F32, Nn, "relu"), SM80),
        (problem(F16, F16, Nn, "leaky_relu(0.25)"), Sm80Schedule { tile_k: 64, stages: 2, ..SM80 }),
        (problem(F16, F32, Nt, "identity"), Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 1, warps_n: 4, ..SM80 }),
        (problem(Bf16, Bf16, Tn, "identity"), SM80),
        (
            problem(F16, F32, Tt, "relu"),
            Sm80Schedule { tile_m: 128, tile_n: 32, tile_k: 64, warps_m: 4, warps_n: 1, ..SM80 },
        ),
    ];
    let cases = cases.map(|(problem, schedule)| Case { problem, schedule: Schedule::Sm80(schedule) });
    check("every_layout_and_type_is_right_on_ragged_shapes", &cases, &[Variation::default()]);
}

#[test]
fn rows_of_any_alignment_are_right_in_any_order_of_events() {
    let cases = [Nn, Tn]
        .map(|layout| Case { problem: problem(Bf16, Bf16, layout, "identity"), schedule: Schedule::Sm80(SM80) });
    let orders = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 24 } else { 4 };
    let variations: Vec<Variation> = (1..=orders)
        .map(|seed| Variation {
            seed,
            padding: [(seed % 3) as u32, (seed % 2) as u32, seed as u32],
            ..Variation::default()
        })
        .collect();
    check("rows_of_any_alignment_are_right_in_any_order_of_events", &cases, &variations);
}
