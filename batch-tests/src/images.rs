//! Schedules that are compiled when a measurement runs, and the kernels that they become on its GPU.

use std::fmt::Display;

use autokernel::{Arch, CompiledKernel, Device, Image, LaunchPlan, Signature};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::nvcc::Compiler;
use rayon::prelude::*;

/// A schedule with its launch plan and cubin.
pub type Compiled<S> = (S, LaunchPlan, Vec<u8>);

/// Those of `schedules` that compile for Hopper, by what `emit` makes of each; the others are named.
///
/// # Panics
/// An image cannot be read.
pub fn compile<S: Display + Send>(
    compiler: &Compiler,
    schedules: Vec<S>,
    emit: impl Fn(&S) -> (KernelSource, LaunchPlan) + Sync,
) -> Vec<Compiled<S>> {
    let compiled = schedules.into_par_iter().filter_map(|schedule| {
        let (source, plan) = emit(&schedule);
        let image = compiler.compile(&source, Arch::SM_90A).map_err(|error| eprintln!("{schedule}: {error}")).ok()?;
        Some((schedule, plan, std::fs::read(image.cubin).expect("what was just compiled")))
    });
    compiled.collect()
}

/// The kernel of an image of a problem of that signature, on `device`.
///
/// # Panics
/// The driver refuses it.
pub fn load<S>(device: &Device, signature: &Signature, (_, plan, cubin): &Compiled<S>) -> CompiledKernel {
    // SAFETY: the image was compiled from the source that was emitted with this plan.
    let kernel = unsafe { CompiledKernel::load(device, signature, plan, Image::Cubin(cubin)) };
    kernel.expect("an image of this GPU")
}
