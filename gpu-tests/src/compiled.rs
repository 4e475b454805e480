//! Compiled variants: those of a declared kernel, and what is compiled while a test runs.

use std::path::Path;

use autokernel::{
    CompiledKernel, Device, Image, KernelDescriptor, KernelVariant, LaunchPlan, Result, Signature, image_for,
};
use autokernel_codegen::nvcc;

use crate::check::Launch;

/// The loaded variants of one declared kernel.
#[derive(Debug, Default)]
pub struct Variants {
    kernels: Vec<(String, CompiledKernel)>,
}

impl Variants {
    /// None: only the kernel itself is run.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every variant of `descriptor` that runs on `device`, so of every family and not of the best alone.
    ///
    /// # Errors
    /// An image cannot be loaded.
    pub fn load(device: &Device, descriptor: &KernelDescriptor) -> Result<Self> {
        let gpu = device.info()?.compute_capability;
        let load = |(variant, image): (&KernelVariant, Image<'_>)| {
            let KernelVariant { arch, schedule, plan, .. } = variant;
            // SAFETY: the descriptor was emitted by autokernel's build together with its images.
            let kernel = unsafe { CompiledKernel::load(device, &descriptor.signature, plan, image) }?;
            Ok((format!("`{}` as {arch} {schedule} ({})", descriptor.name, autokernel::symbol(plan)), kernel))
        };
        let running = descriptor.variants.iter().filter_map(|variant| Some((variant, image_for(variant, gpu)?)));
        Ok(Self { kernels: running.map(load).collect::<Result<_>>()? })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Their plans.
    pub fn plans(&self) -> impl Iterator<Item = &LaunchPlan> + '_ {
        self.kernels.iter().map(|(_, kernel)| kernel.plan())
    }

    /// A launch of each, with its name.
    pub fn launches(&self) -> Vec<(String, Launch<'_>)> {
        self.kernels.iter().map(|(label, kernel)| (label.clone(), launch_of(kernel))).collect()
    }
}

/// The launch of one compiled kernel.
pub fn launch_of(kernel: &CompiledKernel) -> Launch<'_> {
    Box::new(|device, arguments| kernel.launch(device, arguments))
}

/// Loads what nvcc made of an emitted source.
///
/// # Errors
/// A text: the cubin cannot be read or loaded.
///
/// # Safety
/// The image was compiled from the source that was emitted with `plan` for a problem of `signature`.
pub unsafe fn load(
    device: &Device,
    signature: &Signature,
    plan: &LaunchPlan,
    image: &nvcc::Image,
) -> Result<CompiledKernel, String> {
    let cubin = read(&image.cubin)?;
    // SAFETY: by the caller's promise.
    unsafe { CompiledKernel::load(device, signature, plan, Image::Cubin(&cubin)) }.map_err(|error| error.to_string())
}

/// The bytes of a file.
///
/// # Errors
/// A text with the file's path.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
