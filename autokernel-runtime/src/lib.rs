//! The runtime of autokernel: devices, matrices, and kernels that are chosen, loaded and launched.
//!
//! A [`Kernel`] is what the attribute macros declare: images of several schedules, compiled when the crate was
//! built. [`Kernel::launch`] checks the matrices, chooses the schedule that was tuned for the nearest shape on the
//! GPU at hand, and launches it asynchronously. On [`Device::cpu`] the same call computes the same product with the
//! `gemm` crate, so that everything runs and is tested on a machine without a GPU.
//!
//! - [`Device`], [`Matrix`], [`MatrixView`], [`MatrixViewMut`]: where data lives; cudarc slices go in and out with no
//!   copy.
//! - [`Kernel`], [`Plan`]: a declared kernel and the schedule it would use; [`CompiledKernel`]: one image, for tuners.
//! - [`KernelDescriptor`] and its parts: the plain data that a build hands over.
//! - [`timing`]: event timing with stated statistics; [`roofline`] and [`Datasheet`]: what the hardware would allow.
//! - `AUTOKERNEL_RECORD=shapes.jsonl` in the environment counts each kernel's launches by shape, for the tuner.
//! - [`Error`]: everything that can go wrong, each with its remedy. Nothing here panics on bad input.

mod alloc;
mod arch;
mod cpu;
mod datasheet;
mod descriptor;
mod device;
mod driver;
mod dtype;
mod error;
mod geometry;
mod gpu;
mod kernel;
mod launch_log;
mod layout;
mod matrix;
mod operands;
pub mod roofline;
mod select;
mod shape;
pub mod timing;
mod view;

pub use arch::{Arch, ComputeCapability, Features};
pub use datasheet::{Datasheet, Multiprocessor, Peak};
pub use descriptor::{Image, KernelDescriptor, ProblemDescriptor, Tuned, Variant};
pub use device::{Device, DeviceInfo};
pub use dtype::{Dtype, Element};
pub use error::{Error, Result};
pub use geometry::{Family, Geometry, Raster, RasterOrder};
pub use gpu::{CompiledKernel, Resources};
pub use kernel::Kernel;
pub use matrix::Matrix;
pub use select::{Plan, Reason, Target, plan_for};
pub use shape::Shape;
pub use view::{MatrixView, MatrixViewMut};

pub use cudarc;
pub use half::{bf16, f16};
