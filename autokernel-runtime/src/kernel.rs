//! A declared kernel: chooses the compiled variant, loads it once per context, launches it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaStream};

use crate::gpu::{CompiledKernel, target_of};
use crate::launch_log::{self, KernelId, Served};
use crate::select::{self, Candidates};
use crate::view::{Storage, StorageMut};
use crate::{Device, Element, KernelDescriptor, MatrixView, MatrixViewMut, Plan, Result, Shape, Target};
use crate::{cpu, operands};

/// A declared kernel with inputs of type `I` and an output of type `O`: `C = epilogue(A · B)`.
///
/// Lives in a `static`, as the attribute macros declare it. Images are loaded at the first launch on each GPU and
/// kept for the life of the process.
///
/// ```
/// use std::borrow::Cow;
/// use autokernel_runtime::{Device, Dtype, Kernel, KernelDescriptor, Matrix, ProblemDescriptor};
///
/// // SAFETY: there are no images.
/// static RELU: Kernel<f32, f32> = unsafe {
///     Kernel::new(KernelDescriptor {
///         name: Cow::Borrowed("relu"),
///         problem: ProblemDescriptor {
///             input: Dtype::F32,
///             output: Dtype::F32,
///             transpose_b: false,
///             known_n: None,
///             known_k: None,
///             epilogue: Cow::Borrowed("relu"),
///         },
///         variants: Cow::Borrowed(&[]),
///         not_compiled: Some(Cow::Borrowed("this is an example")),
///         epilogue: |x| x.max(0.0),
///     })
/// };
///
/// let device = Device::cpu();
/// let a = Matrix::from_slice(&device, &[1.0, 2.0], 1, 2)?;
/// let b = Matrix::from_slice(&device, &[3.0, -3.0, 4.0, 1.0], 2, 2)?;
/// let mut c = Matrix::zeros(&device, 1, 2)?;
/// RELU.launch(&a, &b, &mut c)?;
/// assert_eq!(c.to_vec()?, [11.0, 0.0]);
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Kernel<I, O> {
    descriptor: KernelDescriptor,
    /// What is known and loaded, for each CUDA context that was used. Entries are never removed: their modules keep
    /// the context alive, so that a context's address cannot be reused for another one.
    contexts: RwLock<Vec<Arc<Loaded>>>,
    id: KernelId,
    element_types: PhantomData<fn(I) -> O>,
}

/// One kernel in one CUDA context.
struct Loaded {
    context: Arc<CudaContext>,
    target: Target,
    candidates: Candidates,
    /// One for each variant of the descriptor, filled when it is first chosen.
    kernels: Box<[OnceLock<CompiledKernel>]>,
    /// Held while an image is loaded, so that concurrent first launches load it once.
    loading: Mutex<()>,
}

impl<I: Element, O: Element> Kernel<I, O> {
    /// A kernel from what its build knows of it.
    ///
    /// # Safety
    /// Every image must have been compiled from the kernel sources of this version of autokernel, for the problem and
    /// the geometry that the descriptor states with it: the GPU trusts them when it computes addresses. Descriptors
    /// that autokernel's build and macros emit satisfy this, as does one without variants.
    pub const unsafe fn new(descriptor: KernelDescriptor) -> Self {
        Self { descriptor, contexts: RwLock::new(Vec::new()), id: KernelId::new(), element_types: PhantomData }
    }

