//! Ready-made kernels, declared exactly as a user would declare them.
//!
//! The products are those that are measured against cuBLAS. Row-wise kernels and `swiglu` are each behind a feature of their own
//! name, so that a crate compiles what it uses; `rows` turns all row-wise ones on. Declare your own for anything else: an attribute
//! costs one line, and a body two.

mod gated;
#[cfg(feature = "builtin")]
mod products;
mod rows;

#[allow(unused_imports, reason = "each kernel has a feature")]
pub use gated::*;
#[cfg(feature = "builtin")]
pub use products::*;
#[allow(unused_imports, reason = "each kernel has a feature")]
pub use rows::*;
