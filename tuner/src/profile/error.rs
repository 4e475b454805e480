//! Why there is no profile.

use autokernel_codegen::config::ConfigError;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::Layout;
use autokernel_core::Extents;

use crate::replay::RecordingError;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The GPU is not known.
    #[error("`{name}` is no GPU that is known here; known are {known}")]
    UnknownGpu {
        /// What was asked for.
        name: String,
        /// What could be.
        known: String,
    },
    /// The schedule cannot be read.
    #[error("--schedule: {0}; write tuned, default, or a schedule as in best_config.json")]
    Schedule(String),
    /// The output type does not go with the input type.
    #[error("{input} inputs give {known}, not {output}; leave --output out, or write one of these")]
    Output {
        /// The type of A and B.
        input: Dtype,
        /// The type that was asked for.
        output: Dtype,
        /// Those that there are.
        known: String,
    },
    /// The layout does not go with the input type.
    #[error("inputs of {input} lie as {known}, not as {layout}; write --layout {known}")]
    Layout {
        /// The type of A and B.
        input: Dtype,
        /// The layout that was asked for.
        layout: Layout,
        /// Those that there are.
        known: String,
    },
    /// The shape has other dimensions than a product.
    #[error("--shape {0}: a profile is of a matrix product; write its extents as MxNxK")]
    Shape(Extents),
    /// The kernel cannot be emulated, or does something wrong there.
    #[error("--emulate: {0}; leave --emulate out for what needs neither nvcc nor the emulator")]
    Emulate(String),
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A recorded space cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}
