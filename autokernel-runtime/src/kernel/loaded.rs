//! One kernel in one CUDA context: what may serve there, and the images that have been loaded.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaStream};

use crate::descriptor::image_for;
use crate::gpu::{CompiledKernel, target_of};
use crate::select::{self, Candidates, Choice};
use crate::{Device, Extents, KernelDescriptor, Result, Target};

/// One kernel in one CUDA context.
pub(crate) struct Loaded {
    context: Arc<CudaContext>,
    pub target: Target,
    pub candidates: Candidates,
    /// One for each variant of the descriptor, filled when it is first chosen.
    kernels: Box<[OnceLock<CompiledKernel>]>,
    /// Held while an image is loaded, so that concurrent first launches load it once.
    loading: Mutex<()>,
}

impl Loaded {
    pub fn new(descriptor: &KernelDescriptor, context: &Arc<CudaContext>) -> Result<Self> {
        let target = target_of(context)?;
        Ok(Self {
            context: context.clone(),
            candidates: Candidates::new(descriptor, &target)?,
            target,
            kernels: descriptor.variants.iter().map(|_| OnceLock::new()).collect(),
            loading: Mutex::new(()),
        })
    }

    /// Whether it is of a stream's context.
    pub fn serves(&self, stream: &CudaStream) -> bool {
        self.context.cu_ctx() == stream.context().cu_ctx()
    }

    /// The choice for some extents in the signature's order, and its kernel, loaded if it was not yet.
    ///
    /// # Safety
    /// The descriptor is the one that this was made of; its images are of its signature and their variants' plans.
    pub unsafe fn kernel_for(
        &self,
        descriptor: &KernelDescriptor,
        stream: &Arc<CudaStream>,
        extents: &Extents,
    ) -> Result<(Choice, &CompiledKernel)> {
        let no_variant = || select::wrong_arch(descriptor, &self.target);
        let choice = self.candidates.choose(extents).ok_or_else(no_variant)?;
        // SAFETY: by the caller's promise.
        Ok((choice, unsafe { self.kernel(descriptor, stream, choice.variant) }?))
    }

    /// Loads every image that a launch may choose here.
    ///
    /// # Safety
    /// As [`Self::kernel_for`].
    pub unsafe fn load_all(&self, descriptor: &KernelDescriptor, stream: &Arc<CudaStream>) -> Result<()> {
        for variant in self.candidates.indices() {
            // SAFETY: by the caller's promise.
            unsafe { self.kernel(descriptor, stream, variant) }?;
        }
        Ok(())
    }

    /// The kernel of a variant, loaded if it was not yet.
    ///
    /// # Safety
    /// As [`Self::kernel_for`].
    pub unsafe fn kernel(
        &self,
        descriptor: &KernelDescriptor,
        stream: &Arc<CudaStream>,
        index: usize,
    ) -> Result<&CompiledKernel> {
        let no_variant = || select::wrong_arch(descriptor, &self.target);
        let slot = self.kernels.get(index).ok_or_else(no_variant)?;
        if let Some(kernel) = slot.get() {
            return Ok(kernel);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = slot.get() {
            return Ok(kernel);
        }
        let variant = descriptor.variants.get(index).ok_or_else(no_variant)?;
        let image = image_for(variant, self.target.capability).ok_or_else(no_variant)?;
        let device = Device::from_cudarc(stream.clone());
        // SAFETY: the image is of the signature and the plan, by the caller's promise.
        let kernel = unsafe { CompiledKernel::load(&device, &descriptor.signature, &variant.plan, image) }?;
        Ok(slot.get_or_init(|| kernel))
    }
}
