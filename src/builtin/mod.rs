//! Ready-made kernels, declared exactly as a user would declare them.
//!
//! The products are those that are measured against cuBLAS. Each kernel is behind a feature of its own name, a product with a
//! transposed weight behind that of the other, so that a crate compiles what it uses; `builtin` turns all products on, `rows` all
//! row-wise kernels. Declare your own for anything else: an attribute costs one line, and a body two.

mod gated;
mod products;
mod rows;

#[allow(unused_imports, reason = "each kernel has a feature")]
pub use gated::*;
#[allow(unused_imports, reason = "each kernel has a feature")]
pub use products::*;
#[allow(unused_imports, reason = "each kernel has a feature")]
pub use rows::*;
