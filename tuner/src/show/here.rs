//! What entries are compared with.

use std::path::Path;

use autokernel_codegen::nvcc::Nvcc;

use crate::environment::today;

/// What entries are compared with.
#[derive(Clone, Debug)]
pub struct Here {
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
        Here { nvcc, today: today() }
    }
}
