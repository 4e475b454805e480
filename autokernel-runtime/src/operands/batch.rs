//! Batches: matrices of one shape, a stride apart. What `batch` is to a tensor of three axes.

use std::fmt;
use std::ops::RangeBounds;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{Argument, Device, Element, Error, Matrix, MatrixView, MatrixViewMut, Number, Result};

/// An owned batch of row-major matrices of one shape, on the CPU or on a GPU: a tensor `[batch, rows, columns]` without gaps.
///
/// Shapes are given as `[batch, rows, columns]`, strides in elements as `[stride, ld]`: from one matrix, and from one row, to
/// the next. Views may have any strides that stay inside their buffer; a stride of 0 is a broadcast.
///
/// ```
/// use autokernel_runtime::{Batch, Device};
///
/// let batch = Batch::from_slice(&Device::cpu(), &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 1, 2])?;
/// assert_eq!(batch.view().matrix(1)?.to_vec()?, [3.0, 4.0]);
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Batch<T> {
    /// The matrices one below the other.
    rows: Matrix<T>,
    layout: Layout,
}

/// A borrowed [`Batch`] on the host or on a GPU, of any strides.
#[derive(Clone)]
pub struct BatchView<'a, T: Number>(pub(crate) MatrixView<'a, T>);

/// A mutably borrowed [`Batch`] on the host or on a GPU, whose matrices share no element.
pub struct BatchViewMut<'a, T>(pub(crate) MatrixViewMut<'a, T>);

impl<T: Number> Batch<T> {
    /// Zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn zeros(device: &Device, shape: [usize; 3]) -> Result<Self> {
        let [batch, rows, columns] = shape;
        let len = shape.iter().try_fold(1usize, |len, size| len.checked_mul(*size));
        let layout = Layout::dense_batch(len.ok_or_else(|| Error::out_of_memory::<T>(device, u128::MAX))?, shape)?;
        Ok(Self { rows: Matrix::zeros(device, batch.saturating_mul(rows), columns)?, layout })
    }

    /// A copy of exactly `batch * rows * columns` elements, matrix by matrix and row by row.
    ///
    /// # Errors
    /// [`Error::BatchSize`](crate::Error::BatchSize), [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own
    /// error.
    pub fn from_slice(device: &Device, data: &[T], shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(data.len(), shape)?;
        let [batch, rows, columns] = shape;
        Ok(Self { rows: Matrix::from_slice(device, data, batch.saturating_mul(rows), columns)?, layout })
    }

    /// Takes over a cudarc slice of exactly `batch * rows * columns` elements, with no copy.
    ///
    /// # Errors
    /// [`Error::BatchSize`](crate::Error::BatchSize).
    pub fn from_cudarc(slice: CudaSlice<T>, shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(slice.len(), shape)?;
        let [batch, rows, columns] = shape;
        Ok(Self { rows: Matrix::from_cudarc(slice, batch.saturating_mul(rows), columns)?, layout })
    }

    /// Hands the buffer back to cudarc; `None` if it is on the CPU.
    pub fn into_cudarc(self) -> Option<CudaSlice<T>> {
        self.rows.into_cudarc()
    }

    /// Matrices, rows and columns.
    pub const fn shape(&self) -> [usize; 3] {
        let [_, matrices, rows, columns] = self.layout.shape();
        [matrices, rows, columns]
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.rows.device()
    }

    /// The matrices one below the other: `[batch * rows, columns]`.
    pub const fn as_matrix(&self) -> &Matrix<T> {
        &self.rows
    }

    /// The same, to write.
    pub const fn as_matrix_mut(&mut self) -> &mut Matrix<T> {
        &mut self.rows
    }

    /// All of it, to read.
    pub fn view(&self) -> BatchView<'_, T> {
        BatchView(MatrixView { layout: self.layout, ..self.rows.view() })
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> BatchViewMut<'_, T> {
        BatchViewMut(MatrixViewMut { layout: self.layout, ..self.rows.view_mut() })
    }

    /// The elements, copied to the host matrix by matrix and row by row. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.rows.to_vec()
    }

    /// A copy on the same device; see [`Matrix::try_clone`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { rows: self.rows.try_clone()?, layout: self.layout })
    }

    /// A copy on another device, or the same one; see [`Matrix::to_device`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        Ok(Self { rows: self.rows.to_device(device)?, layout: self.layout })
    }
}