    /// What the build knows of this kernel.
    pub const fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// `out = epilogue(a · b)`, on the device and stream of `out`.
    ///
    /// `a` is `[M, K]`, `b` is `[K, N]` (or `[N, K]` if the problem says `transpose_b`), `out` is `[M, N]`, all
    /// row-major with any leading dimension. On a GPU the launch is asynchronous; buffers that other streams of the
    /// same cudarc context use are waited for. It can be captured in a CUDA graph once [`Kernel::prepare`] (or a first
    /// launch) has loaded the image. During capture only the stream's own order counts, and a graph keeps addresses: the
    /// matrices must outlive its replays.
    ///
    /// Nothing is allocated where each matrix begins at a multiple of 16 bytes and its rows lie multiples of 16 bytes
    /// apart. Elsewhere the schedule may need a realigned copy; its memory comes from a pool, in stream order, that keeps
    /// at most 1/32 of the GPU's memory between launches.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `ShapeMismatch`, `KnownDimension`, `DtypeMismatch`, `TooLarge` and `DeviceMismatch`
    /// for arguments that do not fit; `NotCompiled` and `WrongArch` if there is no image for the GPU; `OutOfMemory` for a
    /// realigned copy, or on the CPU. In these cases nothing has been written to `out`. After `Cuda`, the driver's own
    /// error, its content is undefined.
    pub fn launch<'a>(
        &self,
        a: impl Into<MatrixView<'a, I>>,
        b: impl Into<MatrixView<'a, I>>,
        out: impl Into<MatrixViewMut<'a, O>>,
    ) -> Result<()> {
        let out = out.into();
        let device = out.device();
        self.launch_on(&device, a, b, out)
    }

    /// As [`Kernel::launch`], on the stream of `device` instead of the one that `out` was allocated on.
    ///
    /// # Errors
    /// As [`Kernel::launch`]; `DeviceMismatch` also if `device` is not where the matrices are.
    pub fn launch_on<'a>(
        &self,
        device: &Device,
        a: impl Into<MatrixView<'a, I>>,
        b: impl Into<MatrixView<'a, I>>,
        out: impl Into<MatrixViewMut<'a, O>>,
    ) -> Result<()> {
        let (a, b, mut out) = (a.into(), b.into(), out.into());
        let shape = operands::check(&self.descriptor.name, &self.descriptor.problem, &a, &b, &out)?;
        operands::check_devices(device, &a, &b, &out)?;
        let served = match device.stream() {
            None => self.launch_on_cpu(shape, &a, &b, &mut out)?,
            // SAFETY: both checks are made above.
            Some(stream) => unsafe { self.launch_on_gpu(stream, shape, &a, &b, &mut out) }?,
        };
        launch_log::count(&self.id, &self.descriptor, shape, served);
        Ok(())
    }

    /// Loads what a product of that shape needs on `device`, so that the first launch does not pay for it.
    ///
    /// # Errors
    /// As [`Kernel::plan`], and the driver's own error if the image cannot be loaded.
    pub fn prepare(&self, device: &Device, shape: Shape) -> Result<()> {
        operands::check_known(&self.descriptor.name, &self.descriptor.problem, shape)?;
        let Some(stream) = device.stream() else { return Ok(()) };
        let loaded = self.loaded(stream)?;
        self.compiled(&loaded, stream, shape).map(drop)
    }

    /// Where a product of that shape would run on `device`, with which schedule, and why.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `KnownDimension`, `NotCompiled`, `WrongArch`, or the driver's own.
    pub fn plan(&self, device: &Device, shape: Shape) -> Result<Plan<'_>> {
        operands::check_known(&self.descriptor.name, &self.descriptor.problem, shape)?;
        let Some(stream) = device.stream() else { return Ok(Plan::Cpu) };
        let loaded = self.loaded(stream)?;
        select::plan(&self.descriptor, &loaded.candidates, loaded.target, shape)
    }

    fn launch_on_cpu(
        &self,
        shape: Shape,
        a: &MatrixView<'_, I>,
        b: &MatrixView<'_, I>,
        out: &mut MatrixViewMut<'_, O>,
    ) -> Result<Served> {
        let (Storage::Host(a_data), Storage::Host(b_data), StorageMut::Host(c_data)) =
            (&a.storage, &b.storage, &mut out.storage)
        else {
            return operands::check_devices(&Device::cpu(), a, b, out).map(|()| Served::Cpu);
        };
        cpu::matmul(
            shape,
            self.descriptor.problem.transpose_b,
            self.descriptor.epilogue,
            cpu::Operand { data: a_data, layout: a.layout },
            cpu::Operand { data: b_data, layout: b.layout },
            c_data,
            out.layout,
        )?;
        Ok(Served::Cpu)
    }

    /// # Safety
    /// `shape` and the device of the stream were checked against the matrices, as [`Self::launch_on`] does.
    unsafe fn launch_on_gpu(
        &self,
        stream: &Arc<CudaStream>,
        shape: Shape,
        a: &MatrixView<'_, I>,
        b: &MatrixView<'_, I>,
        out: &mut MatrixViewMut<'_, O>,
    ) -> Result<Served> {
        let loaded = self.loaded(stream)?;
        let (variant, kernel) = self.compiled(&loaded, stream, shape)?;
        // SAFETY: the matrices are the caller's promise; the kernel is of this problem, and was loaded into the context
        // of this stream.
        unsafe { kernel.launch_checked(stream, shape, a, b, out) }?;
        Ok(Served::Gpu { capability: loaded.target.capability, variant })
    }

    /// This kernel in a stream's context, created at the first use there.
    fn loaded(&self, stream: &CudaStream) -> Result<Arc<Loaded>> {
        let context = stream.context();
        let find =
            |known: &[Arc<Loaded>]| known.iter().find(|loaded| loaded.context.cu_ctx() == context.cu_ctx()).cloned();
        if let Some(loaded) = find(&self.contexts.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(loaded);
        }
        let mut known = self.contexts.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = find(&known) {
            return Ok(loaded);
        }
        let loaded = Arc::new(Loaded::new(&self.descriptor, context)?);
        known.push(loaded.clone());
        Ok(loaded)
    }

    /// The variant for a shape, and its kernel, loaded if it was not yet.
    fn compiled<'l>(
        &self,
        loaded: &'l Loaded,
        stream: &Arc<CudaStream>,
        shape: Shape,
    ) -> Result<(usize, &'l CompiledKernel)> {
        let no_variant = || select::wrong_arch(&self.descriptor, loaded.target);
        let (index, _) = loaded.candidates.choose(shape).ok_or_else(no_variant)?;
        let slot = loaded.kernels.get(index).ok_or_else(no_variant)?;
        if let Some(kernel) = slot.get() {
            return Ok((index, kernel));
        }
        let _loading = loaded.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = slot.get() {
            return Ok((index, kernel));
        }
        let variant = self.descriptor.variants.get(index).ok_or_else(no_variant)?;
        let image = variant.image_for(loaded.target.capability).ok_or_else(no_variant)?;
        let device = Device::from_cudarc(stream.clone());
        // SAFETY: whoever called `Kernel::new` promised that each image is of this problem and its variant's geometry.
        let kernel = unsafe {
            CompiledKernel::load(&device, &self.descriptor.problem, &variant.geometry, &variant.symbol, image)
        }?;
        Ok((index, slot.get_or_init(|| kernel)))
    }
}

impl Loaded {
    fn new(descriptor: &KernelDescriptor, context: &Arc<CudaContext>) -> Result<Self> {
        let target = target_of(context)?;
        Ok(Self {
            context: context.clone(),
            target,
            candidates: Candidates::new(descriptor, target)?,
            kernels: descriptor.variants.iter().map(|_| OnceLock::new()).collect(),
            loading: Mutex::new(()),
        })
    }
}

impl<I: Element, O: Element> fmt::Debug for Kernel<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelDescriptor { name, variants, .. } = &self.descriptor;
        write!(f, "Kernel<{}, {}>({name}, {} variants)", I::DTYPE, O::DTYPE, variants.len())
    }
}
