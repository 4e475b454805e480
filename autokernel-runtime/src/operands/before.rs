//! What an output held before a kernel writes over it.

use cudarc::driver::CudaView;

use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{BatchViewMut, MatrixView, MatrixViewMut, Number, Result};

/// An output as a kernel reads it: on a GPU the same memory, on the host a copy.
pub struct Before<'a, T> {
    held: Held<'a, T>,
    layout: Layout,
}

enum Held<'a, T> {
    /// A copy of what begins at that address.
    Host(Vec<T>, usize),
    Cuda(CudaView<'a, T>),
}

/// What is written over: a matrix, or all of a batch.
pub trait WrittenOver<'a, T> {
    /// Its memory.
    #[doc(hidden)]
    fn memory(&self) -> &MatrixViewMut<'a, T>;
}

impl<'a, T> WrittenOver<'a, T> for MatrixViewMut<'a, T> {
    fn memory(&self) -> &MatrixViewMut<'a, T> {
        self
    }
}

impl<'a, T> WrittenOver<'a, T> for BatchViewMut<'a, T> {
    fn memory(&self) -> &MatrixViewMut<'a, T> {
        self.memory()
    }
}

impl<'a, T: Number> Before<'a, T> {
    /// What `output` holds.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) on the host.
    pub fn of(output: &impl WrittenOver<'a, T>) -> Result<Self> {
        let output = output.memory();
        let held = match &output.storage {
            StorageMut::Host(data) => {
                let mut copy = alloc::host_empty(data.len())?;
                copy.extend_from_slice(data);
                Held::Host(copy, data.as_ptr().addr())
            }
            StorageMut::Cuda(view) => {
                // SAFETY: the view's memory is allocated for 'a, and no host reference leads there: a launch hands on its address, to a kernel
                // whose rules let nobody but the writer of an element read it, before that.
                Held::Cuda(unsafe { std::mem::transmute::<CudaView<'_, T>, CudaView<'a, T>>(view.as_view()) })
            }
        };
        Ok(Before { held, layout: output.layout })
    }

    /// The matrix, or the batch, to read.
    pub fn view(&self) -> MatrixView<'_, T> {
        let storage = match &self.held {
            Held::Host(data, of) => Storage::Before(data, *of),
            Held::Cuda(view) => Storage::Cuda(view.slice(..)),
        };
        MatrixView { storage, layout: self.layout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_held_stays_when_it_is_written() {
        let mut data = [1.0f32, 2.0, 3.0, 4.0, 5.0];
        let mut output = MatrixViewMut::from_slice_with_ld(&mut data, 2, 2, 3).unwrap();
        let before = Before::of(&output).unwrap();
        if let StorageMut::Host(data) = &mut output.storage {
            data.fill(0.0);
        }
        assert_eq!((before.view().to_vec().unwrap(), before.view().ld()), (vec![1.0, 2.0, 4.0, 5.0], 3));
        assert_eq!(data, [0.0; 5]);
    }
}
