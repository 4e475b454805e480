//! An emulated GPU that a device holds, with what it has parsed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use autokernel_emulator::Module;
use rustc_hash::FxHashMap;

use super::failure::emulated;
use super::gpu::Emulation;
use crate::Result;
use crate::ptx::ptx_text;

/// The emulated GPU behind a [`Device`](crate::Device).
pub(crate) struct Emulator {
    emulation: Emulation,
    /// What was parsed, by the address and length of the embedded text.
    modules: Mutex<FxHashMap<(usize, usize), Arc<Module>>>,
}

impl Emulator {
    /// # Errors
    /// [`Error::NotEmulated`](crate::Error::NotEmulated).
    pub fn new(emulation: Emulation) -> Result<Self> {
        emulation.instructions()?;
        Ok(Self { emulation, modules: Mutex::default() })
    }

    pub const fn emulation(&self) -> &Emulation {
        &self.emulation
    }

    /// The module of an embedded text, parsed at its first use.
    pub fn module(&self, symbol: &str, ptx: &'static [u8]) -> Result<Arc<Module>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (ptx.as_ptr().addr(), ptx.len());
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let module = Arc::new(parse(symbol, ptx)?);
        modules.insert(key, module.clone());
        Ok(module)
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.emulation.fmt(f)
    }
}

/// Reads PTX.
///
/// # Errors
/// [`Error::Emulated`](crate::Error::Emulated).
pub(crate) fn parse(symbol: &str, ptx: &[u8]) -> Result<Module> {
    let text = ptx_text(ptx).map_err(|reason| emulated(symbol, reason))?;
    Module::parse(text).map_err(|error| emulated(symbol, error))
}
