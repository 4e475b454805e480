//! One image, loaded into one context, and how it is launched.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute as Attribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DeviceSlice};

use super::pad_rows::PadRows;
use super::pointers::Ordering;
use super::raster::RasterArgs;
use super::realign::{Operands, Standin};
use super::scratch::Pool;
use super::sm90::{Boxes, Maps};
use super::submit::{self, Grid};
use super::tensor_map::Global;
use super::{geometry, image, sm80, sm90, target_of};
use crate::view::{Storage, StorageMut};
use crate::{Device, Element, Error, Family, Geometry, Image, MatrixView, MatrixViewMut, ProblemDescriptor};
use crate::{Raster, Result, Shape, driver, operands};

/// One compiled schedule, loaded into one CUDA context: what a tuner measures and what [`crate::Kernel`] chooses among.
pub struct CompiledKernel {
    symbol: String,
    problem: ProblemDescriptor,
    geometry: Geometry,
    boxes: Boxes,
    maps: Mutex<Maps>,
    function: CudaFunction,
    pad_rows: Option<PadRows>,
    pool: Arc<Pool>,
    context: Arc<CudaContext>,
    sm_count: u32,
    overlaps_prologue: bool,
}

/// What a loaded kernel uses of a GPU, as the driver reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Local memory of a thread, in bytes: stack and spilled registers. 0 in a good schedule.
    pub local_bytes: u32,
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that one multiprocessor holds at once.
    pub blocks_per_sm: u32,
}

/// The three matrices of a launch in device memory.
struct Matrices {
    a: Global,
    b: Global,
    c: Global,
}

impl CompiledKernel {
    /// Loads an image into the context of `device`.
    ///
    /// # Errors
    /// [`Error::NeedsGpu`] on the CPU; [`Error::Geometry`] for a geometry that cannot be launched on this GPU;
    /// [`Error::Image`] for an image that is none or lacks `symbol`; [`Error::DriverTooOld`] if the driver has no
    /// tensor maps; or the driver's own error.
    ///
    /// # Safety
    /// `image` must be a complete image from nvcc in which `symbol` was compiled from this version's kernel sources
    /// for exactly `problem` and `geometry` (except the raster, which is free): the GPU computes addresses from them.
    pub unsafe fn load(
        device: &Device,
        problem: &ProblemDescriptor,
        geometry: &Geometry,
        symbol: &str,
        image: Image<'_>,
    ) -> Result<Self> {
        let context = device.require_stream("loading a kernel")?.context();
        geometry::check(symbol, problem, geometry, target_of(context)?.shared_bytes)?;
        if geometry.family == Family::Sm90 {
            driver::require_version("a kernel with tensor maps", 12000)?;
        }
        // SAFETY: the caller promises a complete image.
        let module = unsafe { image::load(context, symbol, image) }?;
        let sm_count = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(Error::cuda("counting multiprocessors"))?;
        let sm_count = u32::try_from(sm_count).unwrap_or(1);
        let overlaps_prologue = geometry.family == Family::Sm90 && submit::overlaps_prologues()?;
        Ok(Self {
            symbol: symbol.to_owned(),
            problem: problem.clone(),
            geometry: *geometry,
            boxes: Boxes::new(problem, geometry),
            maps: Mutex::default(),
            function: image::function(&module, symbol, geometry.shared_bytes)?,
            pad_rows: PadRows::find(&module, sm_count, overlaps_prologue)?,
            pool: Pool::of(context),
            context: context.clone(),
            sm_count,
            overlaps_prologue,
        })
    }

    /// Changes the raster order of later launches; nothing is compiled or loaded.
    pub fn set_raster(&mut self, raster: Raster) {
        self.geometry.raster = raster;
    }

