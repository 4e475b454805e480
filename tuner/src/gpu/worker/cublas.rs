//! cuBLASLt at the problem that is open.

use std::cell::RefCell;

use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem};
use autokernel_codegen::matmul::problem::Layout;
use autokernel_codegen::opponent::{Opponent, Product};
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use autokernel_runtime::{Device, Element};

use super::buffers::Operands;
use super::error::{Result, WorkerError};
use super::guarded::{Buffer, Guarded};

/// A product that cuBLASLt computes, with the epilogue where it can fuse it.
pub struct Cublas {
    library: RefCell<CublasLt>,
    gemm: Gemm,
    /// Whether an epilogue must follow for the same result.
    pub has_epilogue: bool,
}

impl Cublas {
    /// Asks cuBLASLt how it would compute the product of `problem`.
    ///
    /// # Errors
    /// The problem is no product, the library is not there, or does not support the types.
    pub fn new(device: &Device, problem: &Problem, shape: Extents) -> Result<Self> {
        let Some(Opponent::CublasLt(product)) = problem.opponent() else {
            return Err(WorkerError::Cublas(format!("cuBLASLt computes no {}", problem.operation())));
        };
        let Product { input, output, transpose_a, transpose_b, relu, epilogue } = product;
        let library = CublasLt::new(device)?;
        let fused = if relu { Epilogue::Relu } else { Epilogue::Identity };
        let layout = Layout::new(transpose_a, transpose_b);
        let gemm = GemmProblem { extents: shape, dtype: input, output, layout, epilogue: fused };
        let gemm = library.gemm(gemm, autokernel_baseline::HEURISTICS)?;
        Ok(Cublas { library: RefCell::new(library), gemm, has_epilogue: epilogue.is_some() })
    }

    /// How many algorithms there are to choose from.
    pub fn algorithms(&self) -> usize {
        self.gemm.algorithms()
    }

    /// Launches one of its algorithms.
    pub fn launch(&self, algorithm: usize, operands: &mut Operands) -> Result<()> {
        let mut matrices = operands.matrices_mut();
        let [a, b, c] = &mut matrices[..] else { return Err(no_product()) };
        match (&a.buffer, &b.buffer, &mut c.buffer) {
            (Buffer::Bf16(a), Buffer::Bf16(b), Buffer::Bf16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::Bf16(a), Buffer::Bf16(b), Buffer::F16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::Bf16(a), Buffer::Bf16(b), Buffer::F32(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::F16(a), Buffer::F16(b), Buffer::Bf16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::F16(a), Buffer::F16(b), Buffer::F16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::F16(a), Buffer::F16(b), Buffer::F32(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::E4m3(a), Buffer::E4m3(b), Buffer::Bf16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::E4m3(a), Buffer::E4m3(b), Buffer::F16(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::E4m3(a), Buffer::E4m3(b), Buffer::F32(c)) => self.launch_typed(algorithm, a, b, c),
            (Buffer::F32(a), Buffer::F32(b), Buffer::F32(c)) => self.launch_typed(algorithm, a, b, c),
            _ => Err(no_product()),
        }
    }

    fn launch_typed<I: Element, O: Element>(
        &self,
        algorithm: usize,
        a: &Guarded<I>,
        b: &Guarded<I>,
        c: &mut Guarded<O>,
    ) -> Result<()> {
        let mut library = self.library.borrow_mut();
        Ok(self.gemm.launch(&mut library, algorithm, a.view()?, b.view()?, c.view_mut()?)?)
    }
}

fn no_product() -> WorkerError {
    WorkerError::Cublas("the operands are not those of a product of bf16, f16, e4m3 or f32".to_owned())
}
