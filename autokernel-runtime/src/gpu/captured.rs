//! Workspaces of launches that a CUDA graph captures.
//!
//! Memory of the graph's own takes three nodes a launch (allocate, clear, free), between which no kernel begins before the one in front
//! of it has ended, and is cleared at each replay. So it is allocated beside the graph, cleared once, and given to the graph, which hands
//! it back when neither it nor an executable of it is left and no replay is under way. The launches of one stream in a capture follow
//! each other, and share.
//!
//! Two executables of a graph, its clones and graphs that it is a part of would share it, too, and may replay at once. CUDA refuses them
//! where a graph allocates memory. So each graph does, by two nodes for which no other waits.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUdeviceptr, CUgraph};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};

use super::scratch::Properties;
use crate::driver::Capture;
use crate::launch::workspace::{Addresses, Needs};
use crate::{Device, Error, Result};

/// Rooms are no smaller, in bytes, and of a multiple of this.
const STEP: u64 = 1 << 16;
/// As many captures are under way at once, about: those of which a stream's memory is found again.
const REMEMBERED: usize = 64;

/// What graphs have handed back. Their destructors may call nothing of CUDA.
static HANDED_BACK: Mutex<Vec<Room>> = Mutex::new(Vec::new());

/// Memory of a context, which is nobody's while it lies in [`HANDED_BACK`].
#[derive(Debug)]
struct Room {
    context: Arc<CudaContext>,
    address: CUdeviceptr,
    bytes: u64,
}

/// What the streams that are captured have.
#[derive(Debug, Default)]
pub(super) struct Captured(Vec<Lent>);

/// Memory of a graph, for what one of its streams launches.
#[derive(Debug)]
struct Lent {
    capture: u64,
    stream: usize,
    /// How much of it holds zeros; behind that, anything.
    zeros: u64,
    anything: u64,
    address: CUdeviceptr,
}

impl Captured {
    /// The addresses of what a launch on `stream` needs, which `capture` captures.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or the driver's own error.
    pub fn lend(&mut self, stream: &Arc<CudaStream>, capture: &Capture, needs: &Needs) -> Result<Addresses> {
        let handle = stream.cu_stream() as usize;
        let is_of_stream = |lent: &&Lent| (lent.capture, lent.stream) == (capture.id, handle);
        let fits = |lent: &&Lent| lent.zeros >= needs.zeros && lent.anything >= needs.anything;
        if let Some(lent) = self.0.iter().filter(is_of_stream).find(fits) {
            return Ok(needs.addresses(lent.address, lent.address + lent.zeros));
        }
        let rounded = |bytes: u64| bytes.checked_next_multiple_of(STEP).unwrap_or(bytes);
        let (zeros, anything) = (rounded(needs.zeros), rounded(needs.anything));
        let room = {
            let _relaxed = Relaxed::enter().map_err(Error::cuda("allocating beside a graph's capture"))?;
            Room::cleared(stream, zeros.saturating_add(anything))?
        };
        let address = room.address;
        room.give_to(capture.graph)?;
        if !self.0.iter().any(|lent| lent.capture == capture.id) {
            forbid_copies(stream.context(), capture.graph).map_err(Error::cuda("keeping a graph from being copied"))?;
        }
        if self.0.len() >= REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(Lent { capture: capture.id, stream: handle, zeros, anything, address });
        Ok(needs.addresses(address, address + zeros))
    }
}

