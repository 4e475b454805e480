//! One kernel in one CUDA context: what may serve there, and the images that have been loaded.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaStream};

use crate::descriptor::image_for;
use crate::gpu::{CompiledKernel, target_of};
use crate::select::{self, Candidates};
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
            target,
            candidates: Candidates::new(descriptor, target)?,
            kernels: descriptor.variants.iter().map(|_| OnceLock::new()).collect(),
            loading: Mutex::new(()),
        })
    }

    /// Whether it is of a stream's context.
    pub fn serves(&self, stream: &CudaStream) -> bool {
        self.context.cu_ctx() == stream.context().cu_ctx()
    }

    /// The number of the variant for some extents in the signature's order, and its kernel, loaded if it was not yet.
    ///
    /// # Safety
    /// The descriptor is the one that this was made of; its images are of its signature and their variants' plans.
    pub unsafe fn kernel_for(
        &self,
        descriptor: &KernelDescriptor,
        stream: &Arc<CudaStream>,
        extents: &Extents,
    ) -> Result<(usize, &CompiledKernel)> {
        let no_variant = || select::wrong_arch(descriptor, self.target);
        let (index, _) = self.candidates.choose(extents).ok_or_else(no_variant)?;
        let slot = self.kernels.get(index).ok_or_else(no_variant)?;
        if let Some(kernel) = slot.get() {
            return Ok((index, kernel));
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = slot.get() {
            return Ok((index, kernel));
        }
        let variant = descriptor.variants.get(index).ok_or_else(no_variant)?;
        let image = image_for(variant, self.target.capability).ok_or_else(no_variant)?;
        let device = Device::from_cudarc(stream.clone());
        // SAFETY: the image is of the signature and the plan, by the caller's promise.
        let kernel = unsafe { CompiledKernel::load(&device, &descriptor.signature, &variant.plan, image) }?;
        Ok((index, slot.get_or_init(|| kernel)))
    }
}
