//! CUDA kernels that are specialised when your crate is built.
//!
//! You write one attribute; the build emits a CUDA kernel for exactly your operation, element types, epilogue and, if
//! you give them, dimensions, with the schedule that was measured fastest on your GPU. No CUDA to write, no JIT pause
//! at start-up, stable Rust.
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
//! says what becomes of a product, [`macro@rows`] on one whose body is arithmetic on one element and reductions along a row, [`macro@attention`], or [`macro@routing`] for a mixture of experts. What bodies have in common stands in functions marked
//! [`macro@function`]. The schedules come from
//! `best_config.json`: your crate's own where it has one, else those shipped with autokernel.

// The attributes emit paths that begin with `::autokernel`, in this crate as in any other.
extern crate self as autokernel;

pub mod builtin;

pub use autokernel_macros::{attention, function, fused_matmul, matmul, routing, rows};
pub use autokernel_runtime::*;

/// What generated code names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use autokernel_core::{erf, fingerprint};
    pub use autokernel_runtime::matmul::{
        body_of_batch_on_cpu as matmul_body_of_batch_on_cpu, body_of_groups_on_cpu as matmul_body_of_groups_on_cpu,
        body_on_cpu as matmul_body_on_cpu, body_scaled_on_cpu as matmul_body_scaled_on_cpu, on_cpu as matmul_on_cpu,
    };
    pub use autokernel_runtime::rows::{row_max, row_mean, row_min, row_sum};
    pub use autokernel_runtime::{Embedded, Images};
    pub use autokernel_runtime::{along_row, epilogues};
}
