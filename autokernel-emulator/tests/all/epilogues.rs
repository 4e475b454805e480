//! Every built-in epilogue, in both families.

use crate::support::arguments;
use crate::support::case::{Case, SM80, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::{Matrix, allocate, download, product, shape};
use crate::support::sample::sample;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::Schedule;
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_emulator::{Gpu, Module, Options};

#[test]
fn every_epilogue_is_right_in_both_families() {
    let Some(compiler) = Compiler::find("every_epilogue_is_right_in_both_families") else { return };
    let epilogues = ["relu", "leaky_relu(0.01)", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"];
    for (turn, epilogue) in epilogues.into_iter().enumerate() {
        for schedule in [Schedule::Sm80(SM80), Schedule::Sm90(SM90)] {
            let problems = [(problem(Bf16, Bf16, Nt, epilogue), 0), (problem(F16, F32, Nn, epilogue), 1)];
            for (problem, seed) in sample(problems, 2, turn) {
                let case = Case { problem, schedule };
                let module = case.compile(&compiler, None).unwrap();
                let variation = Variation { seed, eighths: true, ..Variation::default() };
                let what = format!("{} by {}", case.problem, case.schedule);
                case.run(&module, shape(70, 72, 48), variation).expect_right(&what);
            }
        }
    }
}

type Function = fn(f64) -> f64;

/// The functions that an epilogue may call, as the compiler expands them: the slow paths of sine too, which use local
/// memory and constant tables. Each with its value in fp64.
const FUNCTIONS: [(&str, Function); 14] = [
    ("m::abs(x)", f64::abs),
    ("m::max(x, 0.5f)", |x| x.max(0.5)),
    ("m::min(x, -0.5f)", |x| x.min(-0.5)),
    ("m::exp(x)", f64::exp),
    ("m::ln(m::abs(x) + 0.25f)", |x| (x.abs() + 0.25).ln()),
    ("m::sqrt(m::abs(x))", |x| x.abs().sqrt()),
    ("m::tanh(x)", f64::tanh),
    ("m::erf(x)", libm::erf),
    ("m::erf(x * 0.25f)", |x| libm::erf(x * 0.25)),
    ("m::sin(x * 100000.0f)", |x| (x * 100_000.0).sin()),
    ("m::cos(x)", f64::cos),
    ("m::recip(x + 0.001953125f)", |x| 1.0 / (x + 0.001_953_125)),
    ("m::mul_add(x, x, -2.0f)", |x| x.mul_add(x, -2.0)),
    ("m::sin(x) * m::cos(x)", |x| x.sin() * x.cos()),
];

#[test]
fn every_function_of_an_epilogue_is_right() {
    let Some(compiler) = Compiler::find("every_function_of_an_epilogue_is_right") else { return };
    let case = Case { problem: problem(Bf16, F32, Nt, "identity"), schedule: Schedule::Sm80(SM80) };
    for (call, value) in FUNCTIONS {
        let mut source = case.source();
        let body = format!("namespace m = autokernel::math; return {call};");
        source.cuda = source.cuda.replacen("return x;", &body, 1);
        assert!(source.cuda.contains(call), "{}", source.cuda);
        let module = Module::parse(&compiler.ptx(&source, case.arch(), None).unwrap()).unwrap();

        let shape = shape(33, 40, 24);
        let (mut a, mut b) = (Matrix::integers(33, 24, 24, 3), Matrix::integers(40, 24, 24, 4));
        a.values.iter_mut().chain(&mut b.values).for_each(|value| *value /= 8.0);
        let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
        let placed = [a.upload(&mut gpu, "A", Bf16), b.upload(&mut gpu, "B", Bf16)];
        let c = allocate(&mut gpu, "C", F32, 33, 40, 40, 0);
        let launch = arguments::launch(&mut gpu, &case.problem, &case.schedule, shape, [placed[0], placed[1], c]);
        gpu.launch(&module, &source.symbol, &launch, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        for (got, sum) in download(&mut gpu, c, F32).into_iter().zip(product(&a, &b, Nt, shape)) {
            let expected = value(sum);
            let allowed = 4e-6 * expected.abs() + 4e-6;
            assert!((got - expected).abs() <= allowed, "{call} of {sum} is {got}, expected {expected}");
        }
    }
}
