//! Stand-ins for operands that a kernel cannot address where they are.
//!
//! A view may begin and step anywhere. Where a plan asks for more, an input's rows are copied to scratch memory, in
//! stream order, by a kernel of the same image where it has one and by the driver otherwise: one pass over the operand.
//! An output is computed in scratch memory and copied from there.
//!
//! Copies pay even where a kernel could step by any stride, but slowly: on an H200 they make a 512x511x511 product of
//! the `sm80` family 3.1 times as fast, and even 16x8191x8191, which reads each weight once. At 64x63x63 they cost
//! 1.2 µs; even strides were not measured.

use std::ptr;
use std::sync::Arc;

use autokernel_core::Alignment;
use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUmemorytype};

use super::MAX_OPERANDS;
use super::pad_rows::{PadRows, RowCopy};
use super::region::{LINE, Region, TMA_ALIGNMENT};
use super::scratch::{Pool, Scratch};
use crate::{Dtype, Error, Operand, Result, Role, Signature};

/// Rows of at least this many bytes step by whole lines in scratch memory, at a cost of an eighth more of it at most.
const LINED_ROW: u64 = 1024;

/// The stand-ins of one launch.
#[derive(Debug)]
pub(super) struct Standins {
    copies: [Option<RowCopy>; MAX_OPERANDS],
    /// Freed in stream order.
    _scratch: Scratch,
}

/// What the stand-ins of a launch are made with.
pub(super) struct Tools<'t> {
    pub pool: &'t Pool,
    pub stream: &'t Arc<CudaStream>,
    pub pad_rows: Option<&'t PadRows>,
}

impl Standins {
    /// Puts a stand-in into `regions` for each operand that does not lie as `alignments` ask: in one allocation, and
    /// the inputs copied to them. None where every operand is used where it is.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    ///
    /// # Safety
    /// The regions are those of the signature's operands, and lie inside memory that the stream may read until the
    /// copies are made.
    pub unsafe fn put(
        tools: &Tools<'_>,
        signature: &Signature,
        alignments: &[Alignment],
        regions: &mut [Region],
    ) -> Result<Option<Self>> {
        let Some((mut copies, bytes)) = plan(signature, alignments, regions) else { return Ok(None) };
        let scratch = Scratch::new(tools.pool, tools.stream, bytes)?;
        for (region, copy) in regions.iter_mut().zip(&mut copies) {
            let Some(RowCopy { target, .. }) = copy else { continue };
            target.address += scratch.address;
            *region = *target;
        }
        let standins = Self { copies, _scratch: scratch };
        // SAFETY: the sources are the caller's promise. The targets are scratch memory of the same sizes, one behind the
        // other, with rows padded to multiples of 16 bytes; it is freed on this stream, so after its use.
        unsafe { standins.copy_inputs(tools, signature) }?;
        Ok(Some(standins))
    }

    /// Copies the inputs: by the image's kernel where it has one.
    ///
    /// # Safety
    /// As [`Self::put`].
    unsafe fn copy_inputs(&self, tools: &Tools<'_>, signature: &Signature) -> Result<()> {
        let mut inputs = self.of(signature, Role::Input);
        let Some(pad_rows) = tools.pad_rows else {
            return inputs.try_for_each(|(copy, dtype)| {
                // SAFETY: by the caller's promise.
                unsafe { copy_rows(tools.stream, copy.source, copy.target, dtype) }
            });
        };
        while let Some((first, dtype)) = inputs.next() {
            let halves = |(copy, dtype): (&RowCopy, Dtype)| copy.in_halves(dtype);
            // SAFETY: by the caller's promise.
            unsafe { pad_rows.launch(tools.stream, &first.in_halves(dtype), inputs.next().map(halves).as_ref()) }?;
        }
        Ok(())
    }

    /// Copies what was computed in stand-ins to where it belongs.
    ///
    /// # Errors
    /// The driver's own error.
    ///
    /// # Safety
    /// The originals of the outputs lie inside memory that `stream`, that of the stand-ins, may write until the copies
    /// are made.
    pub unsafe fn write_back(&self, stream: &CudaStream, signature: &Signature) -> Result<()> {
        self.of(signature, Role::Output).try_for_each(|(copy, dtype)| {
            // SAFETY: the target is the caller's promise; the scratch memory lives, and is freed on this stream.
            unsafe { copy_rows(stream, copy.target, copy.source, dtype) }
        })
    }

    /// The stand-ins of one role, with their element types.
    fn of(&self, signature: &Signature, role: Role) -> impl Iterator<Item = (&RowCopy, Dtype)> {
        let operands = signature.operands.iter().zip(&self.copies);
        operands
            .filter_map(move |(operand, copy)| Some((copy.as_ref()?, operand.dtype)).filter(|_| operand.role == role))
    }
}

