//! Every built-in epilogue, in both families.

mod support;

use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::problem::Layout::{Nn, Nt};
use autokernel_codegen::schedule::Schedule;
use support::case::{Case, SM80, SM90, Variation, problem};
use support::compile::Compiler;
use support::host::shape;

#[test]
fn every_epilogue_is_right_in_both_families() {
    let Some(compiler) = Compiler::find("every_epilogue_is_right_in_both_families") else { return };
    for epilogue in ["relu", "leaky_relu(0.01)", "gelu", "silu", "sigmoid", "tanh"] {
        for schedule in [Schedule::Sm80(SM80), Schedule::Sm90(SM90)] {
            for (problem, seed) in [(problem(Bf16, Bf16, Nt, epilogue), 0), (problem(F16, F32, Nn, epilogue), 1)] {
                let case = Case { problem, schedule };
                let module = case.compile(&compiler, None).unwrap();
                let variation = Variation { seed, eighths: true, ..Variation::default() };
                let what = format!("{} by {}", case.problem, case.schedule);
                case.run(&module, shape(70, 72, 48), variation).expect_right(&what);
            }
        }
    }
}
