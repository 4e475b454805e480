//! What is said where no variant serves.

use autokernel_core::Confined;

use super::target::Target;
use crate::{Error, KernelDescriptor};

const HOW_TO_NAME: &str = "in AUTOKERNEL_ARCHS or by `Build::archs`, and rebuild";

pub(crate) fn not_compiled(kernel: &KernelDescriptor) -> Error {
    let of_archs = || {
        let Confined { arch, why } = kernel.confined.as_ref()?;
        Some(format!(
            "of the architectures that it was compiled for none has one, as {why}. Name `{arch}` {HOW_TO_NAME}"
        ))
    };
    let emitted_none = || "its build emitted none; rebuild with an nvcc (set AUTOKERNEL_NVCC or CUDA_HOME)".to_owned();
    let reason = kernel.not_compiled.clone().or_else(of_archs).unwrap_or_else(emitted_none);
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
        remedy: remedy(kernel, target),
    }
}

fn remedy(kernel: &KernelDescriptor, target: &Target) -> String {
    match &kernel.confined {
        None => format!("Name its architecture {HOW_TO_NAME}; `sm_80` serves every GPU from 8.0 on"),
        Some(Confined { arch, .. }) if arch.runs_on(target.capability) => format!("Name `{arch}` {HOW_TO_NAME}"),
        Some(Confined { arch, why }) => {
            format!("Only `{arch}` has kernels for it, as {why}. Launch it on such a GPU, or on `Device::cpu()`")
        }
    }
}
