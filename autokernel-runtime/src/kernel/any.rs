//! A declared kernel of any operation: reads what was embedded, chooses the compiled variant, loads it once per context,
//! launches it.

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use cudarc::driver::CudaStream;

use super::loaded::Loaded;
use crate::check;
use crate::device::Backend;
use crate::gpu::HERE;
use crate::launch_log::{self, KernelId, Served};
use crate::{Argument, CpuFunction, Device, Embedded, Error, Extents, KernelDescriptor, Plan, Result, select};

/// A declared kernel, whatever its operation and its element types are. [`Kernel`](crate::Kernel) is the same with types.
pub struct AnyKernel {
    embedded: Embedded,
    /// What was embedded, once read, or why it could not be.
    descriptor: OnceLock<Result<KernelDescriptor, String>>,
    /// What is known and loaded, for each CUDA context that was used. Entries are never removed: their modules keep
    /// the context alive, so that a context's address cannot be reused for another one.
    contexts: RwLock<Vec<Arc<Loaded>>>,
    id: KernelId,
}

impl AnyKernel {
    /// A kernel from what its build embedded.
    ///
    /// # Safety
    /// Every image must have been compiled from the kernel sources of this version of autokernel, for the signature and
    /// the plan that the descriptor states with it: the GPU trusts them when it computes addresses. What autokernel's
    /// build and macros embed satisfies this, as does a descriptor without images.
    pub const unsafe fn new(embedded: Embedded) -> Self {
        Self { embedded, descriptor: OnceLock::new(), contexts: RwLock::new(Vec::new()), id: KernelId::new() }
    }

    /// A kernel from a descriptor that is at hand.
    ///
    /// # Safety
    /// As [`AnyKernel::new`].
    pub unsafe fn from_descriptor(descriptor: KernelDescriptor, cpu: CpuFunction) -> Self {
        // SAFETY: by the caller's promise.
        let kernel = unsafe { Self::new(Embedded { json: "", images: &[], cpu }) };
        Self { descriptor: OnceLock::from(Ok(descriptor)), ..kernel }
    }

    /// What the build knows of this kernel; read at the first use.
    ///
    /// # Errors
    /// [`Error::Descriptor`] if what was embedded cannot be read.
    pub fn descriptor(&self) -> Result<&KernelDescriptor> {
        let read = || {
            self.embedded.read().map_err(|error| match error {
                Error::Descriptor { reason } => reason,
                other => other.to_string(),
            })
        };
        let descriptor = self.descriptor.get_or_init(read).as_ref();
        descriptor.map_err(|reason| Error::Descriptor { reason: reason.clone() })
    }

