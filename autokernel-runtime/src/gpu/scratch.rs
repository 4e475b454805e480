//! Device memory for the time of one launch, or for those that use the same workspace, from a pool that stays mapped.
//!
//! CUDA's default pool returns what is free to the system whenever the host synchronizes, so that a program which
//! synchronizes after each launch would map its scratch memory anew each time. The pool here keeps a little. It is a
//! pool of its own: the default one, and so the program's other allocations, behave as ever.

use std::mem::offset_of;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError, mem_pool};
use cudarc::driver::sys::{self, CUdeviceptr, CUmemPool_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream};

use crate::{Device, Error, Result};

/// The share of the GPU's memory that a pool keeps while it is not used.
const KEPT_SHARE: usize = 32;

/// A memory pool of one context.
#[derive(Debug)]
pub(super) struct Pool {
    /// None where the driver makes none: the default pool serves.
    handle: Option<sys::CUmemoryPool>,
    context: Arc<CudaContext>,
}

// SAFETY: the handle names an object of the driver, which locks it itself; no thread owns it.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// `CUmemPoolProps`, whose fields cudarc names differently for each version of CUDA.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Properties {
    allocation: i32,
    handles: i32,
    location: i32,
    device: i32,
    reserved: [u64; 9],
}

const _: () = {
    assert!(size_of::<Properties>() == size_of::<sys::CUmemPoolProps>());
    assert!(align_of::<Properties>() == align_of::<sys::CUmemPoolProps>());
    assert!(offset_of!(Properties, location) == offset_of!(sys::CUmemPoolProps, location));
};

impl Properties {
    /// Of memory of a context's GPU, for it alone.
    pub fn of_device(context: &CudaContext) -> Self {
        Properties {
            allocation: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED as i32,
            handles: 0,
            location: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as i32,
            device: i32::try_from(context.ordinal()).unwrap_or(0),
            reserved: [0; 9],
        }
    }
}

impl From<Properties> for sys::CUmemPoolProps {
    fn from(properties: Properties) -> Self {
        // SAFETY: both are plain data of one layout (asserted above).
        unsafe { std::mem::transmute_copy(&properties) }
    }
}

impl Pool {
    /// A pool of a context.
    pub fn new(context: &Arc<CudaContext>) -> Self {
        let handle = if context.has_async_alloc() { create(context).ok() } else { None };
        Self { handle, context: context.clone() }
    }

    fn allocate(&self, stream: &CudaStream, len: usize) -> Result<CUdeviceptr, DriverError> {
        // SAFETY: the caller has bound the context to this thread; stream and pool are of that context and live.
        unsafe {
            match self.handle {
                Some(pool) => mem_pool::alloc_async(pool, len, stream.cu_stream()),
                None if stream.context().has_async_alloc() => result::malloc_async(stream.cu_stream(), len),
                None => result::malloc_sync(len),
            }
        }
    }
}

fn create(context: &Arc<CudaContext>) -> Result<sys::CUmemoryPool, DriverError> {
    let properties = Properties::of_device(context);
    let mut kept = (context.total_mem()? / KEPT_SHARE) as u64;
    // SAFETY: the properties have the layout that the driver reads (asserted above) and outlive the call.
    let pool = unsafe { mem_pool::create((&raw const properties).cast()) }?;
    let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool is live, and the attribute's value is a 64-bit number.
    match unsafe { mem_pool::set_attribute(pool, threshold, (&raw mut kept).cast()) } {
        Ok(()) => Ok(pool),
        Err(error) => {
            // SAFETY: nothing has been allocated from it. If it cannot be destroyed either, it stays, empty.
            let _ = unsafe { mem_pool::destroy(pool) };
            Err(error)
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        let Some(pool) = self.handle else { return };
        // SAFETY: this is its only owner. Memory that is still to be freed in stream order stays valid until then.
        self.context.record_err(unsafe { mem_pool::destroy(pool) });
    }
}

/// Device memory, freed in stream order.
#[derive(Debug)]
pub(super) struct Scratch {
    pub address: CUdeviceptr,
    stream: Arc<CudaStream>,
}

impl Scratch {
    /// That many bytes, aligned for any use. The context must be bound to this thread.
    pub fn new(pool: &Pool, stream: &Arc<CudaStream>, bytes: u64) -> Result<Self> {
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let address = pool.allocate(stream, len).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Error::out_of_memory::<u8>(&Device::from_cudarc(stream.clone()), u128::from(bytes))
            }
            _ => Error::cuda("allocating scratch memory")(error),
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
