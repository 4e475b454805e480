//! CUDA kernels that are specialised when your crate is built.
//!
//! You write one attribute; the build emits a CUDA kernel for exactly your operation, element types, epilogue and, if
//! you give them, dimensions, by a schedule that was tuned for your shape, or the one that a model fitted to measurements
//! expects to be fastest. No CUDA to write, no JIT pause at start-up, stable Rust.
//!
//! ```
//! use autokernel::{Device, Matrix, bf16, builtin};
//!
//! let device = Device::best(); // a GPU where there is one, otherwise the CPU
//! let a = Matrix::from_slice(&device, &vec![bf16::from_f32(0.5); 64 * 32], 64, 32)?;
//! let b = Matrix::from_slice(&device, &vec![bf16::from_f32(-2.0); 32 * 16], 32, 16)?;
//! let mut out = Matrix::zeros(&device, 64, 16)?;
//! builtin::matmul_leaky_relu(&a, &b, &mut out)?;
//! assert_eq!(out.to_vec()?[0], bf16::from_f32(-0.32)); // 32 · 0.5 · (−2) · 0.01
//! # Ok::<(), autokernel::Error>(())
//! ```
//!
//! To declare your own, add autokernel twice and a one-line build script:
//!
//! ```toml
//! [dependencies]
//! autokernel-cuda = "0.1" # the library is called `autokernel`
//!
//! [build-dependencies]
//! autokernel-codegen = "0.1"
//! ```
//!
//! ```no_run
//! // build.rs
//! autokernel_codegen::Build::new().run();
//! ```
//!
//! then write [`macro@fused_matmul`] or [`macro@matmul`] on a function without a body, [`macro@fused_matmul`] on one whose body
//! says what becomes of a product, [`macro@rows`] on one whose body is arithmetic on one element and reductions along a row,
//! [`macro@attention`], [`macro@routing`] for a mixture of experts, or [`macro@packing`] for weights of few bits. What bodies have in common stands in functions marked
//! [`macro@function`]. The schedules come from
//! `best_config.json`: your crate's own where it has one, else those shipped with autokernel.
//!
//! # With cudarc, candle and what else holds GPU memory
//!
//! Views borrow slices of [`cudarc`] and nothing is copied; a launch is on the stream of its output, or on that of [`Device::from_cudarc`]:
//!
//! ```no_run
//! use autokernel::cudarc::driver::{CudaContext, CudaSlice};
//! use autokernel::{MatrixView, MatrixViewMut, bf16, builtin};
//!
//! let stream = CudaContext::new(0)?.default_stream();
//! let (a, b) = (stream.alloc_zeros::<bf16>(64 * 32)?, stream.alloc_zeros::<bf16>(32 * 16)?);
//! let mut out: CudaSlice<bf16> = stream.alloc_zeros(64 * 16)?;
//! builtin::matmul_leaky_relu::KERNEL.launch(
//!     MatrixView::from_cudarc(a.as_view(), 64, 32)?,
//!     MatrixView::from_cudarc(b.as_view(), 32, 16)?,
//!     MatrixViewMut::from_cudarc(out.as_view_mut(), 64, 16)?,
//! )?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tensors of candle have [`autokernel-candle`](https://docs.rs/autokernel-candle).
//!
//! # Threads, streams, several GPUs
//!
//! - **A device is one stream of one GPU.** [`Device::new`]`(n)` is GPU number `n` with its default stream, [`Device::with_new_stream`] the same
//!   GPU with another. Clones share the stream. A program that uses several GPUs holds a device for each.
//! - **A launch runs on one device**: on the stream that its output was allocated on, or that of the device which `launch_on` names, as it must
//!   where that is an emulated GPU. Operands on another GPU are refused ([`Error::DeviceMismatch`]). It makes its GPU's context the calling
//!   thread's current one, so a thread may launch on several in turn.
//! - **Images are loaded for each GPU** at a kernel's first launch there, and kept for the life of the process. `KERNEL.prepare` and
//!   `KERNEL.prepare_all` load them ahead.
//! - **A model chooses the schedule** at sizes that nobody tuned, in microseconds, and is within some percent of the fastest that the kernel
//!   carries. [`AnyKernel::autotune`] measures once instead, for the GPU and the sizes at hand.
//! - **Nothing moves by itself.** [`Matrix::to_device`] copies to another device by way of the host, and waits for it; between streams of one GPU
//!   it is asynchronous, as [`MatrixViewMut::copy_from`] and [`Matrix::try_clone`] are.
//! - **Devices, operands, views, kernels and errors are `Send` and `Sync`.** Threads may launch the same kernel at once. On one stream their
//!   launches run in the order in which they come to it: give each thread a stream of its own, or an order, where that matters.
//! - **A stream runs in order; two that share a buffer wait for each other.** cudarc records the last read and the last write of each buffer, and a
//!   launch waits for those that it depends on. It does so from a context's second stream on, and not where the context's owner has
//!   switched that off, who then orders streams. Within a capture only the captured stream's order counts.
//! - **What is in use may be dropped.** Memory is freed in the order of the stream that it was allocated on, behind the uses on others. A CUDA
//!   graph keeps addresses: what it uses must outlive its replays.
//! - **A launch on a GPU returns before it has run.** What goes wrong on the GPU is told by a later call, at the latest by
//!   [`Device::synchronize`] or a copy to the host. On the CPU and on an emulated GPU a launch has finished when it returns.
//!
//! # Features
//!
//! None is on by default: a crate compiles the kernels that it declares.
//!
//! | feature | what it adds |
//! |---|---|
//! | `builtin` | products in [`builtin`], of which each has a feature of its name: `matmul`, `matmul_relu`, `matmul_leaky_relu`, `matmul_leaky_relu_f16` |
//! | `rows` | row-wise kernels in [`builtin`], of which each has one too: `softmax`, `log_softmax`, `rms_norm`, `add_rms_norm`, `layer_norm`, `silu_mul`, `gelu`, `log_sum_exp`, `row_sum`, `row_max` |
//! | `swiglu` | the gated layer of two products in [`builtin`] |
//! | `emulator` | `Device::emulated`: GPU kernels run, and are checked, on a machine without a GPU |
//!
//! # Environment
//!
//! | variable | when | what it says |
//! |---|---|---|
//! | `AUTOKERNEL_ARCHS` | build | the GPUs to compile for: `sm_80,sm_90a`, or `native`, those of this machine |
//! | `AUTOKERNEL_IMAGES` | build | how many images a kernel carries for each of them, as `1` while a program is written, or `4,sm_80=1`; all if unset |
//! | `AUTOKERNEL_NVCC` | build | the nvcc to use |
//! | `CUDARC_CUDA_VERSION` | build | the CUDA that cudarc declares the driver's functions of, as `12040`; that of the `nvcc` in `PATH`, or the newest, if unset. Set it where the driver is older |
//! | `AUTOKERNEL_SKIP_NVCC` | build | `1`: compile no kernel, as for an editor's `cargo check` |
//! | `AUTOKERNEL_CACHE_DIR` | build | where compiled kernels are kept; `autokernel` in the user's folder for caches if unset |
//! | `AUTOKERNEL_CHECKED` | run | `1`: launches look at offsets, counts, indices and zero points first, as [`set_checked`] asks for |
//! | `AUTOKERNEL_RECORD` | run | a file in which each kernel's launches are counted by extents, for the tuner |
//!
//! # Where to look
//!
//! - **The language of bodies**, all that can be written: [docs/language.md](https://github.com/autokernel/autokernel/blob/main/docs/language.md).
//!   **How fast it is**, and what loses: [docs/measured.md](https://github.com/autokernel/autokernel/blob/main/docs/measured.md).
//!   **The guide**, with ten minutes for candle, cudarc and no GPU:
//!   [docs/guide](https://github.com/autokernel/autokernel/blob/main/docs/guide/src/SUMMARY.md).
//! - **Data**: [`Device`], [`Matrix`], [`Batch`], [`Row`], [`Column`], [`Scalar`], [`ScalarBatch`], [`Index`], [`Heads`], [`PageTable`] and their views.
//! - **Launches**: [`Kernel`], of which each attribute makes one, [`Plan`], [`Error`].
//! - **Measuring**: [`timing`], [`roofline`].
//! - **What a tuner or another program holds of a kernel**: [`CompiledKernel`], [`AnyKernel`], [`LaunchPlan`], [`Signature`] and the types that
//!   they are made of; a program that launches what it declares needs none of them.

