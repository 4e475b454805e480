//! What each matrix of a batch has once a column, or once a row.

use std::fmt;

use cudarc::driver::{CudaSlice, CudaView};

use crate::{Argument, Device, Element, Matrix, MatrixView, Number, Result};

macro_rules! vector_batch {
    ($(#[$about:meta])+ $Owned:ident, $View:ident) => {
        $(#[$about])+
        pub struct $Owned<T>(Matrix<T>);

        #[doc = concat!("A borrowed [`", stringify!($Owned), "`] on the host or on a GPU.")]
        #[derive(Clone)]
        pub struct $View<'a, T: Number>(MatrixView<'a, T>);

        impl<T: Number> $Owned<T> {
            /// Zeros: `len` of them for each of `batch` matrices.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
            pub fn zeros(device: &Device, batch: usize, len: usize) -> Result<Self> {
                Matrix::zeros(device, batch, len).map(Self)
            }

            /// A copy of exactly `batch * len` elements, those of one matrix after the other.
            ///
            /// # Errors
            /// [`Error::BufferSize`](crate::Error::BufferSize), and as [`zeros`](Self::zeros).
            pub fn from_slice(device: &Device, data: &[T], batch: usize, len: usize) -> Result<Self> {
                Matrix::from_slice(device, data, batch, len).map(Self)
            }

            /// Takes over a cudarc slice of exactly `batch * len` elements, with no copy.
            ///
            /// # Errors
            /// [`Error::BufferSize`](crate::Error::BufferSize).
            pub fn from_cudarc(slice: CudaSlice<T>, batch: usize, len: usize) -> Result<Self> {
                Matrix::from_cudarc(slice, batch, len).map(Self)
            }

            /// Hands the buffer back to cudarc; `None` if it is on the CPU.
            pub fn into_cudarc(self) -> Option<CudaSlice<T>> {
                self.0.into_cudarc()
            }

            /// The buffer as cudarc's, for other libraries to read; `None` if it is on the CPU.
            pub const fn as_cudarc(&self) -> Option<&CudaSlice<T>> {
                self.0.as_cudarc()
            }

            /// The buffer as cudarc's, for other libraries to write; `None` if it is on the CPU.
            pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<T>> {
                self.0.as_cudarc_mut()
            }

            /// Copies as many other elements here, those of one matrix after the other; on a GPU in the order of its stream.
            ///
            /// # Errors
            /// [`Error::CopyLength`](crate::Error::CopyLength), or the driver's own error.
            pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
                self.0.copy_from_slice(data)
            }

            /// Matrices of the batch.
            pub const fn batch(&self) -> usize {
                self.0.nrows()
            }

            /// Elements of each matrix.
            pub const fn len(&self) -> usize {
                self.0.ncols()
            }

            /// Whether a matrix has none.
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The device that it is on.
            pub fn device(&self) -> Device {
                self.0.device()
            }

            /// All of it, to read.
            pub fn view(&self) -> $View<'_, T> {
                $View(self.0.view())
            }

            /// A copy on the same device; see [`Matrix::try_clone`].
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
            pub fn try_clone(&self) -> Result<Self> {
                self.0.try_clone().map(Self)
            }

            /// A copy on another device, or the same one; see [`Matrix::to_device`].
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
            pub fn to_device(&self, device: &Device) -> Result<Self> {
                self.0.to_device(device).map(Self)
            }

            /// The elements, copied to the host, those of one matrix after the other. Waits for the GPU.
            ///
            /// # Errors
            /// The driver's own error, which includes faults of kernels launched earlier.
            pub fn to_vec(&self) -> Result<Vec<T>> {
                self.0.to_vec()
            }
        }

        impl<'a, T: Number> $View<'a, T> {
            /// A host slice, with `ld` elements from those of one matrix to those of the next.
            ///
            /// # Errors
            /// As [`MatrixView::from_slice_with_ld`].
            pub fn from_slice(data: &'a [T], batch: usize, len: usize, ld: usize) -> Result<Self> {
                MatrixView::from_slice_with_ld(data, batch, len, ld).map(Self)
            }

            /// A cudarc device slice, with `ld` elements from those of one matrix to those of the next.
            ///
            /// # Errors
            /// As [`MatrixView::from_slice_with_ld`].
            pub fn from_cudarc(data: CudaView<'a, T>, batch: usize, len: usize, ld: usize) -> Result<Self> {
                MatrixView::from_cudarc_with_ld(data, batch, len, ld).map(Self)
            }

            /// The device that it is on.
            pub fn device(&self) -> Device {
                self.0.device()
            }
        }

        impl<'a, T: Number> From<&'a $Owned<T>> for $View<'a, T> {
            fn from(owned: &'a $Owned<T>) -> Self {
                owned.view()
            }
        }

        impl<'a, T: Number> From<&$View<'a, T>> for $View<'a, T> {
            fn from(view: &$View<'a, T>) -> Self {
                view.clone()
            }
        }

        impl<'a, T: Element> From<$View<'a, T>> for Argument<'a> {
            fn from(view: $View<'a, T>) -> Self {
                view.0.into()
            }
        }

        impl<T: Number> fmt::Debug for $Owned<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (batch, len) = (self.batch(), self.len());
                write!(f, "{}<{}>({batch}x{len}, on {})", stringify!($Owned), T::DTYPE, self.device())
            }
        }

        impl<T: Number> fmt::Debug for $View<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (batch, len) = (self.0.nrows(), self.0.ncols());
                write!(f, "{}<{}>({batch}x{len}, on {})", stringify!($View), T::DTYPE, self.device())
            }
        }
    };
}

vector_batch! {
    /// A [`Row`](crate::Row) for each matrix of a batch: one element for each of its columns.
    ///
    /// ```
    /// use autokernel_runtime::{Device, RowBatch};
    ///
    /// let bias = RowBatch::from_slice(&Device::cpu(), &[1.0f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// assert_eq!((bias.batch(), bias.len()), (2, 2));
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    RowBatch, RowBatchView
}

vector_batch! {
    /// A [`Column`](crate::Column) for each matrix of a batch: one element for each of its rows.
    ///
    /// ```
    /// use autokernel_runtime::{ColumnBatch, Device};
    ///
    /// let scale: ColumnBatch<f32> = ColumnBatch::zeros(&Device::cpu(), 2, 3)?;
    /// assert_eq!(scale.to_vec()?, [0.0; 6]);
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    ColumnBatch, ColumnBatchView
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_batch_has_once_a_column_or_a_row_is_filled_again_by_as_many_elements() {
        let mut bias = RowBatch::<f32>::zeros(&Device::cpu(), 2, 3).unwrap();
        bias.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(bias.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let mut scale = ColumnBatch::<f32>::zeros(&Device::cpu(), 2, 1).unwrap();
        assert!(scale.copy_from_slice(&[1.0]).is_err());
        assert!(scale.as_cudarc().is_none() && scale.as_cudarc_mut().is_none() && scale.into_cudarc().is_none());
    }
}
