//! The attributes of autokernel. Use them through the `autokernel` crate, which documents them.

mod descriptor;
mod docs;
mod expand;

use proc_macro::TokenStream;

/// Declares a matrix product, `out = a · b`.
///
/// ```ignore
/// use autokernel::{Matrix, bf16};
///
/// #[autokernel::matmul]
/// pub fn project(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
/// ```
///
/// The settings and the generated items are those of [`macro@fused_matmul`], without an epilogue.
#[proc_macro_attribute]
pub fn matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand("matmul", arguments.into(), item.into()).into()
}

/// Declares a matrix product with an epilogue, `out = epilogue(a · b)`.
///
/// ```ignore
/// use autokernel::{Matrix, bf16};
///
/// #[autokernel::fused_matmul(leaky_relu, transpose_b, n = 14336, k = 4096)]
/// pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);
/// ```
///
/// The function has no body: its name, visibility, documentation and parameter types are the declaration.
/// Inputs are `bf16` or `f16`, the output is the same type or `f32`; sums are kept in `f32`.
///
/// **Epilogues**: `identity`, `relu`, `leaky_relu` (slope 0.01) or `leaky_relu(0.2)`, `gelu` (the erf form),
/// `gelu_tanh`, `silu`, `tanh`, `sigmoid`; names and forms are PyTorch's.
///
/// **Settings**, after the epilogue:
/// - `transpose_b`: `b` is stored as `[n, k]`, as a linear layer's weight is: `out = epilogue(a · bᵀ)`.
/// - `n = 14336`, `k = 4096`: dimensions that are always the same become compile-time constants; a launch with others
///   is an error.
///
/// **Generated**: the function, which launches and returns `autokernel::Result<()>`, and a module of the same name
/// with `KERNEL` (launch on views and streams, plan, prepare) and `epilogue` (the same function on one `f32`).
#[proc_macro_attribute]
pub fn fused_matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand("fused_matmul", arguments.into(), item.into()).into()
}