/// The parts of both views that only read the shape.
macro_rules! shape {
    () => {
        /// Matrices, rows and columns.
        pub const fn shape(&self) -> [usize; 3] {
            let [_, matrices, rows, columns] = self.0.layout.shape();
            [matrices, rows, columns]
        }

        /// Elements from one matrix to the next, and from one row to the next.
        pub const fn strides(&self) -> [usize; 2] {
            let [_, stride, ld] = self.0.layout.strides();
            [stride, ld]
        }

        /// The device that it is on.
        pub fn device(&self) -> Device {
            self.0.device()
        }
    };
}

impl<'a, T: Number> BatchView<'a, T> {
    shape!();

    /// A host slice of exactly `batch * rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BatchSize`](crate::Error::BatchSize).
    pub fn from_slice(data: &'a [T], shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(data.len(), shape)?;
        Ok(Self(MatrixView { storage: Storage::Host(data), layout }))
    }

    /// A host slice with any strides; one of 0 between matrices is a broadcast.
    ///
    /// # Errors
    /// [`Error::BatchSize`](crate::Error::BatchSize) where it ends before the last element,
    /// [`Error::LeadingDimension`](crate::Error::LeadingDimension) if rows overlap.
    pub fn from_slice_with_strides(data: &'a [T], shape: [usize; 3], strides: [usize; 2]) -> Result<Self> {
        let layout = Layout::strided_batch(data.len(), shape, strides)?;
        Ok(Self(MatrixView { storage: Storage::Host(data), layout }))
    }

    /// A cudarc device slice of exactly `batch * rows * columns` elements.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice).
    pub fn from_cudarc(data: CudaView<'a, T>, shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(cudarc::driver::DeviceSlice::len(&data), shape)?;
        Ok(Self(MatrixView { storage: Storage::Cuda(data), layout }))
    }

    /// A cudarc device slice with any strides.
    ///
    /// # Errors
    /// As [`from_slice_with_strides`](Self::from_slice_with_strides).
    pub fn from_cudarc_with_strides(data: CudaView<'a, T>, shape: [usize; 3], strides: [usize; 2]) -> Result<Self> {
        let layout = Layout::strided_batch(cudarc::driver::DeviceSlice::len(&data), shape, strides)?;
        Ok(Self(MatrixView { storage: Storage::Cuda(data), layout }))
    }

    /// The cudarc view behind it, from the first element on; `None` on the host.
    pub const fn as_cudarc(&self) -> Option<&CudaView<'a, T>> {
        self.0.as_cudarc()
    }

    /// One matrix for all of a batch of `batch`, with no copy.
    pub fn broadcast(matrix: impl Into<MatrixView<'a, T>>, batch: usize) -> Self {
        let matrix = matrix.into();
        let layout = matrix.layout.broadcast(batch);
        Self(MatrixView { layout, ..matrix })
    }

    /// One of the matrices, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn matrix(&self, number: usize) -> Result<MatrixView<'a, T>> {
        self.matrices(number..=number).map(|one| one.0.only())
    }

    /// Some of the matrices, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn matrices(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (layout, elements) = self.0.layout.matrices(range)?;
        Ok(Self(MatrixView { storage: self.0.storage.slice(elements), layout }))
    }

    /// Some of the rows of each, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        self.0.rows(range).map(Self)
    }

    /// Some of the columns of each, with no copy.
    ///
    /// # Errors
    /// As [`MatrixView::columns`].
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        self.0.columns(range).map(Self)
    }

    /// The elements, copied to the host without gaps. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.0.to_vec()
    }
}

impl<'a, T> BatchViewMut<'a, T> {
    /// All of its matrices, as one that is written.
    pub(crate) const fn memory(&self) -> &MatrixViewMut<'a, T> {
        &self.0
    }
}

impl<'a, T: Number> BatchViewMut<'a, T> {
    shape!();

    /// A host slice of exactly `batch * rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BatchSize`](crate::Error::BatchSize).
    pub fn from_slice(data: &'a mut [T], shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(data.len(), shape)?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Host(data), layout }))
    }

