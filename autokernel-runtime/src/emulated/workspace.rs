//! The workspace of one launch on an emulated GPU.

use autokernel_emulator::{DevicePointer, Gpu};

use crate::emulation::emulated;
use crate::launch::workspace::{Addresses, Needs};
use crate::{Error, Result};

/// The memory that a launch needs beside its operands.
pub(super) struct Workspace {
    needs: Needs,
    zeros: DevicePointer,
    anything: DevicePointer,
}

impl Workspace {
    pub fn new(gpu: &mut Gpu, symbol: &str, needs: Needs) -> Result<Self> {
        let out_of_memory = |error| emulated(symbol, error);
        let anything = gpu.alloc_named("the workspace", needs.anything).map_err(out_of_memory)?;
        let zeros = gpu.alloc_named("the zeros of the workspace", needs.zeros).map_err(out_of_memory)?;
        gpu.write(zeros, &vec![0; needs.zeros as usize]).map_err(out_of_memory)?;
        Ok(Self { needs, zeros, anything })
    }

    pub fn addresses(&self) -> Addresses {
        self.needs.addresses(self.zeros.0, self.anything.0)
    }

    /// Checks that zeros were left where zeros were found: on a GPU the next launch finds them there.
    ///
    /// # Errors
    /// [`Error::Emulated`].
    pub fn check(&self, gpu: &mut Gpu, symbol: &str) -> Result<()> {
        let left = gpu.read(self.zeros, self.needs.zeros).map_err(|error| emulated(symbol, error))?;
        let strange = left.iter().position(|byte| *byte != 0);
        let told = |at| format!("byte {at} of the zeros of the workspace is none when it ends; clear it again");
        strange.map_or(Ok(()), |at| Err::<(), Error>(emulated(symbol, told(at))))
    }
}
