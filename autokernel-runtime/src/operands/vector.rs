//! Operands of one axis: what a matrix has once a column, what it has once a row, and what each matrix of a batch has once.

use std::fmt;
use std::ops::RangeBounds;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{Argument, Device, Element, Matrix, MatrixView, MatrixViewMut, Number, Result};

/// Elements side by side.
const fn layout(len: usize) -> Layout {
    Layout::one_row(len)
}

macro_rules! vector {
    ($(#[$about:meta])+ $Owned:ident, $View:ident, $ViewMut:ident) => {
        $(#[$about])+
        pub struct $Owned<T>(Matrix<T>);

        #[doc = concat!("A borrowed [`", stringify!($Owned), "`] on the host or on a GPU.")]
        #[derive(Clone)]
        pub struct $View<'a, T: Number>(MatrixView<'a, T>);

        #[doc = concat!("A mutably borrowed [`", stringify!($Owned), "`] on the host or on a GPU.")]
        pub struct $ViewMut<'a, T>(MatrixViewMut<'a, T>);

        impl<T: Number> $Owned<T> {
            /// Zeros.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
            pub fn zeros(device: &Device, len: usize) -> Result<Self> {
                Matrix::zeros(device, 1, len).map(Self)
            }

            /// A copy of a slice.
            ///
            /// # Errors
            /// As [`zeros`](Self::zeros).
            pub fn from_slice(device: &Device, data: &[T]) -> Result<Self> {
                Matrix::from_slice(device, data, 1, data.len()).map(Self)
            }

            /// Takes over a cudarc slice, with no copy.
            pub fn from_cudarc(slice: CudaSlice<T>) -> Self {
                Self(Matrix::one_row(slice))
            }

            /// Hands the buffer back to cudarc; `None` if it is on the CPU. An empty one has a slice of one element, which
            /// [`from_cudarc`](Self::from_cudarc) would count: CUDA allocates nothing of no size.
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

            /// Elements.
            pub const fn len(&self) -> usize {
                self.0.ncols()
            }

            /// Whether there are none.
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

            /// All of it, to write.
            pub fn view_mut(&mut self) -> $ViewMut<'_, T> {
                $ViewMut(self.0.view_mut())
            }

            /// The elements in host memory; `None` on a GPU.
            pub fn as_slice(&self) -> Option<&[T]> {
                self.0.as_slice()
            }

            /// The same to write.
            pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
                self.0.as_mut_slice()
            }

            /// Copies as many other elements here; on a GPU in the order of its stream.
            ///
            /// # Errors
            /// [`Error::CopyLength`](crate::Error::CopyLength), or the driver's own error.
            pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
                self.0.copy_from_slice(data)
            }

            /// The elements, copied to the host. Waits for the GPU.
            ///
            /// # Errors
            /// The driver's own error, which includes faults of kernels launched earlier.
            pub fn to_vec(&self) -> Result<Vec<T>> {
                self.0.to_vec()
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
        }

        impl<'a, T: Number> $View<'a, T> {
            /// The same elements as rows of a matrix, with no copy.
            ///
            /// # Errors
            /// [`Error::BufferSize`](crate::Error::BufferSize) where that is not as many elements.
            pub fn as_matrix(&self, rows: usize, columns: usize) -> Result<MatrixView<'a, T>> {
                self.0.reshaped(rows, columns)
            }

            /// A host slice.
            pub const fn from_slice(data: &'a [T]) -> Self {
                Self(MatrixView { storage: Storage::Host(data), layout: layout(data.len()) })
            }

            /// A cudarc device slice (`slice.as_view()`, `slice.slice(..)`).
            pub fn from_cudarc(data: CudaView<'a, T>) -> Self {
                let layout = layout(data.len());
                Self(MatrixView { storage: Storage::Cuda(data), layout })
            }

            /// The cudarc view behind it, from the first element on; `None` on the host.
            pub const fn as_cudarc(&self) -> Option<&CudaView<'a, T>> {
                self.0.as_cudarc()
            }

            /// Some of the elements, with no copy.
            ///
            /// # Errors
            /// [`Error::OutOfRange`](crate::Error::OutOfRange).
            pub fn range(&self, range: impl RangeBounds<usize>) -> Result<Self> {
                self.0.elements(range).map(Self)
            }

            /// Elements.
            pub const fn len(&self) -> usize {
                self.0.ncols()
            }

            /// Whether there are none.
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The device that it is on.
            pub fn device(&self) -> Device {
                self.0.device()
            }

            /// The elements, copied to the host. Waits for the GPU.
            ///
            /// # Errors
            /// The driver's own error, which includes faults of kernels launched earlier.
            pub fn to_vec(&self) -> Result<Vec<T>> {
                self.0.to_vec()
            }
        }

        impl<'a, T: Number> $ViewMut<'a, T> {
            /// A host slice.
            pub const fn from_slice(data: &'a mut [T]) -> Self {
                let layout = layout(data.len());
                Self(MatrixViewMut { storage: StorageMut::Host(data), layout })
            }

            /// A cudarc device slice (`slice.as_view_mut()`, `slice.slice_mut(..)`).
            pub fn from_cudarc(data: CudaViewMut<'a, T>) -> Self {
                let layout = layout(data.len());
                Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout })
            }

            /// Some of the elements, with no copy.
            ///
            /// # Errors
            /// [`Error::OutOfRange`](crate::Error::OutOfRange).
            pub fn range(&mut self, range: impl RangeBounds<usize>) -> Result<$ViewMut<'_, T>> {
                self.0.elements(range).map($ViewMut)
            }

            /// Elements.
            pub const fn len(&self) -> usize {
                self.0.ncols()
            }

            /// Whether there are none.
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Copies as many other elements here; see [`MatrixViewMut::copy_from`].
            ///
            /// # Errors
            /// As there.
            pub fn copy_from<'s>(&mut self, source: impl Into<$View<'s, T>>) -> Result<()> {
                self.0.copy_from(source.into().0)
            }

            /// The same, to read.
            pub fn as_view(&self) -> $View<'_, T> {
                $View(self.0.as_view())
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

        impl<'a, T: Number> From<&'a mut $Owned<T>> for $ViewMut<'a, T> {
            fn from(owned: &'a mut $Owned<T>) -> Self {
                owned.view_mut()
            }
        }

        impl<'a, T: Number> From<&$View<'a, T>> for $View<'a, T> {
            fn from(view: &$View<'a, T>) -> Self {
                view.clone()
            }
        }

        impl<'b, T: Number> From<&'b mut $ViewMut<'_, T>> for $ViewMut<'b, T> {
            fn from(view: &'b mut $ViewMut<'_, T>) -> Self {
                $ViewMut((&mut view.0).into())
            }
        }

        impl<'a, T: Element> From<$View<'a, T>> for Argument<'a> {
            fn from(view: $View<'a, T>) -> Self {
                view.0.into()
            }
        }

        impl<'a, T: Element> From<$ViewMut<'a, T>> for Argument<'a> {
            fn from(view: $ViewMut<'a, T>) -> Self {
                view.0.into()
            }
        }

        impl<T: Number> fmt::Debug for $Owned<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>({}, on {})", stringify!($Owned), T::DTYPE, self.len(), self.device())
            }
        }

        impl<T: Number> fmt::Debug for $View<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>({}, on {})", stringify!($View), T::DTYPE, self.len(), self.device())
            }
        }

        impl<T: Number> fmt::Debug for $ViewMut<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>({}, on {})", stringify!($ViewMut), T::DTYPE, self.len(), self.device())
            }
        }
    };
}

