//! The layer of `transformer-layer` as a shared library with a C interface, on device memory and on a stream of another library, and
//! cuBLASLt's fastest algorithms beside it: what `compare.py` measures.
//!
//! Functions give a null pointer, or a number that is not 0, where something failed; [`transformer_layer_error`] then says what. What they
//! hand out is never freed: a process has a handful of layers.

mod borrowed;
mod error;
mod layer;
mod product;
mod session;

pub use error::transformer_layer_error;
pub use layer::{
    LayerRun, transformer_layer_decode, transformer_layer_new, transformer_layer_prefill, transformer_layer_run,
};
pub use product::{Product, transformer_layer_product, transformer_layer_product_run};
pub use session::{Session, transformer_layer_session};