    /// Computes the outputs among `arguments` from the inputs, on the stream of `device`; see
    /// [`Kernel::launch`](crate::Kernel::launch). The arguments are in the order of the signature.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch); `Operands` also for other arguments than the kernel's.
    pub fn launch(&self, device: &Device, arguments: &mut [Argument<'_>]) -> Result<()> {
        let descriptor = self.descriptor()?;
        let extents = check::launch(&descriptor.name, &descriptor.signature, arguments, device)?;
        // SAFETY: it was checked above.
        unsafe { self.launch_checked(descriptor, device, &extents, arguments) }
    }

    /// A launch whose operands were checked.
    ///
    /// # Safety
    /// `descriptor` is this kernel's, and `extents` and `device` were checked against the arguments, as [`Self::launch`] does.
    pub(super) unsafe fn launch_checked(
        &self,
        descriptor: &KernelDescriptor,
        device: &Device,
        extents: &Extents,
        arguments: &mut [Argument<'_>],
    ) -> Result<()> {
        if check::has_no_parts(&descriptor.signature, extents) {
            return Ok(());
        }
        let served = match device.backend() {
            Backend::Cpu => (self.embedded.cpu)(arguments).map(|()| Served::Cpu)?,
            // SAFETY: by the caller's promise.
            Backend::Cuda(stream) => unsafe { self.launch_on_gpu(descriptor, stream, extents, arguments) }?,
            #[cfg(feature = "emulator")]
            Backend::Emulated(emulator) => {
                let capability = emulator.emulation().arch.capability;
                Served::Gpu { capability, variant: emulator.launch(descriptor, extents, arguments)? }
            }
        };
        launch_log::count(&self.id, descriptor, extents, served);
        Ok(())
    }

    /// Loads what a launch of those extents needs on `device`, so that the first one does not pay for it.
    ///
    /// # Errors
    /// As [`AnyKernel::plan`], and the driver's own error if the image cannot be loaded.
    pub fn prepare(&self, device: &Device, extents: &Extents) -> Result<()> {
        let descriptor = self.descriptor()?;
        let extents = check::check_extents(&descriptor.name, &descriptor.signature, extents)?;
        let Some(stream) = device.stream() else { return Ok(()) };
        let loaded = self.loaded(descriptor, stream)?;
        // SAFETY: the descriptor is this kernel's, as whoever called `new` promised.
        unsafe { loaded.kernel_for(descriptor, stream, &extents) }.map(|_| ())
    }

    /// Loads every image that a launch of any extents may choose on `device`: from then on no launch loads one, and a
    /// shape that nobody has seen can be launched inside a graph capture.
    ///
    /// # Errors
    /// `NotCompiled` and `WrongArch` if there is no image for the GPU, `Descriptor`, and the driver's own error if an
    /// image cannot be loaded.
    pub fn prepare_all(&self, device: &Device) -> Result<()> {
        let descriptor = self.descriptor()?;
        let Some(stream) = device.stream() else { return Ok(()) };
        let loaded = self.loaded(descriptor, stream)?;
        // SAFETY: the descriptor is this kernel's, as whoever called `new` promised.
        unsafe { loaded.load_all(descriptor, stream) }
    }

    /// Where a launch of those extents would run, with which schedule, and why. Each operation's module makes extents of sizes, as
    /// [`matmul::extents`](crate::matmul::extents) and [`rows::extents`](crate::rows::extents) do.
    ///
    /// # Errors
    /// Of [`Error`]: `Dimensions`, `TooLarge`, `KnownDimension` and `Operands` for extents that the kernel does not take,
    /// `NotCompiled` and `WrongArch` if there is no image for the GPU, `Descriptor`.
    pub fn plan(&self, device: &Device, extents: &Extents) -> Result<Plan<'_>> {
        let descriptor = self.descriptor()?;
        let extents = check::check_extents(&descriptor.name, &descriptor.signature, extents)?;
        let stream = match device.backend() {
            Backend::Cpu => return Ok(Plan::Cpu),
            Backend::Cuda(stream) => stream,
            #[cfg(feature = "emulator")]
            Backend::Emulated(emulator) => return emulator.plan(descriptor, &extents),
        };
        let loaded = self.loaded(descriptor, stream)?;
        select::plan(descriptor, &loaded.candidates, &loaded.target, &extents)
    }

    /// # Safety
    /// `extents` and the device of the stream were checked against the arguments, as [`Self::launch`] does.
    unsafe fn launch_on_gpu(
        &self,
        descriptor: &KernelDescriptor,
        stream: &Arc<CudaStream>,
        extents: &Extents,
        arguments: &mut [Argument<'_>],
    ) -> Result<Served> {
        let loaded = self.loaded(descriptor, stream)?;
        // SAFETY: the descriptor is this kernel's, as whoever called `new` promised.
        let (choice, kernel) = unsafe { loaded.kernel_for(descriptor, stream, extents) }?;
        // SAFETY: the arguments are the caller's promise; the kernel is of this signature, was loaded into the context of
        // this stream, and takes the knobs of every schedule of its image.
        unsafe { kernel.launch_checked(stream, extents, &choice.knobs, arguments, HERE) }?;
        Ok(Served::Gpu { capability: loaded.target.capability, variant: choice.variant })
    }

    /// This kernel in a stream's context, created at the first use there.
    pub(super) fn loaded(&self, descriptor: &KernelDescriptor, stream: &CudaStream) -> Result<Arc<Loaded>> {
        let find = |known: &[Arc<Loaded>]| known.iter().find(|loaded| loaded.serves(stream)).cloned();
        if let Some(loaded) = find(&self.contexts.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(loaded);
        }
        let mut known = self.contexts.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = find(&known) {
            return Ok(loaded);
        }
        let loaded = Arc::new(Loaded::new(descriptor, stream.context())?);
        known.push(loaded.clone());
        Ok(loaded)
    }
}

impl fmt::Debug for AnyKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.descriptor() {
            Ok(descriptor) => write!(f, "{} ({} variants)", descriptor.name, descriptor.variants.len()),
            Err(error) => write!(f, "unreadable: {error}"),
        }
    }
}