    /// What a launch knows of the schedule.
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The kernel's name inside the image.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// What the kernel uses of the GPU.
    ///
    /// # Errors
    /// The driver's own error.
    pub fn resources(&self) -> Result<Resources> {
        let doing = Error::cuda("asking for a kernel's resources");
        let attribute = |which| -> Result<u32> {
            let value = self.function.get_attribute(which).map_err(&doing)?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let Geometry { threads, shared_bytes, .. } = self.geometry;
        Ok(Resources {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            dynamic_shared_bytes: shared_bytes,
            threads,
            blocks_per_sm: self
                .function
                .occupancy_max_active_blocks_per_multiprocessor(threads, shared_bytes as usize, None)
                .map_err(&doing)?,
        })
    }

    /// `c = epilogue(a · b)`, asynchronously on the stream that `c` was allocated on; see [`crate::Kernel::launch`].
    ///
    /// # Errors
    /// As [`crate::Kernel::launch`], except those of choosing and loading an image.
    pub fn launch<'a, I: Element, O: Element>(
        &self,
        a: impl Into<MatrixView<'a, I>>,
        b: impl Into<MatrixView<'a, I>>,
        c: impl Into<MatrixViewMut<'a, O>>,
    ) -> Result<()> {
        let c = c.into();
        let device = c.device();
        self.launch_on(&device, a, b, c)
    }