/// From each operand that needs a stand-in to its place in scratch memory, given as an offset, and the bytes of all.
/// None where none needs one.
fn plan(
    signature: &Signature,
    alignments: &[Alignment],
    regions: &[Region],
) -> Option<([Option<RowCopy>; MAX_OPERANDS], u64)> {
    let needs_one = |alignment: &&Alignment| {
        let region = regions.get(usize::from(alignment.operand));
        region.is_some_and(|it| !it.is_empty() && !it.is_aligned(u64::from(alignment.bytes), alignment.rows))
    };
    let mut needing = alignments.iter().filter(needs_one).peekable();
    needing.peek()?;
    let (mut copies, mut bytes) = ([None; MAX_OPERANDS], 0u64);
    for alignment in needing {
        let number = usize::from(alignment.operand);
        let (Some(operand), Some(region), Some(slot)) =
            (signature.operands.get(number), regions.get(number), copies.get_mut(number))
        else {
            continue;
        };
        let target = in_scratch(region, operand, *alignment, bytes);
        bytes = bytes.saturating_add(scratch_bytes(&target));
        *slot = Some(RowCopy { source: *region, target });
    }
    Some((copies, bytes))
}

/// A matrix of that size at an offset in scratch memory, a multiple of a line.
fn in_scratch(region: &Region, operand: &Operand, alignment: Alignment, offset: u64) -> Region {
    let row_bytes = region.columns * u64::from(operand.dtype.bytes());
    Region { address: offset, stride: stride_for(row_bytes, u64::from(alignment.bytes)), ..*region }
}

/// Its bytes: whole lines, so that another one may follow.
fn scratch_bytes(target: &Region) -> u64 {
    target.stride.saturating_mul(target.rows).max(1).checked_next_multiple_of(LINE).unwrap_or(u64::MAX)
}

/// How far apart rows of that many bytes begin in scratch memory, in bytes: always at what copies write at once.
fn stride_for(row_bytes: u64, alignment: u64) -> u64 {
    row_bytes.next_multiple_of(if row_bytes < LINED_ROW { alignment.max(TMA_ALIGNMENT) } else { LINE })
}

/// Copies the rows of one matrix to another of the same size.
///
/// # Safety
/// Both lie inside memory that `stream` may use until the copy is made.
unsafe fn copy_rows(stream: &CudaStream, source: Region, target: Region, dtype: Dtype) -> Result<()> {
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
        WidthInBytes: source.columns as usize * dtype.bytes() as usize,
        Height: source.rows as usize,
    };
    // SAFETY: the call copies its description; the memory is the caller's promise.
    unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()) }.result().map_err(Error::cuda("realigning an operand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two inputs and an output, all of bf16.
    fn signature() -> Signature {
        let operand = |role| Operand { name: String::new(), role, dtype: Dtype::Bf16, axes: vec![0, 1] };
        Signature { dims: Vec::new(), operands: [Role::Input, Role::Input, Role::Output].map(operand).to_vec() }
    }

    const ALL: [Alignment; 3] = [
        Alignment { operand: 0, bytes: 16, rows: true },
        Alignment { operand: 1, bytes: 16, rows: true },
        Alignment { operand: 2, bytes: 16, rows: false },
    ];

    const fn dense(address: u64, rows: u64, columns: u64) -> Region {
        Region { address, rows, columns, stride: 2 * columns }
    }

    #[test]
    fn operands_that_lie_as_the_plan_asks_have_no_stand_ins() {
        let odd_output = Region { stride: 18, ..dense(512, 8, 8) };
        assert!(plan(&signature(), &ALL, &[dense(0, 8, 8), dense(256, 8, 8), odd_output]).is_none());
        let odd = dense(2, 9, 9);
        assert!(plan(&signature(), &[], &[odd, odd, odd]).is_none(), "nothing was asked for");
    }

    #[test]
    fn operands_without_elements_are_left_alone() {
        assert!(plan(&signature(), &ALL, &[dense(2, 9, 0), dense(2, 0, 9), dense(16, 9, 9)]).is_none());
    }

    #[test]
    fn stand_ins_lie_behind_each_other_at_lines() {
        let regions = [dense(2, 3, 9), dense(0, 4099, 4101), dense(6, 5, 8)];
        let (copies, bytes) = plan(&signature(), &ALL, &regions).unwrap();
        let targets = copies.map(|copy| copy.map(|copy| copy.target));
        assert_eq!(targets[0], Some(Region { address: 0, rows: 3, columns: 9, stride: 32 }));
        assert_eq!(targets[1], Some(Region { address: 128, rows: 4099, columns: 4101, stride: 8320 }));
        let third = 128 + 4099 * 8320;
        assert_eq!(targets[2], Some(Region { address: third, rows: 5, columns: 8, stride: 16 }));
        assert_eq!(bytes, third + 128);
        assert!(targets[3..].iter().all(Option::is_none));
        assert!(copies.iter().flatten().zip(regions).all(|(copy, region)| copy.source == region));
    }

    #[test]
    fn copies_of_long_rows_begin_at_lines_and_those_of_short_rows_at_16_bytes() {
        let stride = |row_bytes| stride_for(row_bytes, 16);
        assert_eq!([2 * 4101, 2 * 4095, 1024].map(stride), [8320, 8192, 1024]);
        assert_eq!([2, 2 * 9, 1022].map(stride), [16, 32, 1024]);
        assert_eq!((stride_for(18, 4), stride_for(18, 64)), (32, 64));
    }

    #[test]
    fn more_than_memory_holds_is_counted_without_overflow() {
        assert_eq!(scratch_bytes(&Region { rows: u64::MAX, ..dense(0, 0, 9) }), u64::MAX);
    }
}
