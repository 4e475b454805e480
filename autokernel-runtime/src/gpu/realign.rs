//! Aligned copies of operands that a kernel cannot address.
//!
//! TMA takes bases and row strides that are multiples of 16 bytes, and the `sm80` family takes such bases. A view that
//! begins or steps elsewhere is legal: its rows are copied to scratch memory, in stream order, by a kernel of the same
//! image where it has one and by the driver otherwise. That is one pass over the operand.
//!
//! The `sm80` family can step anywhere, but slowly: on an H200 the copies make 512x511x511 3.1 times as fast, and even
//! 16x8191x8191, which reads each weight once. At 64x63x63 they cost 1.2 µs; even strides were not measured.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUmemorytype};

use super::pad_rows::{PadRows, RowCopy};
use super::scratch::{Pool, Scratch};
use super::tensor_map::{Global, LINE, TMA_ALIGNMENT};
use crate::{Error, Result};

/// Both input types are 16 bits wide.
const INPUT_BYTES: usize = 2;

/// Rows of at least this many bytes step by whole lines in scratch memory, at a cost of an eighth more of it at most.
const LINED_ROW: u64 = 1024;

/// Both operands as a kernel can address them, with the scratch memory of those that were copied.
#[derive(Debug)]
pub(super) struct Operands {
    pub a: Global,
    pub b: Global,
    /// Freed in stream order.
    _scratch: Option<Scratch>,
}

impl Operands {
    /// Operands that are used where they are.
    pub const fn in_place([a, b]: [Global; 2]) -> Self {
        Self { a, b, _scratch: None }
    }

    /// The operands, with aligned copies in place of those that are not aligned: in one allocation, made by one launch.
    ///
    /// # Safety
    /// Both matrices lie inside memory that `stream` may read until the copies are made.
    pub unsafe fn aligned(
        pool: &Pool,
        stream: &Arc<CudaStream>,
        pad_rows: Option<&PadRows>,
        [a, b]: [Global; 2],
    ) -> Result<Self> {
        if a.is_aligned() && b.is_aligned() {
            return Ok(Self::in_place([a, b]));
        }
        let bytes = |matrix: Global| if matrix.is_aligned() { 0 } else { scratch_bytes(&matrix, INPUT_BYTES) };
        let scratch = Scratch::new(pool, stream, bytes(a).saturating_add(bytes(b)))?;
        let target = |matrix: Global, offset| match matrix.is_aligned() {
            true => matrix,
            false => in_scratch(matrix, scratch.address + offset, INPUT_BYTES),
        };
        let operands = Self { a: target(a, 0), b: target(b, bytes(a)), _scratch: Some(scratch) };
        let copies = [RowCopy { source: a, target: operands.a }, RowCopy { source: b, target: operands.b }];
        let mut copies = copies.into_iter().filter(|copy| !copy.source.is_aligned());
        // SAFETY: the sources are the caller's promise. The targets are scratch memory of the same sizes, with rows
        // padded to multiples of 16 bytes and the one behind the other; it is freed on this stream, so after its use.
        unsafe {
            match (pad_rows, copies.next()) {
                (Some(pad_rows), Some(first)) => pad_rows.launch(stream, &first, copies.next().as_ref())?,
                (_, first) => {
                    for RowCopy { source, target } in first.into_iter().chain(copies) {
                        copy_rows(stream, source, target, INPUT_BYTES)?;
                    }
                }
            }
        }
        Ok(operands)
    }
}

/// A matrix's place in scratch memory, whose content is not defined.
#[derive(Debug)]
pub(super) struct Standin {
    pub matrix: Global,
    /// Freed in stream order.
    _scratch: Scratch,
}

impl Standin {
    /// Aligned scratch memory for a matrix of that size.
    pub fn for_output(pool: &Pool, stream: &Arc<CudaStream>, matrix: Global, element_bytes: usize) -> Result<Self> {
        let scratch = Scratch::new(pool, stream, scratch_bytes(&matrix, element_bytes))?;
        Ok(Self { matrix: in_scratch(matrix, scratch.address, element_bytes), _scratch: scratch })
    }

    /// Copies the result to where it belongs.
    ///
    /// # Safety
    /// `stream` is that of the scratch memory. `target` has the size that the scratch memory was made for, and lies
    /// inside memory that the stream may write until the copy is made.
    pub unsafe fn write_back(&self, stream: &CudaStream, target: Global, element_bytes: usize) -> Result<()> {
        // SAFETY: the target is the caller's promise; the scratch memory lives, and is freed on this stream.
        unsafe { copy_rows(stream, self.matrix, target, element_bytes) }
    }
}

/// Scratch memory for a matrix, in bytes: whole lines, so that another one may follow.
fn scratch_bytes(matrix: &Global, element_bytes: usize) -> u64 {
    let stride = stride_for(matrix.columns * element_bytes as u64);
    stride.saturating_mul(matrix.rows).max(1).checked_next_multiple_of(LINE).unwrap_or(u64::MAX)
}

/// A matrix of that size at an address of scratch memory.
fn in_scratch(matrix: Global, address: u64, element_bytes: usize) -> Global {
    Global { address, stride: stride_for(matrix.columns * element_bytes as u64), ..matrix }
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
    fn a_copy_in_scratch_memory_ends_at_a_line_where_the_next_one_may_begin() {
        assert_eq!(scratch_bytes(&operand(3, 9), INPUT_BYTES), 128);
        assert_eq!(scratch_bytes(&operand(4099, 4101), INPUT_BYTES), 4099 * 8320);
        assert_eq!(scratch_bytes(&operand(0, 0), INPUT_BYTES), 128, "nothing is allocated as something");
        assert_eq!(scratch_bytes(&operand(u64::MAX, 9), INPUT_BYTES), u64::MAX);
    }
}
