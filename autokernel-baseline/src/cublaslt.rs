//! cuBLASLt with its descriptors made once and every heuristic at hand.
//!
//! cuBLASLt is column-major. A row-major `C = A · B` is the column-major `Cᵀ = Bᵀ · Aᵀ` on the same bytes, so `B` is
//! passed first and the sizes are swapped.

use std::ffi::c_void;
use std::sync::Arc;

use autokernel_runtime::{Device, Dtype, Element, Extents, MatrixView, MatrixViewMut, Row, matmul};
use cudarc::cublaslt::{result, sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};

use crate::{Error, Result};

/// Scratch memory offered to the algorithms, in bytes.
const WORKSPACE_BYTES: usize = 128 << 20;

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
    fn takes_bias(self) -> bool {
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

/// A cuBLASLt handle with its workspace, on one stream.
pub struct CublasLt {
    handle: Handle,
    stream: Arc<CudaStream>,
    workspace: CudaSlice<u8>,
}

impl CublasLt {
    /// A handle on the stream of `device`.
    ///
    /// # Errors
    /// The device is the CPU, or there is no cuBLASLt.
    pub fn new(device: &Device) -> Result<Self> {
        let stream = device.stream().ok_or(Error::Operands("cuBLASLt needs a GPU"))?.clone();
        // SAFETY: loading the library runs its initialisers, which is what using it means.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoCublasLt);
        }
        // SAFETY: a workspace is written before it is read.
        let workspace = unsafe { stream.alloc(WORKSPACE_BYTES)? };
        Ok(CublasLt { handle: Handle(result::create_handle()?), stream, workspace })
    }

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
        if !is_fp8(problem.dtype) || problem.layout != matmul::Layout::Nt {
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
        if !is_fp8(problem.dtype) || problem.layout != matmul::Layout::Nt {
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

/// What a scale is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scaling {
    Factors,
    #[cfg(feature = "block-scales")]
    Blocks,
    #[cfg(feature = "block-scales")]
    RowsAndColumns,
}

impl Scaling {
    /// Whether sums of fewer digits than fp32 are left as they are. Those of blocks are promoted as they are scaled.
    fn sums_may_be_short(self) -> bool {
        match self {
            Scaling::Factors => true,
            #[cfg(feature = "block-scales")]
            Scaling::RowsAndColumns => true,
            #[cfg(feature = "block-scales")]
            Scaling::Blocks => false,
        }
    }

    /// What the scales of our factors are of, where that is not all of one.
    #[cfg(feature = "block-scales")]
    fn modes(self) -> Option<[sys::cublasLtMatmulMatrixScale_t; 2]> {
        use sys::cublasLtMatmulMatrixScale_t as Scale;
        match self {
            Scaling::Factors => None,
            // 128 of each row of the first factor, and 128 by 128 of the second one.
            Scaling::Blocks => Some([
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
            ]),
            Scaling::RowsAndColumns => Some([Scale::CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F; 2]),
        }
    }

    /// How many numbers scale each factor of a product of those sizes.
    #[cfg_attr(not(feature = "block-scales"), allow(unused_variables, reason = "factors alone have one each"))]
    fn lengths(self, sizes: [usize; 3]) -> [usize; 2] {
        match self {
            Scaling::Factors => [1, 1],
            #[cfg(feature = "block-scales")]
            Scaling::Blocks => {
                let [m, n, k] = sizes;
                let along_k = k.div_ceil(128);
                [m * along_k, n.div_ceil(128) * along_k.next_multiple_of(4)]
            }
            #[cfg(feature = "block-scales")]
            Scaling::RowsAndColumns => {
                let [m, n, _] = sizes;
                [m, n]
            }
        }
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
        let is_fp8 = is_fp8(self.problem.dtype);
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

fn is_fp8(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::E4m3 | Dtype::E5m2)
}

fn data_type(dtype: Dtype) -> sys::cudaDataType {
    match dtype {
        Dtype::Bf16 => sys::cudaDataType::CUDA_R_16BF,
        Dtype::F16 => sys::cudaDataType::CUDA_R_16F,
        Dtype::F32 => sys::cudaDataType::CUDA_R_32F,
        Dtype::E4m3 => sys::cudaDataType::CUDA_R_8F_E4M3,
        Dtype::E5m2 => sys::cudaDataType::CUDA_R_8F_E5M2,
        Dtype::I8 => sys::cudaDataType::CUDA_R_8I,
        Dtype::I4x2 => sys::cudaDataType::CUDA_R_4I,
        Dtype::I32 => sys::cudaDataType::CUDA_R_32I,
    }
}

/// An algorithm: an opaque value of cuBLASLt's, free to copy.
struct Algorithm(sys::cublasLtMatmulAlgo_t);

struct Layouts {
    b: Layout,
    a: Layout,
    c: Layout,
}

/// Declares an owner of a cuBLASLt object, which destroys it once.
macro_rules! owned {
    ($name:ident, $raw:ty, $destroy:path) => {
        struct $name($raw);

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object was created by this owner's constructor and is not used again. An error would
                // mean that it is gone already.
                let _ = unsafe { $destroy(self.0) };
            }
        }
    };
}

owned!(Handle, sys::cublasLtHandle_t, result::destroy_handle);
owned!(Layout, sys::cublasLtMatrixLayout_t, result::destroy_matrix_layout);
owned!(Operation, sys::cublasLtMatmulDesc_t, result::destroy_matmul_desc);
owned!(Preference, sys::cublasLtMatmulPreference_t, result::destroy_matmul_pref);

impl Layout {
    /// A dense column-major matrix.
    fn new(dtype: sys::cudaDataType, rows: u64, columns: u64) -> Result<Self> {
        Ok(Layout(result::create_matrix_layout(dtype, rows, columns, rows as i64)?))
    }

    /// So many of them, that many elements apart.
    fn of_batch(self, count: u32, stride: u64) -> Result<Self> {
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        if count > 1 {
            self.set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count.cast_signed())?;
            self.set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride.cast_signed())?;
        }
        Ok(self)
    }

    fn set<T>(&self, attribute: sys::cublasLtMatrixLayoutAttribute_t, value: &T) -> Result<()> {
        // SAFETY: the layout is alive, and `value` is read during the call alone.
        unsafe {
            result::set_matrix_layout_attribute(self.0, attribute, (&raw const *value).cast(), size_of::<T>())?;
        }
        Ok(())
    }
}

