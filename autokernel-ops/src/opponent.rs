//! What a problem's kernels are measured against.

use autokernel_core::Dtype;

use crate::epilogue::Epilogue;

/// Somebody else's way of computing a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Opponent {
    /// cuBLASLt's product of the first two operands into the third.
    CublasLt(Product),
}

/// A product of a library, and what must follow for the same result.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Type of both inputs.
    pub input: Dtype,
    /// Type of the output.
    pub output: Dtype,
    /// Whether the first operand is stored as `[k, m]`.
    pub transpose_a: bool,
    /// Whether the second operand is stored as `[n, k]`.
    pub transpose_b: bool,
    /// Whether the library applies a ReLU itself.
    pub relu: bool,
    /// What a kernel of its own applies to the product; none where the library's result is the result.
    pub epilogue: Option<Epilogue>,
}