// The attributes emit paths that begin with `::autokernel`, in this crate as in any other.
extern crate self as autokernel;

pub mod builtin;

/// The guide's program for burn.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/src/extend/burn.md")]
struct GuideOfBurn;

pub use autokernel_macros::{attention, function, fused_matmul, matmul, packing, routing, rows};
pub use autokernel_runtime::{attention, matmul, packing, roofline, routing, rows, timing};

#[doc(hidden)]
pub use autokernel_runtime::__private;

pub use autokernel_runtime::{
    AnyKernel, AnyView, AnyViewMut, Arch, Argument, Basis, Batch, BatchView, BatchViewMut, CHECKED_ENV, Column,
    ColumnBatch, ColumnBatchView, ColumnView, ColumnViewMut, CompiledKernel, ComputeCapability, CpuFunction, Datasheet,
    Device, DeviceInfo, Dim, Dimension, Dtype, Element, Embedded, Error, Extents, Features, Heads, HeadsView,
    HeadsViewMut, Image, Images, Index, IndexView, Kernel, KernelDescriptor, KernelVariant, LaunchPlan, MAX_EXTENT,
    Matrix, MatrixView, MatrixViewMut, Multiprocessor, Number, Operand, PageTable, PageTableView, ParseExtentsError,
    Passed, Peak, PerDistance, PerHead, Plan, Planner, Reason, Resources, Result, Role, Routes, Row, RowBatch,
    RowBatchView, RowNumber, RowView, RowViewMut, Scalar, ScalarBatch, ScalarBatchView, ScalarBatchViewMut, ScalarView,
    ScalarViewMut, Signature, Span, Target, Tuned, bf16, cudarc, dim, e4m3, e5m2, f16, i4x2, image_for, is_checked,
    pack, plan_for, quantise, quantise_blocks, quantise_i8, quantise_with_zeros, scale_blocks, set_checked, symbol,
    unpack,
};
#[cfg(feature = "emulator")]
pub use autokernel_runtime::{EmulatedKernel, Emulation, emulator};
