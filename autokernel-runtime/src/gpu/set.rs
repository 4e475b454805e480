//! Writing one number. To device memory the driver takes it by value, so that nothing on the host outlives the call: it is
//! asynchronous, and a graph may hold it.

use std::mem::{size_of, transmute_copy};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async};

use super::pointers::Ordering;
use crate::operands::view::StorageMut;
use crate::{Argument, Element, Error, MatrixViewMut, Result, Scalar};

impl<T: Element> Scalar<T> {
    /// Writes another number. On a GPU this is asynchronous, on the stream that it was allocated on: launches behind it read
    /// the new number, those before it the old one. A graph that captures it writes the number at each replay.
    ///
    /// # Errors
    /// The driver's own error.
    pub fn set(&mut self, value: T) -> Result<()> {
        let view = self.0.view_mut();
        match view.stream().cloned() {
            Some(stream) => write(&stream, view, value),
            None => {
                if let StorageMut::Host([slot]) = view.storage {
                    *slot = value;
                }
                Ok(())
            }
        }
    }
}

/// Writes `value` to the first element of `view`, in the order of `stream`.
///
/// # Errors
/// [`Error::NeedsGpu`] for one in host memory, or the driver's own error.
fn write<T: Element>(stream: &Arc<CudaStream>, view: MatrixViewMut<'_, T>, value: T) -> Result<()> {
    debug_assert!(!view.layout.is_empty(), "there is an element to write");
    let mut argument = Argument::from(view);
    let order = Ordering::new(stream)?;
    let pointer = order.take(&mut argument)?;
    let (address, stream) = (pointer.address, stream.cu_stream());
    // SAFETY: an element is a number of 1, 2 or 4 bytes, any of whose bits are an integer's. The address is that of an element,
    // borrowed mutably until the write is in the stream, which is alive.
    let written = unsafe {
        match size_of::<T>() {
            1 => cuMemsetD8Async(address, transmute_copy(&value), 1, stream),
            2 => cuMemsetD16Async(address, transmute_copy(&value), 1, stream),
            _ => cuMemsetD32Async(address, transmute_copy(&value), 1, stream),
        }
    };
    drop(pointer);
    order.release(&[argument])?;
    written.result().map_err(Error::cuda("setting a number on the GPU"))
}
