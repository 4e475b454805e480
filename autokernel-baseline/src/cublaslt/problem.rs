//! What is multiplied, and what becomes of it.

use autokernel_runtime::{Dtype, Element, Extents, MatrixView, Row, matmul};

/// What cuBLASLt applies to its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// Nothing.
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// The sum of `x` and an element for each column.
    Bias,
    /// GELU in its tanh form of that.
    GeluTanhBias,
}

/// What a product is scaled by, and what is added to it before it is stored.
pub struct Added<'m, O: Element> {
    /// A number for each factor, in memory of the GPU, 1 without; of 8-bit floats alone. Of blocks, or of rows and columns, one for
    /// each: see `CublasLt::gemm_of_blocks` and `CublasLt::gemm_of_rows_and_columns` of the feature `block-scales`.
    pub scales: Option<[&'m Row<f32>; 2]>,
    /// An element for each column, which the epilogue takes.
    pub bias: Option<&'m Row<O>>,
    /// A matrix of the output's size, behind the epilogue.
    pub skip: Option<MatrixView<'m, O>>,
}

impl<O: Element> Added<'_, O> {
    /// Nothing.
    pub const NOTHING: Self = Added { scales: None, bias: None, skip: None };
}

impl Epilogue {
    pub(super) fn takes_bias(self) -> bool {
        matches!(self, Epilogue::Bias | Epilogue::GeluTanhBias)
    }
}

/// Dense row-major products, one or a batch of matrices that lie one below the other, of 16 bits, or with a transposed `B` of
/// 8-bit floats, with sums in fp32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmProblem {
    /// Those of a product, or of a batch.
    pub extents: Extents,
    /// Type of both inputs: 8 or 16 bits.
    pub dtype: Dtype,
    /// Type of the output.
    pub output: Dtype,
    /// How the inputs lie.
    pub layout: matmul::Layout,
    /// The epilogue.
    pub epilogue: Epilogue,
}

impl GemmProblem {
    /// Whether its factors are 8-bit floats.
    pub(super) fn is_fp8(self) -> bool {
        matches!(self.dtype, Dtype::E4m3 | Dtype::E5m2)
    }
}
