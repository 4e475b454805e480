//! A kernel with two products of the same first factor, which a body puts together: `x · gateᵀ − 2 (x · upᵀ)`, exact in fp32
//! for small integers, and another number if the two are exchanged or one is taken twice.

use autokernel_codegen::dtype::Dtype::{Bf16, F32};
use autokernel_codegen::matmul::Schedule;
use autokernel_codegen::matmul::emit::kernel;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::Layout;
use autokernel_codegen::product;
use autokernel_emulator::{Gpu, Module, Options};

use crate::support::arguments;
use crate::support::compile::{Change, Compiler};
use crate::support::host::{self, Matrix, Shape, allocate, download, shape};

const SOURCE: &str = "fn gated(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<f32>) {
    out = dot(x, gate.t()) - 2.0 * dot(x, up.t());
}";

/// Of more laps than the ring has stages and several tiles; and of less than a tile.
const SHAPES: [(u32, u32, u32); 2] = [(130, 136, 456), (70, 67, 250)];
const SEEDS: u64 = 2;

/// The first thing that goes wrong by `schedule`, or nothing.
pub fn run(compiler: &Compiler, schedule: &Schedule, change: Option<Change<'_>>) -> Option<String> {
    let problem = product::problem(&syn::parse_str(SOURCE).unwrap()).unwrap();
    let (arch, gpu) = match schedule {
        Schedule::Sm80(_) | Schedule::Skinny(_) => {
            (autokernel_codegen::arch::Arch::SM_80, autokernel_emulator::Arch::Sm80)
        }
        Schedule::Sm90(_) => (autokernel_codegen::arch::Arch::SM_90A, autokernel_emulator::Arch::Sm90a),
    };
    schedule.check(&problem.class(), arch).unwrap();
    let (source, plan) = kernel(&problem, schedule);
    let module = Module::parse(&compiler.ptx(&source, arch, change).unwrap()).unwrap();
    for seed in 0..SEEDS {
        for (m, n, k) in SHAPES {
            let Shape { m, n, k } = shape(m, n, k);
            let mut gpu = Gpu::new(gpu);
            let ld = k.next_multiple_of(8);
            let [x, gate, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
            let placed =
                [(&x, "x"), (&gate, "gate"), (&up, "up")].map(|(matrix, name)| matrix.upload(&mut gpu, name, Bf16));
            let out = allocate(&mut gpu, "out", F32, m, n, n, 0);
            let operands = [placed[0], placed[1], placed[2], out];
            let launch = arguments::of_plan(&mut gpu, &signature(&problem), &plan, extents(m, n, k), &operands);
            let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
            let what = format!("seed {seed}, {m}x{n}x{k}");
            if let Err(error) = gpu.launch(&module, &source.symbol, &launch, &options) {
                return Some(format!("{what}: {error}"));
            }
            let sums = |factor: &Matrix| host::product(&x, factor, Layout::Nt, shape(m, n, k));
            let expected = sums(&gate).into_iter().zip(sums(&up)).map(|(gate, up)| gate - 2.0 * up);
            let mut wrong = download(&mut gpu, out, F32).into_iter().zip(expected).enumerate();
            if let Some((at, (got, expected))) = wrong.find(|(_, (got, expected))| got != expected) {
                let (row, column) = (at as u32 / n, at as u32 % n);
                return Some(format!("{what}: out[{row}, {column}] is {got}, expected {expected}"));
            }
        }
    }
    None
}
