//! Aligned copies of operands that a kernel cannot address.
//!
//! TMA takes bases and row strides that are multiples of 16 bytes, and the `sm80` family takes such bases. A view that
//! begins or steps elsewhere is legal: its rows are copied to scratch memory, in stream order, by a kernel of the same
//! image where it has one and by the driver otherwise. That is one pass over the operand. The `sm80` family can step
//! anywhere, but slowly, so for it a step is realigned only where that pays.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUmemorytype};

use super::pad_rows::PadRows;
use super::scratch::{Pool, Scratch};
use super::tensor_map::{Global, TMA_ALIGNMENT};
use crate::{Error, Result};

/// Both input types are 16 bits wide.
const INPUT_BYTES: usize = 2;

/// A line of the L2 cache, in bytes: a row of a TMA load that straddles two costs two requests.
const LINE: u64 = 128;
/// Rows of at least this many bytes step by whole lines in scratch memory, at a cost of an eighth more of it at most.
const LINED_ROW: u64 = 1024;

/// Elements that the blocks of an `sm80` launch load in all from one operand, from which on a copy of it pays.
///
/// An estimate, not a measured threshold. 100 TFLOP/s with narrow loads, at 128 operations an element, are 0.8·10¹²
/// elements a second; if wide loads cost nothing beside the product, each narrow one costs about 10⁻¹² s. Against that
/// stand two more calls of the driver, taken as 4 µs, and one pass over memory.
const LOADS_THAT_PAY: u64 = 4 << 20;
/// Loads of each element, at least.
const PASSES_THAT_PAY: u64 = 4;

/// Whether it pays for the `sm80` family to realign the rows of an operand that `passes` rows or columns of tiles load.
pub(super) fn pays(matrix: &Global, passes: u32) -> bool {
    let passes = u64::from(passes);
    let loads = matrix.rows.saturating_mul(matrix.columns).saturating_mul(passes);
    passes >= PASSES_THAT_PAY && loads >= LOADS_THAT_PAY
}

/// An operand as a kernel can address it, with the scratch memory it may lie in.
#[derive(Debug)]
pub(super) struct Aligned {
    pub matrix: Global,
    scratch: Option<Scratch>,
}

impl Aligned {
    /// An operand that is used where it is.
    pub const fn in_place(matrix: Global) -> Self {
        Self { matrix, scratch: None }
    }

    /// Aligned scratch memory for a matrix of that size, with no defined content.
    pub fn scratch_for(pool: &Pool, stream: &Arc<CudaStream>, matrix: Global, element_bytes: usize) -> Result<Self> {
        let stride = stride_for(matrix.columns * element_bytes as u64);
        let scratch = Scratch::new(pool, stream, stride.saturating_mul(matrix.rows).max(TMA_ALIGNMENT))?;
        let matrix = Global { address: scratch.address, stride, ..matrix };
        Ok(Self { matrix, scratch: Some(scratch) })
    }

    /// An aligned copy of an input matrix.
    ///
    /// # Safety
    /// The matrix lies inside memory that `stream` may read until the copy is made.
    pub unsafe fn copy_of(
        pool: &Pool,
        stream: &Arc<CudaStream>,
        pad_rows: Option<&PadRows>,
        matrix: Global,
    ) -> Result<Self> {
        let copy = Self::scratch_for(pool, stream, matrix, INPUT_BYTES)?;
        // SAFETY: the source is the caller's promise. The target is scratch memory of the same size, with rows padded
        // to multiples of 16 bytes; it is freed on this stream, so after its use.
        unsafe {
            match pad_rows {
                Some(pad_rows) => pad_rows.launch(stream, matrix, copy.matrix)?,
                None => copy_rows(stream, matrix, copy.matrix, INPUT_BYTES)?,
            }
        }
        Ok(copy)
    }

    /// Copies the result from scratch memory to where it belongs; nothing to do if it is there already.
    ///
    /// # Safety
    /// `stream` is that of the scratch memory. `target` has the size that the scratch memory was made for, and lies
    /// inside memory that the stream may write until the copy is made.
    pub unsafe fn write_back(&self, stream: &CudaStream, target: Global, element_bytes: usize) -> Result<()> {
        if self.scratch.is_none() {
            return Ok(());
        }
        // SAFETY: the target is the caller's promise; the scratch memory lives, and is freed on this stream.
        unsafe { copy_rows(stream, self.matrix, target, element_bytes) }
    }
}

/// How far apart rows of that many bytes begin in scratch memory, in bytes.
const fn stride_for(row_bytes: u64) -> u64 {
    row_bytes.next_multiple_of(if row_bytes < LINED_ROW { TMA_ALIGNMENT } else { LINE })
}

/// Copies the rows of one matrix to another of the same size.
///
/// # Safety
/// Both lie inside memory that `stream` may use until the copy is made.
unsafe fn copy_rows(stream: &CudaStream, source: Global, target: Global, element_bytes: usize) -> Result<()> {
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: source.address,
        srcArray: ptr::null_mut(),
        srcPitch: source.stride as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: target.address,
        dstArray: ptr::null_mut(),
        dstPitch: target.stride as usize,
        WidthInBytes: source.columns as usize * element_bytes,
        Height: source.rows as usize,
    };
    // SAFETY: the call copies its description; the memory is the caller's promise.
    unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()) }.result().map_err(Error::cuda("realigning an operand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(rows: u64, columns: u64) -> Global {
        Global { address: 0, columns, rows, stride: columns.saturating_mul(2) }
    }

    #[test]
    fn copies_of_long_rows_begin_at_lines_and_those_of_short_rows_at_16_bytes() {
        assert_eq!([2 * 4101, 2 * 4095, 1024].map(stride_for), [8320, 8192, 1024]);
        assert_eq!([2, 2 * 9, 1022].map(stride_for), [16, 32, 1024]);
    }

    #[test]
    fn a_large_operand_that_many_tiles_load_is_worth_a_copy() {
        assert!(pays(&operand(1023, 1023), 8));
        assert!(pays(&operand(8191, 8191), 64));
    }

    #[test]
    fn small_operands_and_those_that_few_tiles_load_are_not() {
        assert!(!pays(&operand(129, 129), 2), "two more calls cost more than the whole product");
        assert!(!pays(&operand(511, 511), 4));
        assert!(!pays(&operand(8191, 8191), 1), "decoding reads each weight once");
        assert!(!pays(&operand(u64::MAX, u64::MAX), 0));
    }
}