    /// A host slice with strides at which no two matrices share an element.
    ///
    /// # Errors
    /// As [`BatchView::from_slice_with_strides`], and [`Error::Overlap`](crate::Error::Overlap).
    pub fn from_slice_with_strides(data: &'a mut [T], shape: [usize; 3], strides: [usize; 2]) -> Result<Self> {
        let layout = Layout::strided_batch(data.len(), shape, strides)?.apart()?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Host(data), layout }))
    }

    /// A cudarc device slice of exactly `batch * rows * columns` elements.
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice).
    pub fn from_cudarc(data: CudaViewMut<'a, T>, shape: [usize; 3]) -> Result<Self> {
        let layout = Layout::dense_batch(cudarc::driver::DeviceSlice::len(&data), shape)?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout }))
    }

    /// A cudarc device slice with strides at which no two matrices share an element.
    ///
    /// # Errors
    /// As [`from_slice_with_strides`](Self::from_slice_with_strides).
    pub fn from_cudarc_with_strides(data: CudaViewMut<'a, T>, shape: [usize; 3], strides: [usize; 2]) -> Result<Self> {
        let layout = Layout::strided_batch(cudarc::driver::DeviceSlice::len(&data), shape, strides)?.apart()?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout }))
    }

    /// One of the matrices, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn matrix(&mut self, number: usize) -> Result<MatrixViewMut<'_, T>> {
        self.matrices(number..=number).map(|one| one.0.only())
    }

    /// Some of the matrices, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn matrices(&mut self, range: impl RangeBounds<usize>) -> Result<BatchViewMut<'_, T>> {
        let (layout, elements) = self.0.layout.matrices(range)?;
        Ok(BatchViewMut(MatrixViewMut { storage: self.0.storage.slice(elements), layout }))
    }

    /// The same, to read.
    pub fn as_view(&self) -> BatchView<'_, T> {
        BatchView(self.0.as_view())
    }
}

impl<'a, T: Number> From<&'a Batch<T>> for BatchView<'a, T> {
    fn from(batch: &'a Batch<T>) -> Self {
        batch.view()
    }
}

impl<'a, T: Number> From<&'a mut Batch<T>> for BatchViewMut<'a, T> {
    fn from(batch: &'a mut Batch<T>) -> Self {
        batch.view_mut()
    }
}

impl<'a, T: Number> From<&BatchView<'a, T>> for BatchView<'a, T> {
    fn from(view: &BatchView<'a, T>) -> Self {
        view.clone()
    }
}

impl<'b, T: Number> From<&'b mut BatchViewMut<'_, T>> for BatchViewMut<'b, T> {
    fn from(view: &'b mut BatchViewMut<'_, T>) -> Self {
        BatchViewMut((&mut view.0).into())
    }
}

impl<'a, T: Element> From<BatchView<'a, T>> for Argument<'a> {
    fn from(view: BatchView<'a, T>) -> Self {
        view.0.into()
    }
}

impl<'a, T: Element> From<BatchViewMut<'a, T>> for Argument<'a> {
    fn from(view: BatchViewMut<'a, T>) -> Self {
        view.0.into()
    }
}

impl<'a, T: Element> From<&'a Batch<T>> for Argument<'a> {
    fn from(batch: &'a Batch<T>) -> Self {
        batch.view().into()
    }
}

impl<'a, T: Element> From<&'a mut Batch<T>> for Argument<'a> {
    fn from(batch: &'a mut Batch<T>) -> Self {
        batch.view_mut().into()
    }
}

fn describe(f: &mut fmt::Formatter<'_>, name: &str, layout: Layout, device: &Device) -> fmt::Result {
    let ([_, matrices, rows, columns], [_, stride, ld]) = (layout.shape(), layout.strides());
    write!(f, "{name}({matrices}x{rows}x{columns}, stride {stride}, ld {ld}, on {device})")
}

impl<T: Number> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &format!("Batch<{}>", T::DTYPE), self.layout, &self.device())
    }
}

impl<T: Number> fmt::Debug for BatchView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &format!("BatchView<{}>", T::DTYPE), self.0.layout, &self.device())
    }
}

impl<T: Number> fmt::Debug for BatchViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &format!("BatchViewMut<{}>", T::DTYPE), self.0.layout, &self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_nothing_can_count_are_errors_and_parts_of_nothing_are_empty() {
        let cpu = Device::cpu();
        for shape in [[usize::MAX, 2, 0], [usize::MAX, 2, 3]] {
            assert!(Batch::<f32>::zeros(&cpu, shape).is_err(), "{shape:?}");
            assert!(Batch::<f32>::from_slice(&cpu, &[1.0], shape).is_err(), "{shape:?}");
        }
        let nothing = BatchView::<f32>::from_slice_with_strides(&[], [3, 2, 0], [usize::MAX; 2]).unwrap();
        assert!(nothing.matrix(2).unwrap().rows(1..).unwrap().to_vec().unwrap().is_empty());
        let one = Matrix::from_slice(&cpu, &[1.0f32], 1, 1).unwrap();
        let broadcast = BatchView::broadcast(&one, usize::MAX);
        assert!(matches!(broadcast.to_vec(), Err(Error::OutOfMemory { .. })));
        assert_eq!(broadcast.matrix(usize::MAX - 1).unwrap().to_vec().unwrap(), [1.0]);
        assert!(matches!(broadcast.matrix(usize::MAX), Err(Error::OutOfRange { .. })));
    }
}