vector! {
    /// One element for each column of a matrix, on the CPU or on a GPU: a bias, a norm's weight.
    ///
    /// ```
    /// use autokernel_runtime::{Device, Row};
    ///
    /// let weight = Row::from_slice(&Device::cpu(), &[1.0f32, 2.0, 3.0])?;
    /// assert_eq!(weight.view().range(1..)?.to_vec()?, [2.0, 3.0]);
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    Row, RowView, RowViewMut
}

vector! {
    /// One element for each row of a matrix, on the CPU or on a GPU: a scale, a statistic.
    ///
    /// ```
    /// use autokernel_runtime::{Column, Device};
    ///
    /// let sums: Column<f32> = Column::zeros(&Device::cpu(), 3)?;
    /// assert_eq!(sums.to_vec()?, [0.0; 3]);
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    Column, ColumnView, ColumnViewMut
}

vector! {
    /// One number for each matrix of a batch, or each group of rows, on the CPU or on a GPU: the scale of each expert's weights.
    ///
    /// ```
    /// use autokernel_runtime::{Device, ScalarBatch};
    ///
    /// let scales = ScalarBatch::from_slice(&Device::cpu(), &[0.5f32, 0.25])?;
    /// assert_eq!(scales.len(), 2);
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    ScalarBatch, ScalarBatchView, ScalarBatchViewMut
}
