//! The baseline: cuBLASLt, with the fastest of its own choices.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::shape::Shape;
use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;
use cudarc::driver::{CudaSlice, DevicePtr};

use super::error::{Result, WorkerError};
use super::instruments::{Instruments, Rectangle};

/// What cuBLAS may use beside the matrices, in bytes: what NVIDIA recommends for Hopper.
static WORKSPACE_BYTES: usize = 32 << 20;
/// `cublasOperation_t::CUBLAS_OP_T`, which cudarc's bindings of cuBLASLt leave to those of cuBLAS.
static CUBLAS_OP_T: i32 = 1;
/// How many of cuBLASLt's choices are timed.
const MAX_CHOICES: usize = 16;

/// A product that cuBLASLt computes.
///
/// cuBLAS knows column-major matrices, so it is asked for `Cᵀ = Bᵀ Aᵀ`: the same bytes.
pub struct Cublas {
    handle: sys::cublasLtHandle_t,
    product: sys::cublasLtMatmulDesc_t,
    b: sys::cublasLtMatrixLayout_t,
    a: sys::cublasLtMatrixLayout_t,
    c: sys::cublasLtMatrixLayout_t,
    workspace: CudaSlice<u8>,
    choices: Vec<sys::cublasLtMatmulHeuristicResult_t>,
}

fn failed(doing: &'static str) -> impl Fn(CublasError) -> WorkerError {
    move |error| WorkerError::Cublas(format!("{doing}: {error}"))
}

impl Cublas {
    /// Asks cuBLASLt how it would multiply matrices without gaps.
    ///
    /// # Errors
    /// [`WorkerError::Cublas`] if the library is not there or does not support the types.
    pub fn new(tools: &Instruments, problem: &Problem, shape: Shape) -> Result<Self> {
        // SAFETY: opening cuBLASLt runs only its own initialisers.
        if !unsafe { sys::is_culib_present() } {
            let remedy = "libcublasLt was not found; install the CUDA toolkit or put it on LD_LIBRARY_PATH";
            return Err(WorkerError::Cublas(remedy.to_owned()));
        }
        tools.stream().context().bind_to_thread().map_err(WorkerError::driver("binding the CUDA context"))?;
        let (m, n, k) = (u64::from(shape.m), u64::from(shape.n), u64::from(shape.k));
        let (input, output) = (data_type(problem.input), data_type(problem.output));
        let transpose_b = problem.layout.transpose_b();
        let layout = |dtype, rows, columns| {
            result::create_matrix_layout(dtype, rows, columns, rows as i64).map_err(failed("describing a matrix"))
        };
        let workspace = tools.stream().alloc_zeros::<u8>(WORKSPACE_BYTES);
        let mut cublas = Cublas {
            handle: result::create_handle().map_err(failed("starting cuBLASLt"))?,
            product: result::create_matmul_desc(
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cudaDataType_t::CUDA_R_32F,
            )
            .map_err(failed("describing the product"))?,
            b: if transpose_b { layout(input, k, n)? } else { layout(input, n, k)? },
            a: layout(input, k, m)?,
            c: layout(output, n, m)?,
            workspace: workspace.map_err(WorkerError::driver("allocating cuBLAS's workspace"))?,
            choices: Vec::new(),
        };
        if transpose_b {
            // SAFETY: the description is live, and the attribute is one `cublasOperation_t`, an int.
            unsafe {
                result::set_matmul_desc_attribute(
                    cublas.product,
                    sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA,
                    (&raw const CUBLAS_OP_T).cast(),
                    size_of::<i32>(),
                )
            }
            .map_err(failed("describing the product"))?;
        }
        cublas.choices = cublas.ask()?;
        Ok(cublas)
    }

    /// How many choices there are to time.
    pub fn choices(&self) -> usize {
        self.choices.len()
    }

    /// Launches choice `choice` on matrices without gaps.
    pub fn launch(&self, tools: &Instruments, choice: usize, a: Rectangle, b: Rectangle, c: Rectangle) -> Result<()> {
        let algorithm = &self.choices[choice].algo;
        let (one, zero) = (1.0f32, 0.0f32);
        let workspace = self.workspace.device_ptr(tools.stream()).0;
        let pointer = |address: u64| address as *const c_void;
        // SAFETY: the descriptions are live and describe these matrices, which are live and without gaps; the
        // workspace is as large as it is said to be.
        unsafe {
            result::matmul(
                self.handle,
                self.product,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                pointer(b.address),
                self.b,
                pointer(a.address),
                self.a,
                pointer(c.address),
                self.c,
                c.address as *mut c_void,
                self.c,
                algorithm,
                workspace as *mut c_void,
                WORKSPACE_BYTES,
                tools.stream().cu_stream().cast(),
            )
        }
        .map_err(failed("launching the product"))
    }

    fn ask(&self) -> Result<Vec<sys::cublasLtMatmulHeuristicResult_t>> {
        let doing = failed("asking for algorithms");
        let preference = result::create_matmul_pref().map_err(&doing)?;
        let mut found = [const { MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::uninit() }; MAX_CHOICES];
        let mut count = 0;
        // SAFETY: all descriptions are live; the attribute is one `usize`; `found` has room for `MAX_CHOICES`.
        let asked = unsafe {
            result::set_matmul_pref_attribute(
                preference,
                sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const WORKSPACE_BYTES).cast(),
                size_of::<usize>(),
            )
            .and_then(|()| {
                sys::cublasLtMatmulAlgoGetHeuristic(
                    self.handle,
                    self.product,
                    self.b,
                    self.a,
                    self.c,
                    self.c,
                    preference,
                    MAX_CHOICES as i32,
                    found.as_mut_ptr().cast(),
                    &mut count,
                )
                .result()
            })
        };
        // SAFETY: created above and not used after.
        unsafe { result::destroy_matmul_pref(preference) }.map_err(&doing)?;
        asked.map_err(&doing)?;
        let count = usize::try_from(count).unwrap_or(0).min(MAX_CHOICES);
        // SAFETY: cuBLASLt has written the first `count`.
        let found = found[..count].iter().map(|choice| unsafe { choice.assume_init_read() });
        let usable: Vec<_> = found.filter(|choice| choice.state.result().is_ok()).collect();
        if usable.is_empty() {
            return Err(WorkerError::Cublas("it has no algorithm for this product".to_owned()));
        }
        Ok(usable)
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: each was created by `new` and is not used after. An error leaks a few bytes, nothing else.
        unsafe {
            for layout in [self.a, self.b, self.c] {
                let _ = result::destroy_matrix_layout(layout);
            }
            let _ = result::destroy_matmul_desc(self.product);
            let _ = result::destroy_handle(self.handle);
        }
    }
}

fn data_type(dtype: Dtype) -> sys::cudaDataType_t {
    match dtype {
        Dtype::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
        Dtype::F16 => sys::cudaDataType_t::CUDA_R_16F,
        Dtype::F32 => sys::cudaDataType_t::CUDA_R_32F,
    }
}
