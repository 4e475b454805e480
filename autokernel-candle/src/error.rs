//! Why a tensor is not what a kernel takes.

use candle_core::DType;

/// Why a tensor is not what a kernel takes, each with its remedy; or the kernel's own error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Elements of another type.
    #[error("the tensor holds {found:?}, and the kernel takes {expected}. Convert it with `to_dtype`")]
    Type {
        /// What the tensor holds.
        found: DType,
        /// What is taken.
        expected: String,
    },

    /// Another number of axes.
    #[error("a tensor of shape {shape:?} is no {expected}. Reshape it")]
    Shape {
        /// Its shape.
        shape: Vec<usize>,
        /// What was asked for, in words.
        expected: &'static str,
    },

    /// Elements that do not lie as rows do.
    #[error(
        "the elements of a tensor of shape {shape:?} and strides {strides:?} do not lie as {expected} do: {reason}. Call `contiguous` on it \
         first, which copies it"
    )]
    Layout {
        /// Its shape.
        shape: Vec<usize>,
        /// Elements from one index to the next along each axis.
        strides: Vec<usize>,
        /// What was asked for, in words.
        expected: &'static str,
        /// What is in the way.
        reason: &'static str,
    },

    /// A device that kernels do not run on.
    #[error(
        "the tensor is on a device that kernels do not run on. Move it to the CPU, or to a CUDA device with the feature `cuda`"
    )]
    Device,

    /// A tensor that is being written over was to be opened once more.
    #[error(
        "the tensor is being updated, and candle holds its memory locked. Let the kernel read it where it writes it, as a `&mut Matrix`, or \
         read a copy that was made before"
    )]
    Updated,

    /// The kernel, or a view of the tensor.
    #[error(transparent)]
    Kernel(#[from] autokernel::Error),

    /// candle, which allocates what is computed.
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
}

/// What may be an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Candle(error) => error,
            other => candle_core::Error::wrap(other),
        }
    }
}
