//! What stops the worker from serving a request.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::outcome::Failure;

/// Why a request cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The kernel computes something else, or writes where it must not.
    #[error("{0}")]
    WrongResult(String),
    /// What the runtime reports.
    #[error(transparent)]
    Runtime(#[from] autokernel_runtime::Error),
    /// What the driver reports.
    #[error("{doing}: the CUDA driver reports {:?}", .source.0)]
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The driver's error.
        source: DriverError,
    },
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// cuBLASLt is missing or refuses the problem.
    #[error("{0}")]
    Cublas(String),
    /// A request that cannot be served now.
    #[error("{0}")]
    Request(String),
}

impl WorkerError {
    /// Wraps a driver error with what was being done.
    pub fn driver(doing: &'static str) -> impl Fn(DriverError) -> Self {
        move |source| Self::Driver { doing, source }
    }

    /// The same error; a wrong result says on which inputs it came about, so that it can be seen again.
    pub fn on_inputs(self, seed: u64) -> Self {
        match self {
            WorkerError::WrongResult(detail) => WorkerError::WrongResult(format!("{detail}; inputs of seed {seed}")),
            other => other,
        }
    }

    fn driver_error(&self) -> Option<&DriverError> {
        match self {
            WorkerError::Driver { source, .. } => Some(source),
            WorkerError::Runtime(autokernel_runtime::Error::Cuda { source, .. }) => Some(source),
            _ => None,
        }
    }

    fn is_out_of_memory(&self) -> bool {
        matches!(self, WorkerError::Runtime(autokernel_runtime::Error::OutOfMemory { .. }))
            || self.driver_error().is_some_and(|error| error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Whether the CUDA context may be lost. After a fault of a kernel every later call fails too, so all driver
    /// errors but a refused allocation count.
    pub fn is_fatal(&self) -> bool {
        self.driver_error().is_some() && !self.is_out_of_memory()
    }

    /// The failure of the candidate that was tried.
    pub fn failure(&self) -> Failure {
        let detail = self.to_string();
        match self {
            WorkerError::WrongResult(_) => Failure::WrongResult { detail },
            _ if self.is_out_of_memory() => Failure::OutOfMemory { detail },
            _ => Failure::Crash { detail },
        }
    }
}

impl From<autokernel_baseline::Error> for WorkerError {
    fn from(error: autokernel_baseline::Error) -> Self {
        match error {
            autokernel_baseline::Error::Driver(source) => WorkerError::Driver { doing: "running cuBLASLt", source },
            autokernel_baseline::Error::Runtime(error) => WorkerError::Runtime(error),
            other => WorkerError::Cublas(other.to_string()),
        }
    }
}

/// What the worker's functions return.
pub type Result<T, E = WorkerError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_a_kernel_loses_the_context_and_a_refused_allocation_does_not() {
        let error = |code| WorkerError::driver("waiting")(DriverError(code));
        assert!(error(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).is_fatal());
        assert!(!error(CUresult::CUDA_ERROR_OUT_OF_MEMORY).is_fatal());
        assert_eq!(error(CUresult::CUDA_ERROR_OUT_OF_MEMORY).failure().kind(), "out_of_memory");
        assert!(!WorkerError::WrongResult("c[0, 0]".into()).is_fatal());
    }
}
