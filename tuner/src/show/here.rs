//! What entries are compared with.

use std::path::Path;

use autokernel_codegen::nvcc::Nvcc;

use crate::environment::{kernel_sources, today};

/// What entries are compared with.
#[derive(Clone, Debug)]
pub struct Here {
    /// The hash of this build's CUDA files.
    pub sources: String,
    /// The version of nvcc here, if there is one.
    pub nvcc: Option<String>,
    /// The day, `YYYY-MM-DD`.
    pub today: String,
}

impl Here {
    /// This build on this machine, today.
    pub fn now() -> Self {
        // The version of nvcc is remembered in a cache; a folder that cannot be written only costs a call of nvcc.
        let nvcc = Nvcc::locate(Path::new("."), &std::env::temp_dir()).ok().map(|nvcc| nvcc.version);
        Here { sources: kernel_sources(), nvcc, today: today() }
    }
}
