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

use super::pad_rows::PadRows;
use super::scratch::{Pool, Scratch};
use crate::launch::Region;
use crate::launch::pad_rows::RowCopy;
use crate::launch::standins::{self, Places};
use crate::{Dtype, Error, Result, Signature};

/// The stand-ins of one launch.
#[derive(Debug)]
pub(super) struct Standins {
    places: Places,
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
    /// what the kernel reads or leaves copied to them. None where every operand is used where it is.
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
        let Some((mut places, bytes)) = standins::plan(signature, alignments, regions) else { return Ok(None) };
        let scratch = Scratch::new(tools.pool, tools.stream, bytes)?;
        places.put_at(scratch.address, regions);
        let standins = Self { places, _scratch: scratch };
        // SAFETY: the sources are the caller's promise. The targets are scratch memory of the same sizes, one behind the
        // other, with rows padded to multiples of 16 bytes; it is freed on this stream, so after its use.
        unsafe { standins.copy_inputs(tools, signature) }?;
        Ok(Some(standins))
    }

    /// Copies what the kernel reads or leaves: by the image's kernel where it has one.
    ///
    /// # Safety
    /// As [`Self::put`].
    unsafe fn copy_inputs(&self, tools: &Tools<'_>, signature: &Signature) -> Result<()> {
        let (mut inputs, narrowest) = (self.places.copied_before(signature), self.places.narrowest);
        let Some(pad_rows) = tools.pad_rows else {
            return inputs.try_for_each(|(copy, dtype)| {
                // SAFETY: by the caller's promise.
                unsafe { copy_rows(tools.stream, copy.source, copy.target, dtype) }
            });
        };
        while let Some((first, dtype)) = inputs.next() {
            let in_units = |(copy, dtype): (RowCopy, Dtype)| copy.in_units(dtype, narrowest);
            let second = inputs.next().map(in_units);
            // SAFETY: by the caller's promise.
            unsafe { pad_rows.launch(tools.stream, &first.in_units(dtype, narrowest), second.as_ref()) }?;
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
        self.places.copied_back(signature).try_for_each(|(copy, dtype)| {
            // SAFETY: the target is the caller's promise; the scratch memory lives, and is freed on this stream.
            unsafe { copy_rows(stream, copy.target, copy.source, dtype) }
        })
    }
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
