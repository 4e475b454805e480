//! The baseline at the problem that is open.

use std::cell::RefCell;

use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem};
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use autokernel_runtime::{Device, Element};

use super::buffers::Operands;
use super::error::Result;

/// A product that cuBLASLt computes, with the epilogue where it can fuse it.
pub struct Cublas {
    library: RefCell<CublasLt>,
    gemm: Gemm,
}

/// Whether cuBLASLt applies the epilogue of `problem` itself.
fn is_fused(problem: &Problem) -> bool {
    problem.epilogue.name() == "relu"
}

/// Whether a kernel of its own must follow cuBLASLt's product.
pub fn needs_kernel(problem: &Problem) -> bool {
    problem.epilogue.name() != "identity" && !is_fused(problem)
}

impl Cublas {
    /// Asks cuBLASLt how it would compute the product of `problem`.
    ///
    /// # Errors
    /// The library is not there, or does not support the types.
    pub fn new(device: &Device, problem: &Problem, shape: Extents) -> Result<Self> {
        let library = CublasLt::new(device)?;
        let gemm = GemmProblem {
            extents: shape,
            dtype: problem.input,
            output: problem.output,
            transpose_b: problem.layout.transpose_b(),
            epilogue: if is_fused(problem) { Epilogue::Relu } else { Epilogue::Identity },
        };
        let gemm = library.gemm(gemm, autokernel_baseline::HEURISTICS)?;
        Ok(Cublas { library: RefCell::new(library), gemm })
    }

    /// How many algorithms there are to choose from.
    pub fn algorithms(&self) -> usize {
        self.gemm.algorithms()
    }

    /// Launches one of its algorithms.
    pub fn launch<I: Element, O: Element>(&self, algorithm: usize, operands: &mut Operands<I, O>) -> Result<()> {
        let Operands { a, b, c, .. } = operands;
        let mut library = self.library.borrow_mut();
        Ok(self.gemm.launch(&mut library, algorithm, a.view()?, b.view()?, c.view_mut()?)?)
    }
}
