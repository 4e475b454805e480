//! What is said where no variant serves.

use super::target::Target;
use crate::{Error, KernelDescriptor};

pub(crate) fn not_compiled(kernel: &KernelDescriptor) -> Error {
    let reason = kernel.not_compiled.clone();
    let reason = reason.unwrap_or_else(|| {
        "its build emitted none; rebuild with an nvcc (set AUTOKERNEL_NVCC or CUDA_HOME)".to_owned()
    });
    Error::NotCompiled { kernel: kernel.name.clone(), reason }
}

pub(crate) fn wrong_arch(kernel: &KernelDescriptor, target: &Target) -> Error {
    let mut archs: Vec<String> = kernel.variants.iter().map(|variant| variant.arch.to_string()).collect();
    archs.sort();
    archs.dedup();
    Error::WrongArch {
        kernel: kernel.name.clone(),
        compiled_for: archs.join(", "),
        gpu: target.capability,
        shared_bytes: target.shared_bytes,
    }
}
