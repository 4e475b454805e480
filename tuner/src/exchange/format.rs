//! The formats of other tuners.

/// A format of other tuners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The results format of Kernel Tuner and the autotuning community, version 1.0.0.
    T4,
    /// A cache file of Kernel Tuner, version 1.1.0.
    Cache,
}