impl Room {
    /// So many bytes of zeros, of what graphs have handed back or new. The rest of that is freed.
    fn cleared(stream: &Arc<CudaStream>, bytes: u64) -> Result<Self> {
        let context = stream.context();
        let mut free = take_back(context);
        let room = match free.iter().position(|room| room.bytes >= bytes) {
            Some(at) => free.swap_remove(at),
            None => {
                let len = usize::try_from(bytes).unwrap_or(usize::MAX);
                // SAFETY: `lend`'s caller has bound the context to this thread.
                let address = unsafe { result::malloc_sync(len) }.map_err(|error| match error.0 {
                    sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                        Error::out_of_memory::<u8>(&Device::from_cudarc(stream.clone()), u128::from(bytes))
                    }
                    _ => Error::cuda("allocating a graph's workspace")(error),
                })?;
                Room { context: context.clone(), address, bytes }
            }
        };
        free.into_iter().for_each(Room::free);
        match room.clear() {
            Ok(()) => Ok(room),
            Err(error) => {
                room.free();
                Err(Error::cuda("clearing a graph's workspace")(error))
            }
        }
    }

    /// On a stream of its own, as the captured one would only note it.
    fn clear(&self) -> std::result::Result<(), DriverError> {
        let len = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
        // SAFETY: the memory is as long, and nobody else's; the stream is live until the last line, which nothing uses later.
        unsafe {
            let cleared = result::memset_d8_async(self.address, 0, len, stream)
                .and_then(|()| result::stream::synchronize(stream));
            cleared.and(result::stream::destroy(stream))
        }
    }

    /// Makes it the graph's.
    fn give_to(self, graph: CUgraph) -> Result<()> {
        let room = Box::into_raw(Box::new(self));
        let mut object = ptr::null_mut();
        let no_sync = sys::CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC as u32;
        // SAFETY: the destructor takes what the pointer was made of, and is called once, by whatever drops the last reference: the
        // one there is goes to the graph, or is released here.
        let given = unsafe {
            sys::cuUserObjectCreate(&mut object, room.cast(), Some(hand_back), 1, no_sync).result().and_then(|()| {
                let moved = sys::CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE as u32;
                let retained = sys::cuGraphRetainUserObject(graph, object, 1, moved).result();
                if retained.is_err() {
                    let _ = sys::cuUserObjectRelease(object, 1);
                }
                retained
            })
        };
        if object.is_null() {
            // SAFETY: nobody else has it.
            unsafe { Box::from_raw(room) }.free();
        }
        given.map_err(Error::cuda("giving a graph its workspace"))
    }

    fn free(self) {
        // SAFETY: it was allocated so, and nothing uses it any more.
        self.context.record_err(unsafe { result::free_sync(self.address) });
    }
}

/// The destructor of a graph's memory.
///
/// # Safety
/// `room` was made of a box of one.
unsafe extern "C" fn hand_back(room: *mut c_void) {
    // SAFETY: by the caller's promise.
    let room = unsafe { Box::from_raw(room.cast::<Room>()) };
    HANDED_BACK.lock().unwrap_or_else(PoisonError::into_inner).push(*room);
}

/// What graphs of a context have handed back.
fn take_back(context: &CudaContext) -> Vec<Room> {
    let mut all = HANDED_BACK.lock().unwrap_or_else(PoisonError::into_inner);
    all.extract_if(.., |room| room.context.cu_ctx() == context.cu_ctx()).collect()
}

/// Frees what graphs of a context, which is bound to this thread, have handed back.
pub(super) fn free_handed_back(context: &CudaContext) {
    take_back(context).into_iter().for_each(Room::free);
}

/// An allocation that is freed at once: of a graph that has one CUDA makes no second executable, clone, or part of another graph.
fn forbid_copies(context: &CudaContext, graph: CUgraph) -> std::result::Result<(), DriverError> {
    // SAFETY: plain data, of which zeros are valid.
    let mut allocation: sys::CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    allocation.poolProps = Properties::of_device(context).into();
    allocation.bytesize = 1;
    let (mut allocated, mut freed) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the graph is being captured on this thread, so that no other one may use it; the parameters outlive the calls.
    unsafe {
        sys::cuGraphAddMemAllocNode(&mut allocated, graph, ptr::null(), 0, &mut allocation).result()?;
        sys::cuGraphAddMemFreeNode(&mut freed, graph, &allocated, 1, allocation.dptr).result()
    }
}

/// While a stream is captured CUDA refuses a thread what may wait for that stream, as allocating might. Nothing that is done here does.
struct Relaxed(sys::CUstreamCaptureMode);

impl Relaxed {
    fn enter() -> std::result::Result<Self, DriverError> {
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: it exchanges a mode of this thread for the one before.
        unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result()?;
        Ok(Self(mode))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: as above. It cannot fail where it did not before.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}
