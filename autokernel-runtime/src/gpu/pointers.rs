//! Device pointers, and the order in which streams use what they point to.
//!
//! cudarc keeps two events for each slice, last read and last write. Taking a pointer through it makes the launch
//! stream wait for those events, and dropping the guard records the new use: that orders streams which share a buffer.
//! Two cases need more care.
//!
//! - *Graph capture.* Waiting for an event that was recorded outside the capture is an error that ends the capture,
//!   and an event recorded inside it is useless outside. So nothing is waited for or recorded; the captured stream's
//!   own order is what counts.
//! - *Two context objects.* cudarc tracks uses for each `CudaContext` object, but two objects can stand for one CUDA
//!   context. If either does not track, the streams are joined explicitly.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};

use crate::driver::is_capturing;
use crate::operands::types::with_view;
use crate::operands::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Argument, Error, MatrixView, MatrixViewMut, Result};

/// The handle that CUDA gives the per-thread default stream (`CU_STREAM_PER_THREAD`).
pub(super) const PER_THREAD_STREAM: usize = 0x2;

const IN_HOST_MEMORY: Error = Error::NeedsGpu { what: "launching a compiled kernel" };

/// How one launch orders itself with other uses of its buffers.
pub(super) struct Ordering<'s> {
    stream: &'s CudaStream,
    /// While `stream` is captured: a stream outside the capture, to take pointers with.
    outside: Option<Arc<CudaStream>>,
}

/// A device pointer; dropping it, after the launch, records the use.
pub(super) struct Pointer<'g> {
    pub address: CUdeviceptr,
    _use: Option<SyncOnDrop<'g>>,
}

impl<'s> Ordering<'s> {
    pub fn new(stream: &'s CudaStream) -> Result<Self> {
        let context = stream.context();
        context.bind_to_thread().map_err(Error::cuda("binding the CUDA context to the thread"))?;
        let outside = if is_captured(stream)? { Some(stream_outside(stream, context)?) } else { None };
        Ok(Self { stream, outside })
    }

    /// The address of an operand, and its use.
    ///
    /// # Errors
    /// [`Error::NeedsGpu`] for one in host memory or a number, which has no address; or the driver's own error.
    pub fn take<'g>(&'g self, argument: &'g mut Argument<'_>) -> Result<Pointer<'g>> {
        match argument {
            Argument::Read(any) => with_view!(AnyView, any, view => self.read(view)),
            Argument::Write(any) => with_view!(AnyViewMut, any, view => self.write(view)),
            Argument::Scalar(_) => Err(IN_HOST_MEMORY),
        }
    }

    pub fn read<'g, T>(&'g self, view: &'g MatrixView<'_, T>) -> Result<Pointer<'g>> {
        let Storage::Cuda(data) = &view.storage else { return Err(IN_HOST_MEMORY) };
        self.wait_for_foreign(data.stream())?;
        let (address, guard) = data.device_ptr(self.order_with());
        Ok(self.pointer(address, guard))
    }

    pub fn write<'g, T>(&'g self, view: &'g mut MatrixViewMut<'_, T>) -> Result<Pointer<'g>> {
        let StorageMut::Cuda(data) = &mut view.storage else { return Err(IN_HOST_MEMORY) };
        self.wait_for_foreign(data.stream())?;
        let (address, guard) = data.device_ptr_mut(self.order_with());
        Ok(self.pointer(address, guard))
    }

    /// Makes the owners of buffers wait for the launch where cudarc's events do not.
    pub fn release(&self, arguments: &[Argument<'_>]) -> Result<()> {
        arguments.iter().filter_map(Argument::stream).try_for_each(|owner| self.release_owner(owner))
    }

    /// Makes the owner of one buffer wait likewise.
    pub fn release_owner(&self, owner: &CudaStream) -> Result<()> {
        if !self.is_foreign(owner) {
            return Ok(());
        }
        owner.join(self.stream).map_err(Error::cuda("ordering two streams"))
    }

    fn order_with(&self) -> &CudaStream {
        self.outside.as_deref().unwrap_or(self.stream)
    }

    fn pointer<'g>(&self, address: CUdeviceptr, guard: SyncOnDrop<'g>) -> Pointer<'g> {
        if self.outside.is_some() {
            // The use belongs to the graph, so the buffer's events must not claim it.
            std::mem::forget(guard);
            return Pointer { address, _use: None };
        }
        Pointer { address, _use: Some(guard) }
    }

    fn wait_for_foreign(&self, owner: &CudaStream) -> Result<()> {
        if !self.is_foreign(owner) {
            return Ok(());
        }
        self.stream.join(owner).map_err(Error::cuda("ordering two streams"))
    }

    /// Whether a buffer's stream differs from the launch's and cudarc's events do not order the two. A context whose
    /// tracking was switched off is left alone: that is how its owner says that it orders the streams itself.
    fn is_foreign(&self, owner: &CudaStream) -> bool {
        let tracked = owner.context().is_managing_stream_synchronization()
            && self.stream.context().is_managing_stream_synchronization();
        owner.cu_stream() != self.stream.cu_stream()
            && !tracked
            && self.outside.is_none()
            && owner.context().is_event_tracking()
    }
}

/// Whether a stream is being captured in a graph and cudarc would wait for events.
fn is_captured(stream: &CudaStream) -> Result<bool> {
    // Without tracking, taking a pointer has no effect on any stream.
    if !stream.context().is_managing_stream_synchronization() {
        return Ok(false);
    }
    is_capturing(stream)
}

/// A stream that is not part of the capture of `stream`.
fn stream_outside(stream: &CudaStream, context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    if stream.cu_stream() as usize != PER_THREAD_STREAM {
        return Ok(context.per_thread_stream());
    }
    context.new_stream().map_err(Error::cuda("creating a stream"))
}
