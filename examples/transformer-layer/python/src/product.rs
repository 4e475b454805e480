//! A product by cuBLASLt's fastest algorithm.

use std::ffi::c_int;
use std::mem::ManuallyDrop;

use autokernel::timing::{Cache, Timer};
use autokernel::{Dtype, Matrix, Result, bf16, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};

use crate::borrowed::matrix;
use crate::error::{handed_out, status};
use crate::session::Session;

/// `out = a · bᵀ`, or with what is added to it, in the caller's memory.
pub struct Product {
    cublaslt: CublasLt,
    gemm: Gemm,
    algorithm: usize,
    session: &'static Session,
    /// Rows and columns of the first factor.
    of_a: [usize; 2],
    /// The weights of several layers, one behind the other, so that trials find none of them in L2.
    b: Vec<Matrix<bf16>>,
    skip: Option<Matrix<bf16>>,
    out: Matrix<bf16>,
}

impl Product {
    /// # Safety
    /// At `a` there is a first factor, until the product was computed.
    unsafe fn launch(&mut self, algorithm: usize, a: u64, copy: usize) -> autokernel_baseline::Result<()> {
        let Product { cublaslt, gemm, session, of_a: [m, k], b, skip, out, .. } = self;
        // SAFETY: by the caller's promise; it is not dropped.
        let a = ManuallyDrop::new(unsafe { matrix::<bf16>(session, a, *m, *k) }?);
        let added = Added { skip: skip.as_ref().map(Matrix::view), ..Added::NOTHING };
        gemm.launch_adding(cublaslt, algorithm, &*a, &b[copy % b.len()], added, out)
    }

    /// # Safety
    /// As [`launch`](Self::launch).
    unsafe fn choose(mut self, a: u64) -> Result<Self> {
        let mut timer = Timer::new(&self.session.device, Cache::Warm)?;
        let chosen = fastest(self.gemm.algorithms(), |algorithm, launches| {
            // SAFETY: by the caller's promise.
            let mut run = |copy| Ok(unsafe { self.launch(algorithm, a, copy) }?);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        })?;
        let (algorithm, _) = chosen.ok_or(autokernel_baseline::Error::NoAlgorithm)?;
        Ok(Product { algorithm, ..self })
    }
}

/// # Safety
/// As [`transformer_layer_product`].
unsafe fn product(session: &'static Session, [m, n, k]: [usize; 3], operands: &Operands) -> Result<Product> {
    let Operands { a, b, copies, skip, out } = *operands;
    let bytes = (n * k * size_of::<bf16>()) as u64;
    let extents = matmul::extents(m as u32, n as u32, k as u32);
    let problem = GemmProblem {
        extents,
        dtype: Dtype::Bf16,
        output: Dtype::Bf16,
        layout: matmul::Layout::Nt,
        epilogue: Epilogue::Identity,
    };
    let cublaslt = CublasLt::new(&session.device)?;
    let gemm = cublaslt.gemm(problem, HEURISTICS)?;
    // SAFETY: by the caller's promise.
    let matrix = |address, rows, columns| unsafe { matrix(session, address, rows, columns) };
    let product = Product {
        cublaslt,
        gemm,
        algorithm: 0,
        session,
        of_a: [m, k],
        b: (0..copies.max(1) as u64).map(|copy| matrix(b + copy * bytes, n, k)).collect::<Result<_>>()?,
        skip: (skip != 0).then(|| matrix(skip, m, n)).transpose()?,
        out: matrix(out, m, n)?,
    };
    // SAFETY: by the caller's promise.
    unsafe { product.choose(a) }
}

/// Addresses of bf16 matrices; `skip` may be 0, and of `b` there are `copies`, one behind the other, of which each launch takes one.
#[repr(C)]
pub struct Operands {
    a: u64,
    b: u64,
    copies: usize,
    skip: u64,
    out: u64,
}

/// The product of `[m, k]` and `[n, k]` by the algorithm that is fastest on these operands.
///
/// # Safety
/// `session` was handed out; the operands are of these sizes, in memory of its GPU, for as long as the process runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_product(
    session: &'static Session,
    m: usize,
    n: usize,
    k: usize,
    operands: &Operands,
) -> *mut Product {
    // SAFETY: by the caller's promise.
    handed_out(unsafe { product(session, [m, n, k], operands) })
}

/// Launches it on the session's stream, with the first factor at `a` and a copy of the weights.
///
/// # Safety
/// `product` was handed out, and no other thread uses it; at `a` there is a matrix of its size until the product was computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_product_run(product: &mut Product, a: u64, copy: usize) -> c_int {
    let algorithm = product.algorithm;
    // SAFETY: by the caller's promise.
    status(unsafe { product.launch(algorithm, a, copy) }.map_err(autokernel::Error::from))
}
