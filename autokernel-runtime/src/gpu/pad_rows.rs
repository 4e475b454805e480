//! The kernel that realigns operands, of one image.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, CudaStream};

use super::image;
use super::submit::{self, Blocks};
use crate::Result;
use crate::launch::pad_rows::{Args, SYMBOL, THREADS, UnitCopy};

/// The realigning kernel of one image.
#[derive(Debug)]
pub(super) struct PadRows {
    function: CudaFunction,
    sm_count: u32,
    overlaps_previous: bool,
}

impl PadRows {
    /// The kernel, if the image has it. `overlaps_previous`: compiled for an arch on which it waits for earlier grids.
    pub fn find(module: &Arc<CudaModule>, sm_count: u32, overlaps_previous: bool) -> Result<Option<Self>> {
        let function = image::optional_function(module, SYMBOL)?;
        Ok(function.map(|function| Self { function, sm_count, overlaps_previous }))
    }

    /// Copies the rows of one matrix, or of two of the same units, to others of the same sizes, in stream order.
    ///
    /// # Errors
    /// The driver's own error.
    ///
    /// # Safety
    /// All matrices lie inside memory that `stream` may use until the kernel has run, and no target overlaps another
    /// matrix. Bases and strides of targets are multiples of 16 bytes, up to which their rows may be written.
    pub unsafe fn launch(&self, stream: &CudaStream, first: &UnitCopy, second: Option<&UnitCopy>) -> Result<()> {
        let (mut args, [x, y, z]) = Args::new(first, second, self.sm_count);
        let grid = Blocks {
            along: (x, y, z),
            cluster: None,
            threads: THREADS,
            shared_bytes: 0,
            overlaps_previous: self.overlaps_previous,
        };
        // SAFETY: the parameter has the kernel's layout, which its definition asserts; the matrices are as the caller
        // promises.
        unsafe { submit::launch(&self.function, stream, grid, (&raw mut args).cast()) }
    }
}
