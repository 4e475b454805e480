//! What measurements of many schedules begin with: kernels that are compiled when they run, and random numbers.

use autokernel::{Arch, CompiledKernel, Device, Image, LaunchPlan, bf16};
use autokernel_codegen::matmul::emit;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::product::Problem;
use gpu_tests::timed::Drawn;
use rayon::prelude::*;

use crate::compiler::compiler;

/// A schedule with its launch plan and cubin.
pub type Compiled = (Schedule, LaunchPlan, Vec<u8>);

/// `problem` by each of `schedules` that compiles. Images are kept in `AUTOKERNEL_CACHE_DIR`, or in `folder`.
pub fn compile(problem: &Problem, schedules: Vec<Schedule>, folder: &str) -> Vec<Compiled> {
    let compiler = compiler(folder).unwrap();
    let compiled = schedules.into_par_iter().filter_map(|schedule| {
        let (source, plan) = emit::kernel(problem, &schedule);
        let image = compiler.compile(&source, Arch::SM_90A).map_err(|error| eprintln!("{schedule}: {error}")).ok()?;
        Some((schedule, plan, std::fs::read(image.cubin).unwrap()))
    });
    compiled.collect()
}

/// The kernels of `problem` that were compiled, on `device`.
pub fn load(device: &Device, problem: &Problem, compiled: &[Compiled]) -> Vec<(Schedule, CompiledKernel)> {
    let load = |(schedule, plan, cubin): &Compiled| {
        // SAFETY: the image was compiled from the source that was emitted with this plan.
        let kernel = unsafe { CompiledKernel::load(device, &signature(problem), plan, Image::Cubin(cubin)) };
        (*schedule, kernel.unwrap())
    };
    compiled.iter().map(load).collect()
}

/// Uniform numbers from -1 to 1, with which operands are filled over and over.
pub fn drawn() -> Vec<bf16> {
    Drawn::uniform(5).numbers().to_vec()
}
