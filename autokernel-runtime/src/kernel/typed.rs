//! The typed face of a kernel that reads two matrices and writes one.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    AnyKernel, CpuFunction, Device, Element, Embedded, Extents, KernelDescriptor, MatrixView, MatrixViewMut, Plan,
    Result,
};

/// A declared kernel that reads two matrices of type `I` and writes one of type `O`, such as a product:
/// `out = epilogue(a · b)`.
///
/// Lives in a `static`, as the attribute macros declare it. Images are loaded at the first launch on each GPU and
/// kept for the life of the process.
///
/// ```
/// use autokernel_runtime::{Device, Embedded, Kernel, Matrix, __private::matmul_on_cpu, matmul::Layout};
///
/// // SAFETY: there are no images.
/// static RELU: Kernel<f32, f32> = unsafe {
///     Kernel::new(Embedded {
///         json: r#"{
///             "name": "relu", "about": "the product, negative elements set to 0", "problem": "{}",
///             "signature": {
///                 "dims": [{"name": "m"}, {"name": "n"}, {"name": "k"}],
///                 "operands": [
///                     {"name": "a", "role": "input", "dtype": "f32", "axes": [0, 2]},
///                     {"name": "b", "role": "input", "dtype": "f32", "axes": [2, 1]},
///                     {"name": "out", "role": "output", "dtype": "f32", "axes": [0, 1]}
///                 ]
///             },
///             "variants": [], "not_compiled": "this is an example"
///         }"#,
///         images: &[],
///         cpu: |arguments| {
///             matmul_on_cpu(arguments, Layout::Nn, |sums| sums.iter_mut().for_each(|sum| *sum = sum.max(0.0)))
///         },
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
    erased: AnyKernel,
    element_types: PhantomData<fn(I) -> O>,
}

impl<I: Element, O: Element> Kernel<I, O> {
    /// A kernel from what its build embedded.
    ///
    /// # Safety
    /// As [`AnyKernel::new`].
    pub const unsafe fn new(embedded: Embedded) -> Self {
        // SAFETY: by the caller's promise.
        Self { erased: unsafe { AnyKernel::new(embedded) }, element_types: PhantomData }
    }

    /// A kernel from a descriptor that is at hand.
    ///
    /// # Safety
    /// As [`AnyKernel::new`].
    pub unsafe fn from_descriptor(descriptor: KernelDescriptor, cpu: CpuFunction) -> Self {
        // SAFETY: by the caller's promise.
        Self { erased: unsafe { AnyKernel::from_descriptor(descriptor, cpu) }, element_types: PhantomData }
    }

    /// The kernel without its types.
    pub const fn erased(&self) -> &AnyKernel {
        &self.erased
    }

    /// What the build knows of this kernel; read at the first use.
    ///
    /// # Errors
    /// [`Error::Descriptor`](crate::Error::Descriptor) if what was embedded cannot be read.
    pub fn descriptor(&self) -> Result<&KernelDescriptor> {
        self.erased.descriptor()
    }

    /// Computes `out` from `a` and `b`, on the device and stream of `out`.
    ///
    /// Shapes are those of the kernel's signature: for a product `a` is `[m, k]`, `b` is `[k, n]` (or `[n, k]` if it is
    /// used transposed), `out` is `[m, n]`, all row-major with any leading dimension. On a GPU the launch is
    /// asynchronous; buffers that other streams of the same cudarc context use are waited for. It can be captured in a
    /// CUDA graph once [`Kernel::prepare`] (or a first launch) has loaded the image. During capture only the stream's own
    /// order counts, and a graph keeps addresses: the matrices must outlive its replays. Where a kernel needs a workspace the graph
    /// owns it, and CUDA makes no second executable of that graph, no clone, and no part of another graph, as these would share it.
    ///
    /// Nothing is allocated where each matrix begins at a multiple of 16 bytes and its rows lie multiples of 16 bytes
    /// apart. Elsewhere the schedule may need a realigned copy; its memory comes from a pool, in stream order, that keeps
    /// at most 1/32 of the GPU's memory between launches.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `ShapeMismatch`, `KnownDimension`, `DtypeMismatch`, `TooLarge` and `DeviceMismatch`
    /// for arguments that do not fit; `NotCompiled` and `WrongArch` if there is no image for the GPU; `OutOfMemory` for a
    /// realigned copy, or on the CPU; `Descriptor` if what was embedded cannot be read. In these cases nothing has been
    /// written to `out`. After `Cuda`, the driver's own error, its content is undefined.
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
        self.erased.launch(device, &mut [a.into().into(), b.into().into(), out.into().into()])
    }

    /// As [`Kernel::launch`], and makes sure that launches of the same shapes on this GPU take the fastest schedule that the kernel carries;
    /// see [`AnyKernel::autotune`].
    ///
    /// # Errors
    /// As [`AnyKernel::autotune`].
    pub fn autotune<'a>(
        &self,
        a: impl Into<MatrixView<'a, I>>,
        b: impl Into<MatrixView<'a, I>>,
        out: impl Into<MatrixViewMut<'a, O>>,
    ) -> Result<Plan<'_>> {
        let out = out.into();
        self.erased.autotune(&out.device(), &mut [a.into().into(), b.into().into(), out.into()])
    }

    /// Loads what a launch of those extents needs on `device`, so that the first one does not pay for it.
    ///
    /// # Errors
    /// As [`Kernel::plan`], and the driver's own error if the image cannot be loaded.
    pub fn prepare(&self, device: &Device, extents: &Extents) -> Result<()> {
        self.erased.prepare(device, extents)
    }

    /// Loads what a launch of any extents needs on `device`.
    ///
    /// # Errors
    /// As [`AnyKernel::prepare_all`].
    pub fn prepare_all(&self, device: &Device) -> Result<()> {
        self.erased.prepare_all(device)
    }

    /// Where a launch of those extents would run, with which schedule, and why. Each operation's module makes extents of sizes, as
    /// [`matmul::extents`](crate::matmul::extents) and [`rows::extents`](crate::rows::extents) do.
    ///
    /// # Errors
    /// As [`AnyKernel::plan`].
    pub fn plan(&self, device: &Device, extents: &Extents) -> Result<Plan<'_>> {
        self.erased.plan(device, extents)
    }
}

impl<I: Element, O: Element> fmt::Debug for Kernel<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel<{}, {}>({:?})", I::DTYPE, O::DTYPE, self.erased)
    }
}
