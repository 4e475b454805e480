//! What cuBLASLt is told of a product: owners of its objects.

use autokernel_runtime::Dtype;
use cudarc::cublaslt::{result, sys};

use super::problem::{Epilogue, GemmProblem};
use super::scaling::Scaling;
use crate::Result;

/// Scratch memory offered to the algorithms, in bytes.
pub const WORKSPACE_BYTES: usize = 128 << 20;

/// The type as cuBLASLt calls it.
pub fn data_type(dtype: Dtype) -> sys::cudaDataType {
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

/// Declares an owner of a cuBLASLt object, which destroys it once.
macro_rules! owned {
    ($name:ident, $raw:ty, $destroy:path) => {
        pub struct $name(pub $raw);

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

impl Handle {
    pub fn new() -> Result<Self> {
        Ok(Handle(result::create_handle()?))
    }
}

impl Layout {
    /// A dense column-major matrix.
    pub fn new(dtype: sys::cudaDataType, rows: u64, columns: u64) -> Result<Self> {
        Ok(Layout(result::create_matrix_layout(dtype, rows, columns, rows as i64)?))
    }

    /// So many of them, that many elements apart.
    pub fn of_batch(self, count: u32, stride: u64) -> Result<Self> {
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
    pub fn new(problem: GemmProblem, scaling: Scaling) -> Result<Self> {
        let (compute, scale) = match problem.dtype {
            Dtype::I8 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32I, sys::cudaDataType::CUDA_R_32I),
            Dtype::F32 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, sys::cudaDataType::CUDA_R_32F),
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType::CUDA_R_32F),
        };
        let operation = Operation(result::create_matmul_desc(compute, scale)?);
        let [a, b]: [i32; 2] = [problem.layout.transpose_a().into(), problem.layout.transpose_b().into()];
        operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA, &b)?;
        operation.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB, &a)?;
        if problem.is_fp8() && scaling.sums_may_be_short() {
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
    pub fn set_bias(&self, address: u64) -> Result<()> {
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address)
    }

    /// The addresses of a number for each of our factors, of which cuBLASLt's first one is `B`; 0 for none.
    pub fn set_scales(&self, [a, b]: [u64; 2]) -> Result<()> {
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
    pub fn new() -> Result<Self> {
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
