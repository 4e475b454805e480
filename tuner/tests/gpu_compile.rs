//! Compiling candidates with the nvcc of this machine; skipped with a message where there is none.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::{Mode, Schedule, Sm90Schedule};
use tuner::gpu::compile;

fn compiler(cache: &Path) -> Option<Compiler> {
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), cache) {
        Ok(nvcc) => Some(Compiler::new(nvcc, cache.to_owned())),
        Err(error) => {
            eprintln!("skipped: {error}");
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
    let Some(compiler) = compiler(cache.path()) else { return };
    compile::helpers(&compiler, &problem(), Arch::SM_90A).unwrap();
    let other = Problem { output: Dtype::F32, ..Problem::matmul(Dtype::F16, Layout::Nn, "gelu".parse().unwrap()) };
    compile::helpers(&compiler, &other, Arch::SM_80).unwrap();
}

#[test]
fn schedules_are_compiled_ahead_and_each_is_handed_over_once() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler(cache.path()) else { return };
    let (problem, arch) = (problem(), Arch::SM_90A);
    let good = Schedule::default_for(&problem.class(), arch);
    let Schedule::Sm90(base) = good else { panic!("Hopper's default is of family sm90") };
    let illegal = Schedule::Sm90(Sm90Schedule { stages: 1, ..base });
    let ping_pong = Schedule::Sm90(Sm90Schedule { mode: Mode::PingPong, ..base });
    let schedules = [good, illegal, ping_pong];

    let mut outcomes = vec![None; schedules.len()];
    compile::compile_ahead(&compiler, &problem, arch, &schedules, 2, |finished| {
        assert!(outcomes[finished.index].replace(finished.outcome).is_none());
        Ok::<_, Infallible>(ControlFlow::Continue(()))
    })
    .unwrap();
    assert!(outcomes[0].as_ref().unwrap().as_ref().is_ok_and(|compiled| compiled.report.registers > 0));
    assert_eq!(outcomes[1].as_ref().unwrap().as_ref().unwrap_err().kind(), "broken_rule");
    assert!(outcomes[2].as_ref().unwrap().is_ok());
}

#[test]
fn transposed_and_split_tiles_at_the_limit_of_their_registers_compile_in_both_layouts() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler(cache.path()) else { return };
    let Schedule::Sm90(base) = Schedule::default_for(&problem().class(), Arch::SM_90A) else {
        panic!("Hopper's default is of family sm90")
    };
    let base = Sm90Schedule { stages: 3, consumers: 1, ..base };
    let schedules = [
        Sm90Schedule { tile_m: 64, tile_n: 256, swap_ab: true, split_k: 4, ..base },
        Sm90Schedule { tile_m: 128, tile_n: 128, split_k: 2, ..base },
        Sm90Schedule { tile_m: 96, tile_n: 256, swap_ab: true, ..base },
        Sm90Schedule { tile_m: 192, tile_n: 192, swap_ab: true, consumers: 3, ..base },
        Sm90Schedule { tile_m: 8, tile_n: 64, stages: 16, swap_ab: true, ..base },
    ];
    for layout in Layout::ALL {
        let problem = Problem { output: Dtype::F32, ..Problem::matmul(Dtype::F16, layout, "gelu".parse().unwrap()) };
        for schedule in schedules.map(Schedule::Sm90) {
            let compiled = compile::compile(&compiler, &problem, Arch::SM_90A, &schedule);
            assert!(compiled.is_ok(), "{layout} {schedule}: {:?}", compiled.err());
        }
    }
}

#[test]
fn compiling_ahead_stops_when_it_is_told_to() {
    let cache = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler(cache.path()) else { return };
    let (problem, arch) = (problem(), Arch::SM_90A);
    let good = Schedule::default_for(&problem.class(), arch);
    let mut calls = 0;
    compile::compile_ahead(&compiler, &problem, arch, &[good; 50], 1, |_| {
        calls += 1;
        Ok::<_, Infallible>(ControlFlow::Break(()))
    })
    .unwrap();
    assert_eq!(calls, 1);
}
