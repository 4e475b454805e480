//! Products, with any of the algorithms that cuBLASLt has for them.

use std::ffi::c_void;

use autokernel_runtime::{Dtype, Element, MatrixView, MatrixViewMut, Row, matmul};
use cudarc::cublaslt::{result, sys};
use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};

use super::descriptor::{Layout, Operation, Preference, WORKSPACE_BYTES, data_type};
use super::library::CublasLt;
use super::problem::{Added, Epilogue, GemmProblem};
use super::scaling::Scaling;
use crate::{Error, Result};

impl CublasLt {
    /// The algorithms, at most `limit`, that cuBLASLt expects to be fast for `problem`, best guess first. Factors of f32 are
    /// multiplied as tf32. Products of i8 are whole numbers of 32 bits, which the words of an f32 output hold.
    ///
    /// # Errors
    /// There is none, or cuBLASLt refuses the problem.
    pub fn gemm(&self, problem: GemmProblem, limit: usize) -> Result<Gemm> {
        self.gemm_scaled(problem, Scaling::Factors, limit)
    }

    /// The same of 8-bit floats whose blocks have scales: of `a` 128 along K of a row, the scales of a block of all rows side by side,
    /// `[k / 128, m]`; of `b` 128 along K of 128 rows, `[n / 128, k / 128]`, with rows of a multiple of 4.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm); and none is known of other layouts than `nt`.
    #[cfg(feature = "block-scales")]
    pub fn gemm_of_blocks(&self, problem: GemmProblem, limit: usize) -> Result<Gemm> {
        if !problem.is_fp8() || problem.layout != matmul::Layout::Nt {
            return Err(Error::Operands("blocks of 8-bit floats along K are scaled alone"));
        }
        self.gemm_scaled(problem, Scaling::Blocks, limit)
    }

    /// The same of 8-bit floats with a scale for each row of `a` and each column of `out`: cuBLASLt's outer-vector scales.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm); and none is known of other layouts than `nt`.
    #[cfg(feature = "block-scales")]
    pub fn gemm_of_rows_and_columns(&self, problem: GemmProblem, limit: usize) -> Result<Gemm> {
        if !problem.is_fp8() || problem.layout != matmul::Layout::Nt {
            return Err(Error::Operands("rows and columns of products of 8-bit floats along K are scaled alone"));
        }
        self.gemm_scaled(problem, Scaling::RowsAndColumns, limit)
    }

    fn gemm_scaled(&self, problem: GemmProblem, scaling: Scaling, limit: usize) -> Result<Gemm> {
        let [m, n, k] = matmul::sizes(&problem.extents).map(u64::from);
        if problem.dtype == Dtype::I8 && (problem.output, problem.epilogue) != (Dtype::F32, Epilogue::Identity) {
            return Err(Error::Operands(
                "products of i8 leave cuBLASLt as whole numbers, in the words of an f32 output",
            ));
        }
        let output = if problem.dtype == Dtype::I8 { Dtype::I32 } else { problem.output };
        let (dtype, output) = (data_type(problem.dtype), data_type(output));
        let operation = Operation::new(problem, scaling)?;
        if problem.epilogue.takes_bias() {
            // Heuristics ask how it is aligned; a launch sets its own.
            operation.set_bias(self.workspace.device_ptr(&self.stream).0)?;
        }
        #[cfg(feature = "block-scales")]
        if scaling != Scaling::Factors {
            // Likewise: without addresses heuristics for vectors of scales answer `INVALID_VALUE`.
            operation.set_scales([self.workspace.device_ptr(&self.stream).0; 2])?;
        }
        let layout = |dtype, rows, columns| {
            Layout::new(dtype, rows, columns)?.of_batch(matmul::products(&problem.extents), rows * columns)
        };
        let b = if problem.layout.transpose_b() { layout(dtype, k, n)? } else { layout(dtype, n, k)? };
        let a = if problem.layout.transpose_a() { layout(dtype, m, k)? } else { layout(dtype, k, m)? };
        let layouts = Layouts { b, a, c: layout(output, n, m)? };
        let algorithms = self.heuristics(&operation, &layouts, limit)?;
        Ok(Gemm { problem, scaling, operation, layouts, algorithms })
    }

