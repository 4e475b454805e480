//! The options that say what somebody wants to be fast.

use std::path::PathBuf;

/// Whose kernels, and at which shapes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "What to tune")]
pub struct DemandArgs {
    /// The kernels that this crate declares, at the shapes of --shapes-from, of --shape, or of their known dimensions;
    /// the config is then its own best_config.json.
    #[arg(long = "crate", value_name = "DIR")]
    pub package: Option<PathBuf>,
    /// The products that a program computed with AUTOKERNEL_RECORD=FILE in its environment, those first that took the
    /// most operations.
    #[arg(long, value_name = "FILE")]
    pub shapes_from: Option<PathBuf>,
    /// Only the first N of --shapes-from.
    #[arg(long, value_name = "N", requires = "shapes_from", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// With --crate: these rows of A, in place of those recorded; several with commas [default without --shapes-from:
    /// 16,128,1024,4096].
    #[arg(long, value_name = "M", requires = "package", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub m: Vec<u32>,
}
