//! What is said where no variant serves.

use autokernel_core::Arch;
use autokernel_ops::Problem;

use super::target::Target;
use crate::{Error, KernelDescriptor};

pub(crate) fn not_compiled(kernel: &KernelDescriptor) -> Error {
    let reason = kernel.not_compiled.clone().unwrap_or_else(|| {
        if kernel.variants.is_empty() {
            let served = served(kernel);
            return format!(
                "no architecture that it was built for has instructions for its factors, and {served}; name that in \
                 AUTOKERNEL_ARCHS or by `Build::archs`, and rebuild"
            );
        }
        "its build emitted none; rebuild with an nvcc (set AUTOKERNEL_NVCC or CUDA_HOME)".to_owned()
    });
    Error::NotCompiled { kernel: kernel.name.clone(), reason }
}

pub(crate) fn wrong_arch(kernel: &KernelDescriptor, target: Target) -> Error {
    let mut archs: Vec<String> = kernel.variants.iter().map(|variant| variant.arch.to_string()).collect();
    archs.sort();
    archs.dedup();
    Error::WrongArch {
        kernel: kernel.name.clone(),
        compiled_for: archs.join(", "),
        gpu: target.capability,
        shared_bytes: target.shared_bytes,
        served: served(kernel),
    }
}

/// Which architecture serves which GPUs: the oldest that has instructions for what the kernel computes.
fn served(kernel: &KernelDescriptor) -> String {
    let class = serde_json::from_str::<Problem>(&kernel.problem).ok().map(|problem| problem.class());
    let serves = |arch: &Arch| class.as_ref().is_none_or(|class| !class.families(*arch).is_empty());
    match [Arch::SM_80, Arch::SM_89].into_iter().find(serves) {
        Some(oldest) => format!("`{oldest}` serves every GPU from {} on", oldest.capability),
        None => format!("`{}` serves GPUs of compute capability {} only", Arch::SM_90A, Arch::SM_90A.capability),
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{ComputeCapability, Dtype, Signature};
    use autokernel_ops::matmul::Layout;

    use super::*;

    fn of(input: Dtype) -> KernelDescriptor {
        let problem = Problem::matmul(input, Layout::Nt, "identity".parse().unwrap());
        KernelDescriptor {
            name: "up".to_owned(),
            about: String::new(),
            problem: serde_json::to_string(&problem).unwrap(),
            signature: Signature::default(),
            variants: Vec::new(),
            model: None,
            not_compiled: None,
        }
    }

    #[test]
    fn what_a_gpu_is_refused_for_says_which_ones_serve() {
        let ampere = Target { capability: ComputeCapability::new(8, 0), shared_bytes: 163 << 10, sheet: None };
        for (input, served) in
            [(Dtype::E4m3, "`sm_89` serves every GPU from 8.9 on"), (Dtype::I8, "`sm_80` serves every GPU from 8.0 on")]
        {
            for error in [wrong_arch(&of(input), ampere), not_compiled(&of(input))] {
                assert!(error.to_string().contains(served), "{error}");
            }
        }
    }
}