impl Operation {
    /// fp32 sums, of fp32 factors as tf32, and whole ones of i8; each operand is transposed if it is stored transposed, of which the
    /// first is the row-major `B`.
    fn new(problem: GemmProblem, scaling: Scaling) -> Result<Self> {
        let (compute, scale) = match problem.dtype {
            Dtype::I8 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32I, sys::cudaDataType::CUDA_R_32I),
            Dtype::F32 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, sys::cudaDataType::CUDA_R_32F),
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType::CUDA_R_32F),
        };
        let operation = Operation(result::create_matmul_desc(compute, scale)?);
        let [a, b]: [i32; 2] = [problem.layout.transpose_a().into(), problem.layout.transpose_b().into()];
        operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA, &b)?;
        operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB, &a)?;
        if is_fp8(problem.dtype) && scaling.sums_may_be_short() {
            // As kernels of autokernel do: sums of fewer digits than fp32 are not promoted on the way.
            operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_FAST_ACCUM, &1i8)?;
        }
        #[cfg(feature = "block-scales")]
        if let Some(modes) = scaling.modes() {
            operation.set_scale_modes(modes)?;
        }
        let epilogue = match problem.epilogue {
            Epilogue::Identity => return Ok(operation),
            Epilogue::Relu => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_RELU,
            Epilogue::Bias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS,
            Epilogue::GeluTanhBias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
        Ok(operation)
    }

    /// What the scales of our factors are of, of which cuBLASLt's first one is `B`.
    #[cfg(feature = "block-scales")]
    fn set_scale_modes(&self, [a, b]: [sys::cublasLtMatmulMatrixScale_t; 2]) -> Result<()> {
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &(b as u32))?;
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &(a as u32))
    }

    /// The bias is of the output's type, an element for each row of cuBLASLt's column-major output.
    fn set_bias(&self, address: u64) -> Result<()> {
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address)
    }

    /// The addresses of a number for each of our factors, of which cuBLASLt's first one is `B`; 0 for none.
    fn set_scales(&self, [a, b]: [u64; 2]) -> Result<()> {
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &b)?;
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &a)
    }

    fn set<T>(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: &T) -> Result<()> {
        // SAFETY: the descriptor is alive, and `value` is read during the call alone.
        unsafe {
            result::set_matmul_desc_attribute(self.0, attribute, (&raw const *value).cast(), size_of::<T>())?;
        }
        Ok(())
    }
}

impl Preference {
    fn new() -> Result<Self> {
        let preference = Preference(result::create_matmul_pref()?);
        let attribute = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let bytes = WORKSPACE_BYTES as u64;
        // SAFETY: the preference is alive, and `bytes` is read during the call alone.
        unsafe {
            result::set_matmul_pref_attribute(preference.0, attribute, (&raw const bytes).cast(), size_of::<u64>())?;
        }
        Ok(preference)
    }
}