    fn heuristics(&self, operation: &Operation, layouts: &Layouts, limit: usize) -> Result<Vec<Algorithm>> {
        let preference = Preference::new()?;
        // SAFETY: a plain C struct of numbers, for which zero is a value.
        let mut found: Vec<sys::cublasLtMatmulHeuristicResult_t> = vec![unsafe { std::mem::zeroed() }; limit];
        let mut count = 0;
        // SAFETY: all descriptors are alive, and `found` has room for `limit` results.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle.0,
                operation.0,
                layouts.b.0,
                layouts.a.0,
                layouts.c.0,
                layouts.c.0,
                preference.0,
                i32::try_from(limit).unwrap_or(i32::MAX),
                found.as_mut_ptr(),
                &mut count,
            )
        };
        status.result()?;
        found.truncate(usize::try_from(count).unwrap_or(0));
        let usable = |heuristic: &sys::cublasLtMatmulHeuristicResult_t| heuristic.state.result().is_ok();
        let algorithms: Vec<Algorithm> =
            found.into_iter().filter(usable).map(|heuristic| Algorithm(heuristic.algo)).collect();
        if algorithms.is_empty() { Err(Error::NoAlgorithm) } else { Ok(algorithms) }
    }
}

/// One product, ready to launch with any of its algorithms.
pub struct Gemm {
    problem: GemmProblem,
    scaling: Scaling,
    operation: Operation,
    layouts: Layouts,
    algorithms: Vec<Algorithm>,
}

