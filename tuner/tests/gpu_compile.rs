//! Compiling candidates with the nvcc of this machine; skipped with a message where there is none.

#![cfg(unix)]

mod gpu_support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul;
use autokernel_codegen::matmul::schedule::Sm90Schedule;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use rayon::prelude::*;
use tuner::gpu::compile::{self, CandidateCompiler, ImageForm};
use tuner::gpu::deadline::{Limit, SharedLimit};

fn compiler(test: &str, cache: &Path) -> Option<Compiler> {
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), cache) {
        Ok(nvcc) => Some(Compiler::new(nvcc, cache.to_owned())),
        Err(error) => {
            gpu_support::skip(test, &error.to_string());
            None
        }
    }
}

fn problem() -> Problem {
    Problem::matmul(Dtype::Bf16, Layout::Nt, "leaky_relu(0.01)".parse().unwrap())
}

#[test]
fn the_helper_kernels_compile_for_every_arch_and_type() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler("the_helper_kernels_compile_for_every_arch_and_type", cache.path()) else { return };
    compile::helpers(&compiler, &problem(), Arch::SM_90A).unwrap();
    let other = matmul::Problem::new(Dtype::F16, Layout::Nn, "gelu".parse().unwrap());
    let other = Problem::from(matmul::Problem { output: Dtype::F32, ..other });
    compile::helpers(&compiler, &other, Arch::SM_80).unwrap();
    let along_k =
        "fn f(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<f32>) { dw = dot(x.t(), dy); }";
    let slots = "fn f(x: &Batch<f16>, w: &Batch<f16>, counts: &Index, out: &mut Batch<f16>) { out = dot(x, w.t()); }";
    for source in [along_k, slots] {
        let problem = autokernel_codegen::product::problem(&syn::parse_str(source).unwrap()).unwrap();
        compile::helpers(&compiler, &problem.into(), Arch::SM_80).unwrap();
    }
}

#[test]
fn a_candidate_is_compiled_with_its_resources_or_refused_by_its_rule() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler("a_candidate_is_compiled_with_its_resources_or_refused_by_its_rule", cache.path())
    else {
        return;
    };
    let (problem, arch) = (problem(), Arch::SM_90A);
    let good = problem.class().default_schedule(arch);
    let illegal = good.with("stages", 1).unwrap();
    let ping_pong = good.with("mode", 1).unwrap();
    let limit = Arc::new(SharedLimit::new(Limit::fixed(Duration::from_secs(300))));
    let candidates = CandidateCompiler::new(compiler, problem, arch, ImageForm::Cubin, limit);
    assert!(candidates.try_compile(&good).unwrap().is_ok_and(|compiled| compiled.report.registers > 0));
    assert_eq!(candidates.try_compile(&illegal).unwrap().unwrap_err().kind(), "broken_rule");
    assert!(candidates.try_compile(&ping_pong).unwrap().is_ok());
}

#[test]
fn transposed_and_split_tiles_at_the_limit_of_their_registers_compile_in_both_layouts() {
    let cache = tempfile::tempdir().unwrap();
    let test = "transposed_and_split_tiles_at_the_limit_of_their_registers_compile_in_both_layouts";
    let Some(compiler) = compiler(test, cache.path()) else { return };
    let default = problem().class().default_schedule(Arch::SM_90A);
    let default = Sm90Schedule::try_from(&default).expect("Hopper's default is of family sm90");
    let base = Sm90Schedule { stages: 3, consumers: 1, ..default };
    let swapped = Sm90Schedule { swap_ab: true, ..base };
    let smallest = Sm90Schedule { tile_m: 8, tile_n: 64, stages: 16, ..swapped };
    let plain = [
        Sm90Schedule { tile_m: 64, tile_n: 256, splits: true, split_k: 4, ..swapped },
        Sm90Schedule { tile_m: 128, tile_n: 128, splits: true, split_k: 2, ..base },
        Sm90Schedule { tile_m: 96, tile_n: 256, ..swapped },
        Sm90Schedule { tile_m: 192, tile_n: 192, consumers: 3, ..swapped },
        smallest,
    ];
    // An epilogue that calls tanh or erf leaves 16 accumulators fewer.
    let with_calls = [
        Sm90Schedule { tile_m: 56, tile_n: 256, splits: true, split_k: 4, ..swapped },
        Sm90Schedule { tile_m: 88, tile_n: 256, ..swapped },
        Sm90Schedule { tile_m: 160, tile_n: 192, consumers: 3, ..swapped },
        smallest,
    ];
    let limit = Arc::new(SharedLimit::new(Limit::fixed(Duration::from_secs(300))));
    let each: Vec<_> = Layout::OF_ROW_MAJOR_A
        .into_iter()
        .flat_map(|layout| {
            let of = [("relu", &plain[..]), ("gelu", &with_calls[..]), ("gelu_tanh", &with_calls[..])];
            of.map(|(epilogue, schedules)| (layout, epilogue, schedules))
        })
        .collect();
    // nvcc takes one core.
    each.into_par_iter().for_each(|(layout, epilogue, schedules)| {
        let problem = matmul::Problem::new(Dtype::F16, layout, epilogue.parse().unwrap());
        let problem = Problem::from(matmul::Problem { output: Dtype::F32, ..problem });
        let limit = Arc::clone(&limit);
        let candidates = CandidateCompiler::new(compiler.clone(), problem, Arch::SM_90A, ImageForm::Cubin, limit);
        for schedule in schedules.iter().copied().map(Schedule::from) {
            let compiled = candidates.try_compile(&schedule).unwrap();
            assert!(compiled.is_ok(), "{layout} {epilogue} {schedule}: {:?}", compiled.err());
        }
    });
}

#[test]
fn a_candidate_for_an_earlier_arch_is_handed_over_as_ptx() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler("a_candidate_for_an_earlier_arch_is_handed_over_as_ptx", cache.path()) else {
        return;
    };
    let schedule = problem().class().default_schedule(Arch::SM_80);
    let limit = Arc::new(SharedLimit::new(Limit::fixed(Duration::from_secs(300))));
    let candidates = CandidateCompiler::new(compiler, problem(), Arch::SM_80, ImageForm::Ptx, limit);
    let image = candidates.try_compile(&schedule).unwrap().unwrap().kernel.image;
    assert!(std::fs::read_to_string(image).unwrap().contains(".target sm_80"));
}
