//! Aligned copies of operands that a kernel cannot address.
//!
//! TMA takes bases and row strides that are multiples of 16 bytes, and the `sm80` family takes such bases. A view that
//! begins or steps elsewhere is legal: its rows are copied to scratch memory, in stream order, by a kernel of the same
//! image where it has one and by the driver otherwise. That is one pass over the operand.
//!
//! The scratch memory comes from the device's default pool. As CUDA sets it up, that pool returns what is free to the
//! system whenever the host synchronizes, so the next such launch maps it anew; programs that synchronize after each
//! launch can raise the pool's release threshold.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdeviceptr, CUmemorytype, CUresult};
use cudarc::driver::{CudaStream, result};

use super::pad_rows::PadRows;
use super::tensor_map::{Global, TMA_ALIGNMENT};
use crate::{Device, Error, Result};

/// Both input types are 16 bits wide.
const INPUT_BYTES: usize = 2;

/// Device memory for the time of one launch; freed in stream order.
#[derive(Debug)]
pub(super) struct Scratch {
    address: CUdeviceptr,
    stream: Arc<CudaStream>,
}

impl Scratch {
    fn new(stream: &Arc<CudaStream>, bytes: u64) -> Result<Self> {
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the context is bound to this thread; the memory is freed once, in `drop`.
        let address = unsafe {
            if stream.context().has_async_alloc() {
                result::malloc_async(stream.cu_stream(), len)
            } else {
                result::malloc_sync(len)
            }
        };
        let address = address.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Error::out_of_memory::<u8>(&Device::from_cudarc(stream.clone()), u128::from(bytes))
            }
            _ => Error::cuda("allocating scratch memory to realign an operand")(error),
        })?;
        Ok(Self { address, stream: stream.clone() })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let context = self.stream.context();
        // SAFETY: `new` allocated the memory in the same way, and everything that uses it was launched on this stream.
        let freed = unsafe {
            if context.has_async_alloc() {
                result::free_async(self.address, self.stream.cu_stream())
            } else {
                self.stream.synchronize().and_then(|()| result::free_sync(self.address))
            }
        };
        context.record_err(freed);
    }
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
    pub fn scratch_for(stream: &Arc<CudaStream>, matrix: Global, element_bytes: usize) -> Result<Self> {
        let row_bytes = matrix.columns * element_bytes as u64;
        let stride = row_bytes.next_multiple_of(TMA_ALIGNMENT);
        let scratch = Scratch::new(stream, stride.saturating_mul(matrix.rows).max(TMA_ALIGNMENT))?;
        let matrix = Global { address: scratch.address, stride, ..matrix };
        Ok(Self { matrix, scratch: Some(scratch) })
    }

    /// An aligned copy of an input matrix.
    pub fn copy_of(stream: &Arc<CudaStream>, pad_rows: Option<&PadRows>, matrix: Global) -> Result<Self> {
        let copy = Self::scratch_for(stream, matrix, INPUT_BYTES)?;
        match pad_rows {
            Some(pad_rows) => pad_rows.launch(stream, matrix, copy.matrix)?,
            None => copy_rows(stream, matrix, copy.matrix, INPUT_BYTES)?,
        }
        Ok(copy)
    }

    /// Copies the result from scratch memory to where it belongs; nothing to do if it is there already.
    pub fn write_back(&self, stream: &CudaStream, target: Global, element_bytes: usize) -> Result<()> {
        if self.scratch.is_none() {
            return Ok(());
        }
        copy_rows(stream, self.matrix, target, element_bytes)
    }
}

/// Copies the rows of one matrix to another of the same size.
fn copy_rows(stream: &CudaStream, source: Global, target: Global, element_bytes: usize) -> Result<()> {
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
    // SAFETY: both matrices lie inside live allocations that this stream may use: one is a checked view whose guard
    // the caller holds, the other is scratch memory of the same rows and columns.
    unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()) }.result().map_err(Error::cuda("realigning an operand"))
}
