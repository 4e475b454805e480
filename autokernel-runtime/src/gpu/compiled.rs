//! One launch plan with its image, loaded into one context, and how it is carried out.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use autokernel_core::{Arg, KernelStep, LaunchPlan};
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute as Attribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream};

use super::align::{Standins, Tools};
use super::map_cache::MapCache;
use super::memory::Memory;
use super::pad_rows::PadRows;
use super::pointers::{Ordering, Pointer};
use super::reach::reached_sms;
use super::rotation::{Displacements, HERE};
use super::submit::{self, Blocks};
use super::{image, target_of, tensor_map};
use crate::check;
use crate::descriptor::symbol;
use crate::launch::workspace::Needs;
use crate::launch::{MAX_OPERANDS, Parameter, Region, Sources, TensorMap, grid, pad_rows, rules, scalars_of};
use crate::select::Knobs;
use crate::{Argument, Device, Error, Extents, Image, Result, Role, Signature, driver};

/// One compiled schedule, loaded into one CUDA context: what a tuner measures and what [`crate::Kernel`] chooses among.
pub struct CompiledKernel {
    signature: Signature,
    plan: LaunchPlan,
    /// Of each kernel of the plan.
    entries: Box<[Entry]>,
    maps: Mutex<MapCache<MapKey, TensorMap>>,
    pad_rows: Option<PadRows>,
    memory: Arc<Memory>,
    context: Arc<CudaContext>,
    /// Whether the driver lets a kernel begin while the one before it runs.
    can_overlap: bool,
}

/// A kernel of the image.
struct Entry {
    function: CudaFunction,
    /// SMs that its blocks run on at once.
    sms: u32,
}

/// What a tensor map follows from: which field of which kernel it is for, and the matrix.
type MapKey = (u16, u16, Region);

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

impl CompiledKernel {
    /// Loads an image into the context of `device`.
    ///
    /// # Errors
    /// [`Error::NeedsGpu`] on the CPU; [`Error::Plan`] for a plan that cannot be carried out on this GPU;
    /// [`Error::Image`] for an image that is none or lacks a kernel of the plan; [`Error::DriverTooOld`] if the driver
    /// has no tensor maps; or the driver's own error.
    ///
    /// # Safety
    /// `image` must be a complete image from nvcc in which the plan's kernels were compiled for exactly `signature` and
    /// `plan`, and take the values of its knobs: the GPU computes addresses from what the plan tells it.
    pub unsafe fn load(device: &Device, signature: &Signature, plan: &LaunchPlan, image: Image<'_>) -> Result<Self> {
        let stream = device.require_stream("loading a kernel")?;
        let context = stream.context();
        rules::check(signature, plan, target_of(context)?.shared_bytes)?;
        let has_maps = |kernel: &KernelStep| kernel.args.iter().any(|field| matches!(field.arg, Arg::Map { .. }));
        let has_maps = plan.kernels.iter().any(has_maps);
        if has_maps {
            driver::require_version("a kernel with tensor maps", 12000)?;
        }
        // SAFETY: the caller promises a complete image.
        let module = unsafe { image::load(context, symbol(plan), image) }?;
        let sm_count = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(Error::cuda("counting multiprocessors"))?;
        let sm_count = u32::try_from(sm_count).unwrap_or(1);
        let entry = |kernel: &KernelStep| {
            let function = image::function(&module, &kernel.symbol, kernel.shared_bytes)?;
            let sms = reached_sms(&function, kernel, stream, sm_count)?;
            Ok(Entry { function, sms })
        };
        let entries = plan.kernels.iter().map(entry).collect::<Result<_>>()?;
        let can_overlap = submit::can_overlap()?;
        // The copies are of the same image, so they wait for earlier grids where its kernels do.
        let copies_wait = plan.kernels.iter().any(|kernel| kernel.overlaps_previous);
        Ok(Self {
            signature: signature.clone(),
            plan: plan.clone(),
            entries,
            maps: Mutex::new(if has_maps { MapCache::new() } else { MapCache::none() }),
            // To look for it where it is not would be an error of the driver's, which its tools report.
            pad_rows: if image::names(image, pad_rows::SYMBOL) {
                PadRows::find(&module, sm_count, can_overlap && copies_wait)?
            } else {
                None
            },
            memory: Memory::of(context),
            context: context.clone(),
            can_overlap,
        })
    }

