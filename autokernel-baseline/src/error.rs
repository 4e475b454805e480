//! What can go wrong in a baseline.

use cudarc::cublaslt::result::CublasError;
use cudarc::driver::{DriverError, sys::CUresult};

/// The result of a baseline call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a baseline cannot run. Every message ends with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cuBLASLt library is not on this machine.
    #[error(
        "libcublasLt was not found; install the CUDA toolkit, or add the folder of libcublasLt.so to LD_LIBRARY_PATH"
    )]
    NoCublasLt,
    /// cuBLASLt has no algorithm for the problem.
    #[error("cuBLASLt has no algorithm for this problem; leave it out of the comparison")]
    NoAlgorithm,
    /// The matrices are on the CPU or on another GPU, or do not have the sizes of the problem.
    #[error("{0}; allocate the matrices of the baseline on its GPU, densely")]
    Operands(&'static str),
    /// The elementwise kernel was not compiled.
    #[error("the elementwise kernel was not compiled; build again with an nvcc (`cargo xtask setup`)")]
    NotCompiled,
    /// cuBLASLt refused a call.
    #[error("cuBLASLt: {0}; look the status up in NVIDIA's manual of cuBLAS under cublasStatus_t")]
    CublasLt(#[from] CublasError),
    /// The CUDA driver refused a call.
    #[error("CUDA: {0}; look the code up in NVIDIA's driver API manual under CUresult")]
    Driver(#[from] DriverError),
    /// The runtime refused a call.
    #[error(transparent)]
    Runtime(#[from] autokernel_runtime::Error),
}

/// For closures that a timer of the runtime calls. What cuBLASLt said is kept as the nearest error of the driver.
impl From<Error> for autokernel_runtime::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Runtime(error) => error,
            Error::Driver(source) => autokernel_runtime::Error::Cuda { doing: "running a baseline", source },
            _ => {
                let source = DriverError(CUresult::CUDA_ERROR_NOT_SUPPORTED);
                autokernel_runtime::Error::Cuda { doing: "running cuBLASLt", source }
            }
        }
    }
}