    /// As [`CompiledKernel::launch`], on the stream of `device`.
    ///
    /// # Errors
    /// As [`CompiledKernel::launch`].
    pub fn launch_on<'a, I: Element, O: Element>(
        &self,
        device: &Device,
        a: impl Into<MatrixView<'a, I>>,
        b: impl Into<MatrixView<'a, I>>,
        c: impl Into<MatrixViewMut<'a, O>>,
    ) -> Result<()> {
        let (a, b, mut c) = (a.into(), b.into(), c.into());
        let shape = operands::check(&self.symbol, &self.problem, &a, &b, &c)?;
        operands::check_devices(device, &a, &b, &c)?;
        let stream = device.require_stream("launching a compiled kernel")?;
        if stream.context().cu_ctx() != self.context.cu_ctx() {
            return Err(Error::DeviceMismatch {
                what: "the kernel and the launch",
                left: Device::from_cudarc(self.context.default_stream()).to_string(),
                right: device.to_string(),
            });
        }
        // SAFETY: all three were checked above.
        unsafe { self.launch_checked(stream, shape, &a, &b, &mut c) }
    }

    /// A launch whose matrices were checked.
    ///
    /// # Errors
    /// As [`CompiledKernel::launch`].
    ///
    /// # Safety
    /// `shape` is what [`operands::check`] found of these matrices and this kernel's problem. The matrices and the stream
    /// are of the kernel's context.
    pub(crate) unsafe fn launch_checked<I: Element, O: Element>(
        &self,
        stream: &Arc<CudaStream>,
        shape: Shape,
        a: &MatrixView<'_, I>,
        b: &MatrixView<'_, I>,
        c: &mut MatrixViewMut<'_, O>,
    ) -> Result<()> {
        if shape.m == 0 || shape.n == 0 {
            return Ok(());
        }
        let (Storage::Cuda(a_data), Storage::Cuda(b_data), StorageMut::Cuda(c_data)) =
            (&a.storage, &b.storage, &mut c.storage)
        else {
            return Err(Error::NeedsGpu { what: "launching a compiled kernel" });
        };
        let order = Ordering::new(stream)?;
        let c_owner = c_data.stream().clone();
        let a_use = order.read(a_data)?;
        let b_use = order.read(b_data)?;
        let c_use = order.write(c_data)?;
        // cudarc keeps an error of the waits above until the next call that can return one.
        stream.context().bind_to_thread().map_err(Error::cuda("waiting for the matrices' last use"))?;

        let matrices = Matrices {
            a: Global::new(a_use.address, a.layout, size_of::<I>()),
            b: Global::new(b_use.address, b.layout, size_of::<I>()),
            c: Global::new(c_use.address, c.layout, size_of::<O>()),
        };
        // SAFETY: each view bounds its matrix inside a live buffer, which its guard keeps for this stream until it is
        // dropped below; from then on the buffer's events, or `release`, order other uses behind this one.
        let submitted = unsafe { self.submit(stream, shape, &matrices) };
        drop((a_use, b_use, c_use));
        // Also after a failure: a part of the work may have been queued.
        order.release([a_data.stream(), b_data.stream(), &c_owner])?;
        submitted
    }

    /// Realigns what the family cannot address, and launches.
    ///
    /// # Safety
    /// The matrices have the sizes of `shape` and the problem's types, and lie inside memory that `stream` may use until
    /// the kernel has run.
    unsafe fn submit(&self, stream: &Arc<CudaStream>, shape: Shape, matrices: &Matrices) -> Result<()> {
        let Matrices { a, b, c } = *matrices;
        let output_bytes = self.problem.output.bytes();
        let operands = match shape.k {
            0 => Operands::in_place([a, b]),
            // SAFETY: by the caller's promise.
            _ => unsafe { Operands::aligned(&self.pool, stream, self.pad_rows.as_ref(), [a, b]) }?,
        };
        // SAFETY: by the caller's promise; copies and scratch memory have the sizes of what they stand for, live until
        // the end of this function, and are freed on this stream.
        unsafe {
            match self.geometry.family {
                Family::Sm80 if !c.has_aligned_base() => {
                    let standin = Standin::for_output(&self.pool, stream, c, output_bytes)?;
                    self.submit_sm80(stream, shape, operands.a, operands.b, standin.matrix)?;
                    standin.write_back(stream, c, output_bytes)
                }
                Family::Sm80 => self.submit_sm80(stream, shape, operands.a, operands.b, c),
                Family::Sm90 => self.submit_sm90(stream, shape, operands.a, operands.b, c),
            }
        }
    }

    /// # Safety
    /// As [`Self::submit`], with matrices that the family can address.
    unsafe fn submit_sm80(&self, stream: &CudaStream, shape: Shape, a: Global, b: Global, c: Global) -> Result<()> {
        let Self { problem, geometry, .. } = self;
        let args = sm80::Args {
            a: a.address,
            b: b.address,
            c: c.address,
            lda: a.leading_dimension(problem.input),
            ldb: b.leading_dimension(problem.input),
            ldc: c.leading_dimension(problem.output),
            m: shape.m as i32,
            n: shape.n as i32,
            k: shape.k as i32,
            raster: RasterArgs::new(geometry.raster, geometry.tiles(shape.m, shape.n)),
        };
        // SAFETY: the arguments are those of the family, and name what the caller promises.
        unsafe { self.enqueue(stream, sm80::grid(geometry, shape)?, args) }
    }

    /// # Safety
    /// As [`Self::submit`], with matrices that the family can address.
    unsafe fn submit_sm90(&self, stream: &CudaStream, shape: Shape, a: Global, b: Global, c: Global) -> Result<()> {
        let Self { problem, geometry, .. } = self;
        let loads = |matrix| (shape.k > 0).then_some(matrix);
        let maps = {
            let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
            maps.encode(&self.boxes, loads(a), loads(b), c)?
        };
        let args = sm90::Args {
            a: maps.a,
            b: maps.b,
            c: maps.c,
            c_ptr: c.address,
            ldc: c.leading_dimension(problem.output),
            m: shape.m as i32,
            n: shape.n as i32,
            k: shape.k as i32,
            raster: RasterArgs::new(geometry.raster, sm90::clusters(geometry, shape)),
            store_with_tma: i32::from(maps.store_with_tma),
        };
        // SAFETY: the arguments are those of the family, and name what the caller promises.
        unsafe { self.enqueue(stream, sm90::grid(geometry, shape, self.sm_count)?, args) }
    }

    /// # Safety
    /// `A` is the argument struct of the kernel's family, and names only memory that `stream` may use until the kernel
    /// has run; `blocks` are those of its shape.
    unsafe fn enqueue<A>(&self, stream: &CudaStream, blocks: u32, args: A) -> Result<()> {
        let Geometry { threads, shared_bytes, .. } = self.geometry;
        let grid = Grid { blocks: (blocks, 1, 1), threads, shared_bytes, overlaps_prologue: self.overlaps_prologue };
        // SAFETY: the kernel takes one parameter by value, of exactly this layout (asserted beside each `Args`).
        // `load`'s caller promised that the kernel is that of `problem` and `geometry`; memory and grid are the caller's
        // promise. Kernels of the family for which `overlaps_prologue` is set wait for the grids before them.
        unsafe { submit::launch(&self.function, stream, grid, args) }
    }
}

impl fmt::Debug for CompiledKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompiledKernel({}, GPU {})", self.symbol, self.context.ordinal())
    }
}