    /// Takes the knobs of another plan for later launches; nothing is compiled or loaded.
    ///
    /// # Errors
    /// [`Error::Plan`] for a plan that differs in more than its knobs.
    ///
    /// # Safety
    /// The kernel takes these values: it computes addresses from them.
    pub unsafe fn take_knobs(&mut self, other: &LaunchPlan) -> Result<()> {
        let without_knobs = |plan: &LaunchPlan| {
            let mut plan = plan.clone();
            for field in plan.kernels.iter_mut().flat_map(|kernel| &mut kernel.args) {
                if let Arg::Knob { value } = &mut field.arg {
                    *value = 0;
                }
            }
            for kernel in &mut plan.kernels {
                kernel.grid = kernel.grid.split_into(1);
            }
            plan
        };
        let refused = |reason: &str| Error::Plan { symbol: symbol(other).to_owned(), reason: reason.to_owned() };
        if without_knobs(&self.plan) != without_knobs(other) {
            return Err(refused("it is of another kernel than the one that is loaded"));
        }
        rules::check(&self.signature, other, u32::MAX)?;
        self.plan = other.clone();
        Ok(())
    }

    /// How it is launched.
    pub const fn plan(&self) -> &LaunchPlan {
        &self.plan
    }

    /// What it takes.
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// What the plan's first kernel uses of the GPU.
    ///
    /// # Errors
    /// The driver's own error.
    pub fn resources(&self) -> Result<Resources> {
        let (Some(Entry { function, .. }), Some(kernel)) = (self.entries.first(), self.plan.kernels.first()) else {
            return Err(Error::Plan { symbol: String::new(), reason: "it has no kernel".to_owned() });
        };
        let doing = Error::cuda("asking for a kernel's resources");
        let attribute = |which| -> Result<u32> {
            let value = function.get_attribute(which).map_err(&doing)?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let KernelStep { threads, shared_bytes, .. } = *kernel;
        Ok(Resources {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            dynamic_shared_bytes: shared_bytes,
            threads,
            blocks_per_sm: function
                .occupancy_max_active_blocks_per_multiprocessor(threads, shared_bytes as usize, None)
                .map_err(&doing)?,
        })
    }

    /// Computes the outputs among `arguments` from the inputs, asynchronously on the stream of `device`; see
    /// [`crate::Kernel::launch_on`]. The arguments are in the order of the signature.
    ///
    /// # Errors
    /// As [`crate::Kernel::launch_on`], except those of choosing and loading an image.
    pub fn launch(&self, device: &Device, arguments: &mut [Argument<'_>]) -> Result<()> {
        let extents = check::launch(symbol(&self.plan), &self.signature, arguments, device)?;
        let stream = device.require_stream("launching a compiled kernel")?;
        if stream.context().cu_ctx() != self.context.cu_ctx() {
            return Err(Error::DeviceMismatch {
                what: "the kernel and the launch".to_owned(),
                left: Device::from_cudarc(self.context.default_stream()).to_string(),
                right: device.to_string(),
            });
        }
        // SAFETY: all of it was checked above.
        unsafe { self.launch_checked(stream, &extents, &Knobs::NONE, arguments, HERE) }
    }

    /// A launch whose operands were checked, on what lies `displacements` from them.
    ///
    /// # Errors
    /// As [`CompiledKernel::launch`].
    ///
    /// # Safety
    /// `extents` is what [`check::launch`] found of these arguments and this kernel's signature. The arguments and the
    /// stream are of the kernel's context. The kernel takes the knobs' values. What lies the displacements from the arguments spans as much
    /// memory as they do, which lives until the kernel has run and which no other stream uses.
    pub(crate) unsafe fn launch_checked(
        &self,
        stream: &Arc<CudaStream>,
        extents: &Extents,
        knobs: &Knobs,
        arguments: &mut [Argument<'_>],
        displacements: &Displacements,
    ) -> Result<()> {
        let is_written = |argument: &Argument<'_>| argument.role() == Role::Output && !argument.layout().is_empty();
        if !arguments.iter().any(is_written) {
            return Ok(());
        }
        let order = Ordering::new(stream)?;
        let (mut regions, mut uses) =
            ([Region::default(); MAX_OPERANDS], [const { None::<Pointer<'_>> }; MAX_OPERANDS]);
        let scalars = scalars_of(arguments);
        let count = arguments.len().min(MAX_OPERANDS);
        for (((argument, region), pointer), displacement) in
            arguments.iter_mut().zip(&mut regions).zip(&mut uses).zip(displacements)
        {
            if argument.scalar().is_some() {
                continue;
            }
            let (layout, dtype) = (argument.layout(), argument.dtype());
            let taken = order.take(argument)?;
            *region = Region::new(taken.address.wrapping_add(*displacement), layout, dtype);
            *pointer = Some(taken);
        }
        // cudarc keeps an error of the waits above until the next call that can return one.
        stream.context().bind_to_thread().map_err(Error::cuda("waiting for the operands' last use"))?;

        let operands = Operands { regions: &mut regions[..count], scalars: &scalars };
        // SAFETY: each view bounds its matrix inside a live buffer, which its guard keeps for this stream until it is
        // dropped below; from then on the buffer's events, or `release`, order other uses behind this one.
        let submitted = unsafe { self.submit(stream, extents, knobs, operands) };
        drop(uses);
        // Also after a failure: a part of the work may have been queued.
        order.release(arguments)?;
        submitted
    }

    /// Sees to alignments, and launches the kernels in turn.
    ///
    /// # Safety
    /// The regions are of the signature's operands, with the sizes of `extents`, and lie inside memory that `stream` may
    /// use until the kernels have run.
    unsafe fn submit(
        &self,
        stream: &Arc<CudaStream>,
        extents: &Extents,
        knobs: &Knobs,
        operands: Operands<'_>,
    ) -> Result<()> {
        let Self { signature, plan, .. } = self;
        let Operands { regions, scalars } = operands;
        let tools = Tools { pool: &self.memory.pool, stream, pad_rows: self.pad_rows.as_ref() };
        // SAFETY: by the caller's promise.
        let standins = unsafe { Standins::put(&tools, signature, &plan.alignments, regions) }?;
        let needs = self.needs(extents, knobs)?;
        self.memory.workspaces.lend(&self.memory.pool, stream, &needs, |workspace| {
            for (number, (kernel, entry)) in plan.kernels.iter().zip(&self.entries).enumerate() {
                let sources = Sources { signature, regions, scalars, extents, knobs, workspace };
                // SAFETY: by the caller's promise; stand-ins have the sizes of what they stand for, live until the end
                // of this function, and are freed on this stream, and so is the workspace.
                unsafe { self.enqueue(stream, number, kernel, entry, &sources) }?;
            }
            Ok(())
        })?;
        match standins {
            // SAFETY: by the caller's promise.
            Some(standins) => unsafe { standins.write_back(stream, signature) },
            None => Ok(()),
        }
    }

    /// What a launch needs beside its operands.
    fn needs(&self, extents: &Extents, knobs: &Knobs) -> Result<Needs> {
        if self.plan.workspace.is_empty() {
            return Ok(Needs::default());
        }
        let mut most = 0;
        for (kernel, entry) in self.plan.kernels.iter().zip(&self.entries) {
            most = most.max(grid::blocks(kernel, knobs, extents, entry.sms)?);
        }
        Ok(Needs::new(&self.plan.workspace, extents, most.into()))
    }

    /// Launches one kernel.
    ///
    /// # Safety
    /// As [`Self::submit`], with regions that are aligned as the plan asks.
    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        number: usize,
        kernel: &KernelStep,
        entry: &Entry,
        sources: &Sources<'_>,
    ) -> Result<()> {
        let blocks = grid::blocks(kernel, sources.knobs, sources.extents, entry.sms)?;
        if blocks == 0 {
            return Ok(());
        }
        let mut parameter = Parameter::new();
        {
            let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
            parameter.pack(&kernel.args, sources, |field, transfer, region| {
                maps.get((number as u16, field as u16, *region), |_| tensor_map::encode(&transfer, region))
            })?;
        }
        let KernelStep { threads, shared_bytes, overlaps_previous, .. } = *kernel;
        let overlaps_previous = overlaps_previous && self.can_overlap;
        let cluster = grid::cluster(kernel, sources.knobs);
        let grid = Blocks { along: (blocks, 1, 1), cluster, threads, shared_bytes, overlaps_previous };
        // SAFETY: the kernel takes one parameter by value, a struct of the plan's fields: CUDA's declaration of it is
        // printed from the same list. `load`'s caller promised that the kernel is that of the plan; the memory is the
        // caller's promise. Kernels that overlap the one before wait for it, as the plan says.
        unsafe { submit::launch(&entry.function, stream, grid, parameter.as_mut_ptr()) }
    }
}

/// The operands of a launch, by their numbers.
struct Operands<'o> {
    regions: &'o mut [Region],
    scalars: &'o [f32],
}

impl fmt::Debug for CompiledKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompiledKernel({}, GPU {})", symbol(&self.plan), self.context.ordinal())
    }
}
