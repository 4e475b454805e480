//! The runtime of autokernel: devices, matrices, and kernels that are chosen, loaded and launched.
//!
//! A [`Kernel`] is what the attribute macros declare: images of several schedules, compiled when the crate was
//! built. [`Kernel::launch`] checks the matrices, chooses the schedule that was tuned for their shape on the GPU at hand, or else the one
//! that a model predicts to be fastest, and launches it asynchronously. On [`Device::cpu`] the same call computes the same on the host, so that
//! everything runs and is tested on a machine without a GPU.
//!
//! No operation is known by name: operands are checked against a [`Signature`], and what is launched is what a
//! [`LaunchPlan`] says. Only the computation on the CPU is an operation's own.
//!
//! - [`Device`], [`Matrix`], [`Row`], [`Column`], [`Scalar`] and their views, as [`MatrixView`]: where data lives; cudarc
//!   slices go in and out with no copy.
//! - [`Kernel`], [`Plan`]: a declared kernel and the schedule it would use; [`CompiledKernel`]: one image, for tuners;
//!   [`AnyKernel`], [`Argument`]: the same without types.
//! - With the feature `emulator`, `Device::emulated` is a GPU that is interpreted and checked: every kernel runs on a
//!   machine without one.
//! - [`Embedded`]: what a build hands over, and [`KernelDescriptor`]: what is read from it.
//! - [`timing`]: event timing with stated statistics; [`roofline`] and [`Datasheet`]: what the hardware would allow.
//! - `AUTOKERNEL_CHECKED=1` in the environment, or [`set_checked`]: launches look at offsets, counts and indices first.
//! - `AUTOKERNEL_RECORD=shapes.jsonl` in the environment counts each kernel's launches by extents, for the tuner.
//! - [`Element`]: the types of operands; [`Number`]: what memory holds.
//! - [`Error`]: everything that can go wrong, each with its remedy. Nothing here panics on bad input.

pub mod attention;
mod check;
mod cpu;
mod datasheet;
mod descriptor;
mod device;
mod driver;
#[cfg(feature = "emulator")]
mod emulated;
#[cfg(feature = "emulator")]
mod emulation;
mod error;
mod gpu;
mod kernel;
mod launch;
mod launch_log;
pub mod matmul;
mod operands;
pub mod packing;
mod ptx;
pub mod roofline;
pub mod routing;
pub mod rows;
mod select;
pub mod timing;

/// What generated code names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::cpu::{
        At, AttentionSettings, Columns, GroupScales, Groups, Pick, Place, RowEpilogue, RowFunction, ScoreFunction,
        Tables, attention as attention_on_cpu, matmul as matmul_on_cpu, matmul_body as matmul_body_on_cpu,
        matmul_body_of_batch as matmul_body_of_batch_on_cpu, matmul_body_of_groups as matmul_body_of_groups_on_cpu,
        matmul_body_with as matmul_body_with_tables_on_cpu, matmul_gathered as matmul_gathered_on_cpu,
        packing as packing_on_cpu, partners, routing as routing_on_cpu, row_max, row_mean, row_min, row_sum,
        rows as rows_on_cpu, scored_attention as scored_attention_on_cpu,
    };
    pub use crate::descriptor::{Embedded, Images};
    pub use crate::operands::{Before, scale_blocks};
    pub use autokernel_core::{erf, fingerprint};
    pub use autokernel_ops::attention::score::Kind as ScoreKind;
    pub use autokernel_ops::attention::sequences::{Keys, Sequences};
    pub use autokernel_ops::body::{Kind, Reduction};
    pub use autokernel_ops::matmul::problem::Layout;

    /// The built-in epilogues and their derivatives in Rust, for bodies that call them.
    pub mod epilogues {
        pub use autokernel_ops::epilogue::builtin::*;
        pub use autokernel_ops::epilogue::derivatives::*;
    }

    /// The built-in epilogues in place on a row of sums.
    pub mod along_row {
        pub use autokernel_ops::epilogue::along_row::*;
    }
}

pub use attention::{PerDistance, PerHead};
pub use check::MAX_EXTENT;
pub use check::checked::{CHECKED_ENV, is_checked, set_checked};
pub use cpu::CpuFunction;
pub use datasheet::{Datasheet, Peak};
pub use descriptor::{Embedded, Image, Images, KernelDescriptor, KernelVariant, image_for, symbol};
pub use device::{Device, DeviceInfo};
#[cfg(feature = "emulator")]
pub use emulated::{EmulatedKernel, emulator};
#[cfg(feature = "emulator")]
pub use emulation::Emulation;
pub use error::{Error, Result};
pub use gpu::{CompiledKernel, Resources};
pub use kernel::{AnyKernel, Kernel};
pub use operands::{
    AnyView, AnyViewMut, Argument, Batch, BatchView, BatchViewMut, Column, ColumnBatch, ColumnBatchView, ColumnView,
    ColumnViewMut, Element, Heads, HeadsView, HeadsViewMut, Index, IndexView, Matrix, MatrixView, MatrixViewMut,
    Number, PageTable, PageTableView, Row, RowBatch, RowBatchView, RowNumber, RowView, RowViewMut, Scalar, ScalarBatch,
    ScalarBatchView, ScalarBatchViewMut, ScalarView, ScalarViewMut, i4x2, pack, quantise, quantise_blocks, quantise_i8,
    quantise_with_zeros, scale_blocks, unpack,
};
pub use routing::Routes;
pub use select::{Basis, Plan, Planner, Reason, Target, plan_for};

pub use autokernel_core::gpu::Multiprocessor;
pub use autokernel_core::{
    Arch, ComputeCapability, Dim, Dimension, Dtype, Extents, Features, LaunchPlan, Operand, ParseExtentsError, Passed,
    Role, Signature, Span, Tuned, dim,
};
pub use cudarc;
pub use float8::{F8E4M3 as e4m3, F8E5M2 as e5m2};
pub use half::{bf16, f16};
