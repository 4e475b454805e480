//! What can go wrong in a baseline.

/// The result of a baseline call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a baseline cannot run.
#[derive(Debug)]
pub enum Error {
    /// The cuBLASLt library is not on this machine.
    NoCublasLt,
    /// cuBLASLt has no algorithm for the problem.
    NoAlgorithm,
    /// The matrices are on the CPU, or do not have the sizes of the problem.
    Operands(&'static str),
    /// The elementwise kernel was not compiled.
    NotCompiled,
    /// cuBLASLt refused a call.
    CublasLt(cudarc::cublaslt::result::CublasError),
    /// The CUDA driver refused a call.
    Driver(cudarc::driver::DriverError),
    /// The runtime refused a call.
    Runtime(autokernel_runtime::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NoCublasLt => f.write_str(
                "libcublasLt was not found; install the CUDA toolkit, or add the folder of libcublasLt.so to LD_LIBRARY_PATH",
            ),
            Error::NoAlgorithm => f.write_str("cuBLASLt has no algorithm for this problem; leave it out of the comparison"),
            Error::Operands(what) => write!(f, "{what}; allocate the matrices of the baseline on the GPU, densely"),
            Error::NotCompiled => {
                f.write_str("the elementwise kernel was not compiled; build again with an nvcc (`cargo xtask setup`)")
            }
            Error::CublasLt(error) => write!(f, "cuBLASLt: {error}"),
            Error::Driver(error) => write!(f, "CUDA: {error}"),
            Error::Runtime(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<cudarc::cublaslt::result::CublasError> for Error {
    fn from(error: cudarc::cublaslt::result::CublasError) -> Self {
        Error::CublasLt(error)
    }
}

impl From<cudarc::driver::DriverError> for Error {
    fn from(error: cudarc::driver::DriverError) -> Self {
        Error::Driver(error)
    }
}

impl From<autokernel_runtime::Error> for Error {
    fn from(error: autokernel_runtime::Error) -> Self {
        Error::Runtime(error)
    }
}

/// For closures that a timer of the runtime calls. What cuBLASLt said is kept as the nearest error of the driver.
impl From<Error> for autokernel_runtime::Error {
    fn from(error: Error) -> Self {
        use cudarc::driver::{DriverError, sys::CUresult};
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
