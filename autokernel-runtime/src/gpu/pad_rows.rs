//! The kernel that realigns operands; mirrors `pad_rows.cuh`.

use std::mem::offset_of;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, CudaStream, result};

use super::image;
use super::tensor_map::Global;
use crate::{Error, Result};

/// `autokernel::PadRowsArgs`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Args {
    source: u64,
    target: u64,
    source_ld: i64,
    target_ld: i64,
    rows: i64,
    columns: i64,
}

const _: () = assert!(offset_of!(Args, source_ld) == 16 && offset_of!(Args, rows) == 32 && size_of::<Args>() == 48);

const SYMBOL: &str = "autokernel_pad_rows";
const THREADS: u32 = 256;
/// Rows that a block copies at a time: one for each warp.
const ROWS_PER_BLOCK: u64 = 8;
/// Elements of a row that a warp copies at a time.
const SEGMENT: u64 = 256;
/// Blocks that one multiprocessor holds at once.
const BLOCKS_PER_SM: u64 = 8;
/// Elements are 16 bits wide.
const ELEMENT_BYTES: u64 = 2;

/// The realigning kernel of one image.
#[derive(Debug)]
pub(super) struct PadRows {
    function: CudaFunction,
    sm_count: u32,
}

impl PadRows {
    /// The kernel, if the image has it.
    pub fn find(module: &Arc<CudaModule>, sm_count: u32) -> Result<Option<Self>> {
        let function = image::optional_function(module, SYMBOL)?;
        Ok(function.map(|function| Self { function, sm_count }))
    }

    /// Copies the rows of one matrix of 16-bit elements to another of the same size, in stream order.
    ///
    /// # Errors
    /// The driver's own error.
    ///
    /// # Safety
    /// Both matrices lie inside memory that `stream` may use until the kernel has run. The base and the stride of
    /// `target` are multiples of 16 bytes, up to which its rows may be written.
    pub unsafe fn launch(&self, stream: &CudaStream, source: Global, target: Global) -> Result<()> {
        let mut args = Args {
            source: source.address,
            target: target.address,
            source_ld: (source.stride / ELEMENT_BYTES) as i64,
            target_ld: (target.stride / ELEMENT_BYTES) as i64,
            rows: source.rows as i64,
            columns: source.columns as i64,
        };
        let (x, y) = grid(source.rows, source.columns, self.sm_count);
        let mut parameters = [(&raw mut args).cast()];
        // SAFETY: the parameter has the kernel's layout (asserted above) and is copied before the call returns; the
        // matrices are as the caller promises.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (x, y, 1),
                (THREADS, 1, 1),
                0,
                stream.cu_stream(),
                &mut parameters,
            )
        }
        .map_err(Error::cuda("realigning an operand"))
    }
}

/// Enough blocks to fill the GPU once: along the rows first, then along the segments of a row.
fn grid(rows: u64, columns: u64, sm_count: u32) -> (u32, u32) {
    let fill = u64::from(sm_count.max(1)) * BLOCKS_PER_SM;
    let x = rows.div_ceil(ROWS_PER_BLOCK).clamp(1, fill);
    let y = (fill / x).clamp(1, columns.div_ceil(SEGMENT).max(1));
    (x as u32, y as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_fills_the_gpu_and_no_more() {
        assert_eq!(grid(1 << 20, 1 << 20, 132), (1056, 1));
        assert_eq!(grid(8, 1 << 20, 132), (1, 1056));
        assert_eq!(grid(80, 512, 132), (10, 2));
        assert_eq!(grid(1, 1, 0), (1, 1));
    }
}
