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

use super::pad_rows::{Copy, PadRows};
use super::scratch::{Pool, Scratch};
use super::tensor_map::{Global, LINE, TMA_ALIGNMENT};
use crate::{Error, Result};

/// Both input types are 16 bits wide.
const INPUT_BYTES: usize = 2;

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
    pub const fn in_place(a: Global, b: Global) -> Self {
        Self { a, b, _scratch: None }
    }

    /// Aligned copies of the operands for which `copied` says so, in one allocation, made by one launch.
    ///
    /// # Safety
    /// Both matrices lie inside memory that `stream` may read until the copies are made.
    pub unsafe fn with_copies(
        pool: &Pool,
        stream: &Arc<CudaStream>,
        pad_rows: Option<&PadRows>,
        [a, b]: [Global; 2],
        copied: [bool; 2],
    ) -> Result<Self> {
        if copied == [false, false] {
            return Ok(Self::in_place(a, b));
        }
        let bytes = |matrix: &Global, copied| if copied { scratch_bytes(matrix, INPUT_BYTES) } else { 0 };
        let [a_bytes, b_bytes] = [bytes(&a, copied[0]), bytes(&b, copied[1])];
        let scratch = Scratch::new(pool, stream, a_bytes.saturating_add(b_bytes))?;
        let target = |matrix: Global, copied, offset| match copied {
            true => in_scratch(matrix, scratch.address + offset, INPUT_BYTES),
            false => matrix,
        };
        let operands = Self { a: target(a, copied[0], 0), b: target(b, copied[1], a_bytes), _scratch: Some(scratch) };
        let copies = [Copy { source: a, target: operands.a }, Copy { source: b, target: operands.b }];
        let mut copies = copies.into_iter().zip(copied).filter_map(|(copy, copied)| copied.then_some(copy));
        // SAFETY: the sources are the caller's promise. The targets are scratch memory of the same sizes, with rows
        // padded to multiples of 16 bytes and the one behind the other; it is freed on this stream, so after its use.
        unsafe {
            match (pad_rows, copies.next()) {
                (Some(pad_rows), Some(first)) => pad_rows.launch(stream, &first, copies.next().as_ref())?,
                (_, first) => {
                    for Copy { source, target } in first.into_iter().chain(copies) {
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
