//! What is done before a schedule is measured.

/// What is done before a schedule is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Check {
    /// Its kernel runs on an emulated GPU.
    Emulate,
}
