//! What operations put into the generated items.

use proc_macro2::TokenStream;

use crate::kernels::Face;

/// What an operation puts into the generated items, whatever the types of elements are.
pub struct Parts {
    /// What the function computes, its shapes and errors.
    pub docs: String,
    /// The launch that the function makes.
    pub call: TokenStream,
    /// What kernels are to their callers.
    pub face: Face,
    /// What computes them on the CPU.
    pub cpu: TokenStream,
    /// What stands in the module beside them.
    pub items: TokenStream,
}
