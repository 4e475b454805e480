//! The baseline at the problem that is open.

use std::cell::RefCell;

use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem};
use autokernel_codegen::matmul::Problem;
use autokernel_core::Extents;
use autokernel_runtime::{Device, Element};

use super::buffers::Operands;
use super::error::Result;

/// A product that cuBLASLt computes, without an epilogue.
pub struct Cublas {
    library: RefCell<CublasLt>,
    gemm: Gemm,
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
            epilogue: Epilogue::Identity,
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
