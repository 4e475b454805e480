//! Compiling candidates with the nvcc of this machine; skipped with a message where there is none.

#![cfg(unix)]

mod gpu_support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::{Mode, Schedule, Sm90Schedule};
use tuner::gpu::compile::{self, CandidateCompiler, ImageForm};
use tuner::gpu::deadline::{Limit, SharedLimit};

fn compiler(test: &str, cache: &Path) -> Option<Compiler> {
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), cache) {
        Ok(nvcc) => Some(Compiler::new(nvcc, cache.to_owned())),
        Err(error) => gpu_support::skip(test, &error.to_string()),
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
    let other = Problem { output: Dtype::F32, ..Problem::matmul(Dtype::F16, Layout::Nn, "gelu".parse().unwrap()) };
    compile::helpers(&compiler, &other, Arch::SM_80).unwrap();
}

#[test]
fn a_candidate_is_compiled_with_its_resources_or_refused_by_its_rule() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler("a_candidate_is_compiled_with_its_resources_or_refused_by_its_rule", cache.path())
    else {
        return;
    };
    let (problem, arch) = (problem(), Arch::SM_90A);
    let good = Schedule::default_for(&problem.class(), arch);
    let Schedule::Sm90(base) = good else { panic!("Hopper's default is of family sm90") };
    let illegal = Schedule::Sm90(Sm90Schedule { stages: 1, ..base });
    let ping_pong = Schedule::Sm90(Sm90Schedule { mode: Mode::PingPong, ..base });
    let limit = Arc::new(SharedLimit::new(Limit::fixed(Duration::from_secs(300))));
    let candidates = CandidateCompiler::new(compiler, problem, arch, ImageForm::Cubin, limit);
    assert!(candidates.compile(&good).is_ok_and(|compiled| compiled.report.registers > 0));
    assert_eq!(candidates.compile(&illegal).unwrap_err().kind(), "broken_rule");
    assert!(candidates.compile(&ping_pong).is_ok());
}

#[test]
fn a_candidate_for_an_earlier_arch_is_handed_over_as_ptx() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler("a_candidate_for_an_earlier_arch_is_handed_over_as_ptx", cache.path()) else {
        return;
    };
    let schedule = Schedule::default_for(&problem().class(), Arch::SM_80);
    let limit = Arc::new(SharedLimit::new(Limit::fixed(Duration::from_secs(300))));
    let candidates = CandidateCompiler::new(compiler, problem(), Arch::SM_80, ImageForm::Ptx, limit);
    let image = candidates.compile(&schedule).unwrap().kernel.image;
    assert!(std::fs::read_to_string(image).unwrap().contains(".target sm_80"));
}