impl Gemm {
    /// How many algorithms there are.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// `out = epilogue(a · b)` with algorithm number `algorithm`, on the stream of `cublaslt`.
    ///
    /// # Errors
    /// There is no such algorithm, the matrices are not dense ones of the problem's sizes on the GPU of `cublaslt`, or
    /// cuBLASLt refuses the launch.
    pub fn launch<'m, I: Element, O: Element>(
        &self,
        cublaslt: &mut CublasLt,
        algorithm: usize,
        a: impl Into<MatrixView<'m, I>>,
        b: impl Into<MatrixView<'m, I>>,
        out: impl Into<MatrixViewMut<'m, O>>,
    ) -> Result<()> {
        self.launch_adding(cublaslt, algorithm, a, b, Added::NOTHING, out)
    }

    /// `out = epilogue(a · b + bias) + skip`, of what is `added`.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); the bias is there exactly where the epilogue takes one, as long as a row.
    pub fn launch_adding<'m, I: Element, O: Element>(
        &self,
        cublaslt: &mut CublasLt,
        algorithm: usize,
        a: impl Into<MatrixView<'m, I>>,
        b: impl Into<MatrixView<'m, I>>,
        Added { scales, bias, skip }: Added<'_, O>,
        out: impl Into<MatrixViewMut<'m, O>>,
    ) -> Result<()> {
        let (a, b, mut out) = (a.into(), b.into(), out.into());
        self.check(&a, &b, &out)?;
        let is_like_out =
            |view: &MatrixView<'_, O>| (view.nrows(), view.ncols(), view.ld()) == (out.nrows(), out.ncols(), out.ld());
        if bias.map(Row::len) != self.problem.epilogue.takes_bias().then_some(out.ncols())
            || !skip.as_ref().is_none_or(is_like_out)
        {
            return Err(Error::Operands("what is added does not have the problem's size"));
        }
        let sizes = matmul::sizes(&self.problem.extents).map(|size| size as usize);
        let fit = scales.is_none_or(|scales| scales.map(Row::len) == self.scaling.lengths(sizes));
        let is_fp8 = self.problem.is_fp8();
        if scales.is_some() && !is_fp8 || scales.is_none() && self.scaling != Scaling::Factors || !fit {
            return Err(Error::Operands(
                "8-bit floats alone are scaled, by a number each, or one for each block, row or column",
            ));
        }
        let algorithm = self.algorithms.get(algorithm).ok_or(Error::NoAlgorithm)?;
        let on_cpu = || Error::Operands("a matrix is on the CPU");
        let (a, b) = (a.as_cudarc().ok_or_else(on_cpu)?, b.as_cudarc().ok_or_else(on_cpu)?);
        let c = out.as_cudarc_mut().ok_or_else(on_cpu)?;
        let CublasLt { handle, stream, workspace } = cublaslt;
        if [a.stream(), b.stream(), c.stream()].iter().any(|of| of.context().cu_ctx() != stream.context().cu_ctx()) {
            return Err(Error::Operands("a matrix is on another GPU"));
        }
        let (a, _a_used) = a.device_ptr(stream);
        let (b, _b_used) = b.device_ptr(stream);
        let (c, _c_used) = c.device_ptr_mut(stream);
        let (scratch, _scratch_used) = workspace.device_ptr_mut(stream);
        let bias = bias.map(|bias| bias.as_cudarc().ok_or_else(on_cpu)).transpose()?;
        let bias = bias.map(|bias| bias.device_ptr(stream));
        if let Some((bias, _)) = &bias {
            self.operation.set_bias(*bias)?;
        }
        let scales =
            scales.map(|[a, b]| Ok::<_, Error>([a.as_cudarc().ok_or_else(on_cpu)?, b.as_cudarc().ok_or_else(on_cpu)?]));
        let scales = scales.transpose()?;
        let scales = scales.as_ref().map(|scales| scales.each_ref().map(|scale| scale.device_ptr(stream)));
        if is_fp8 {
            // Those of the launch before are forgotten: none stands for 1.
            self.operation
                .set_scales(scales.as_ref().map_or([0; 2], |scales| scales.each_ref().map(|(scale, _)| *scale)))?;
        }
        let skip = skip.as_ref().map(|skip| skip.as_cudarc().ok_or_else(on_cpu)).transpose()?;
        let skip = skip.map(|skip| skip.device_ptr(stream));
        // Products of whole numbers are scaled by whole numbers, of as many bytes.
        let one = if self.problem.dtype == Dtype::I8 { 1 } else { 1.0f32.to_bits() };
        let (alpha, beta) = (one, if skip.is_some() { one } else { 0 });
        let added = skip.as_ref().map_or(c, |(skip, _)| *skip);
        // SAFETY: `check` compared the buffers with the layouts; they are in the context of the handle and its stream.
        // Descriptors and buffers outlive the call, and the guards order later uses of the buffers behind it.
        unsafe {
            result::matmul(
                handle.0,
                self.operation.0,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                b as *const c_void,
                self.layouts.b.0,
                a as *const c_void,
                self.layouts.a.0,
                added as *const c_void,
                self.layouts.c.0,
                c as *mut c_void,
                self.layouts.c.0,
                &raw const algorithm.0,
                scratch as *mut c_void,
                WORKSPACE_BYTES,
                stream.cu_stream().cast(),
            )?;
        }
        Ok(())
    }

    fn check<I: Element, O: Element>(
        &self,
        a: &MatrixView<'_, I>,
        b: &MatrixView<'_, I>,
        out: &MatrixViewMut<'_, O>,
    ) -> Result<()> {
        let GemmProblem { extents, dtype, output, layout, .. } = self.problem;
        let [m, n, k] = matmul::sizes(&extents).map(|size| size as usize);
        let products = matmul::products(&extents) as usize;
        let (a_rows, a_columns) = if layout.transpose_a() { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if layout.transpose_b() { (n, k) } else { (k, n) };
        let dense = |(rows, columns, ld): (usize, usize, usize), expected: (usize, usize)| {
            (rows, columns) == (products * expected.0, expected.1) && ld == columns
        };
        let fits = dense((a.nrows(), a.ncols(), a.ld()), (a_rows, a_columns))
            && dense((b.nrows(), b.ncols(), b.ld()), (b_rows, b_columns))
            && dense((out.nrows(), out.ncols(), out.ld()), (m, n))
            && (I::DTYPE, O::DTYPE) == (dtype, output);
        if fits { Ok(()) } else { Err(Error::Operands("a matrix does not have the problem's size or type")) }
    }
}

struct Layouts {
    b: Layout,
    a: Layout,
    c: Layout,
}

/// An algorithm: an opaque value of cuBLASLt's, free to copy.
struct Algorithm(sys::cublasLtMatmulAlgo_t);
