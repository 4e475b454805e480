//! The kernels that users declare, as every test takes them.

use autokernel::{AnyKernel, ComputeCapability, Device, image_for};
use autokernel_codegen::problem;
use autokernel_codegen::product::Problem;

use crate::declared::{experts, gated, gated_gradients, gradients, scores, shared, shared_slots, slots, swiglu};
use crate::declared_gathered::{embedded, picked_by_all, routed_bytes, routed_swiglu};
use crate::declared_types::{
    bytes, bytes_of_weights, fp8_experts, packed_experts, packed_slots, scaled_experts, scaled_slots, shared_weights,
    tf32_slots,
};

/// A kernel.
pub struct Declared {
    /// Its function's name.
    pub name: &'static str,
    /// What launches it.
    pub kernel: &'static AnyKernel,
}

impl Declared {
    /// What it computes, as the build embedded it.
    ///
    /// # Panics
    /// It is no product.
    pub fn problem(&self) -> Problem {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        match serde_json::from_str(&descriptor.problem).expect("what the build embedded can be read") {
            problem::Problem::Matmul(problem) => problem,
            other => panic!("`{}` is {other}", self.name),
        }
    }

    /// Whether it has an image that such a GPU runs.
    ///
    /// # Panics
    /// The build embedded what nobody reads.
    pub fn has_image(&self, gpu: ComputeCapability) -> bool {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        descriptor.variants.iter().any(|variant| image_for(variant, gpu).is_some())
    }

    /// Whether it runs on that device: on a GPU that it has an image for, and on the CPU.
    pub fn runs_on(&self, device: &Device) -> bool {
        device.info().map_or(true, |info| self.has_image(info.compute_capability))
    }
}

/// All there are.
pub fn catalogue() -> Vec<Declared> {
    let kernels: [(&'static str, &'static AnyKernel); 22] = [
        ("scores", &scores::KERNEL),
        ("shared", &shared::KERNEL),
        ("gated", &gated::KERNEL),
        ("experts", &experts::KERNEL),
        ("swiglu", &swiglu::KERNEL),
        ("gradients", &gradients::KERNEL),
        ("gated_gradients", &gated_gradients::KERNEL),
        ("slots", &slots::KERNEL),
        ("shared_slots", &shared_slots::KERNEL),
        ("fp8_experts", &fp8_experts::KERNEL),
        ("bytes", &bytes::KERNEL),
        ("tf32_slots", &tf32_slots::KERNEL),
        ("bytes_of_weights", &bytes_of_weights::KERNEL),
        ("packed_experts", &packed_experts::KERNEL),
        ("packed_slots", &packed_slots::KERNEL),
        ("shared_weights", &shared_weights::KERNEL),
        ("scaled_experts", &scaled_experts::KERNEL),
        ("scaled_slots", &scaled_slots::KERNEL),
        ("routed_swiglu", &routed_swiglu::KERNEL),
        ("embedded", &embedded::KERNEL),
        ("routed_bytes", &routed_bytes::KERNEL),
        ("picked_by_all", &picked_by_all::KERNEL),
    ];
    kernels.map(|(name, kernel)| Declared { name, kernel }).into()
}
