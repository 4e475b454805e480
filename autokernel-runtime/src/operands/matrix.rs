//! Owned matrices.

use std::fmt;

use cudarc::driver::CudaSlice;

use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{Device, Error, MatrixView, MatrixViewMut, Number, Result};

/// An owned row-major matrix on the CPU or on a GPU.
///
/// Number `(r, c)` is at `r * ld + c` of its buffer, in elements.
///
/// ```
/// use autokernel_runtime::{Device, Matrix};
///
/// let device = Device::cpu();
/// let matrix = Matrix::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?;
/// assert_eq!(matrix.view().columns(1..)?.to_vec()?, [2.0, 3.0, 5.0, 6.0]);
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Matrix<T> {
    buffer: Buffer<T>,
    layout: Layout,
}

enum Buffer<T> {
    Host(Vec<T>),
    Cuda(CudaSlice<T>),
}

impl<T: Number> Matrix<T> {
    /// A `rows` × `columns` matrix of zeros without gaps.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn zeros(device: &Device, rows: usize, columns: usize) -> Result<Self> {
        Self::zeros_with_ld(device, rows, columns, columns)
    }

    /// A `rows` × `columns` matrix of zeros with `ld` elements from one row to the next.
    ///
    /// The buffer holds `rows * ld` elements; the gaps are zero too.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`] if `ld < columns`, [`Error::OutOfMemory`], or the driver's own error.
    pub fn zeros_with_ld(device: &Device, rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let too_large = || Error::out_of_memory::<T>(device, rows as u128 * ld as u128);
        let len = rows.checked_mul(ld).ok_or_else(too_large)?;
        let layout = Layout::strided(len, rows, columns, ld)?;
        let buffer = match device.stream() {
            None => Buffer::Host(alloc::host_zeros(len)?),
            Some(stream) => Buffer::Cuda(alloc::device_zeros(stream, len)?),
        };
        Ok(Self { buffer, layout })
    }

    /// A copy of exactly `rows * columns` elements, row by row.
    ///
    /// # Errors
    /// [`Error::BufferSize`], [`Error::OutOfMemory`], or the driver's own error.
    pub fn from_slice(device: &Device, data: &[T], rows: usize, columns: usize) -> Result<Self> {
        Self::from_buffer(device, data, Layout::dense(data.len(), rows, columns)?)
    }

    /// A copy of a slice with `ld` elements from one row to the next, gaps included.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`], and as [`Matrix::from_slice`].
    pub fn from_slice_with_ld(device: &Device, data: &[T], rows: usize, columns: usize, ld: usize) -> Result<Self> {
        Self::from_buffer(device, data, Layout::strided(data.len(), rows, columns, ld)?)
    }

    fn from_buffer(device: &Device, data: &[T], layout: Layout) -> Result<Self> {
        let buffer = match device.stream() {
            None => Buffer::Host(alloc::host_copy(data)?),
            Some(stream) => Buffer::Cuda(alloc::device_copy(stream, data)?),
        };
        Ok(Self { buffer, layout })
    }

    /// Takes over a cudarc slice of exactly `rows * columns` elements, with no copy.
    ///
    /// # Errors
    /// [`Error::BufferSize`].
    pub fn from_cudarc(slice: CudaSlice<T>, rows: usize, columns: usize) -> Result<Self> {
        let layout = Layout::dense(slice.len(), rows, columns)?;
        Ok(Self { buffer: Buffer::Cuda(slice), layout })
    }

    /// Takes over a cudarc slice as a matrix of one row.
    pub(crate) fn one_row(slice: CudaSlice<T>) -> Self {
        let layout = Layout::one_row(slice.len());
        Self::laid_out(slice, layout)
    }

    /// Takes over a cudarc slice that holds what the layout spans.
    pub(crate) const fn laid_out(slice: CudaSlice<T>, layout: Layout) -> Self {
        Self { buffer: Buffer::Cuda(slice), layout }
    }

    /// Hands the buffer back to cudarc, gaps included; `None` if the matrix is on the CPU. An empty matrix has a slice of one element,
    /// as CUDA allocates nothing of no size.
    pub fn into_cudarc(self) -> Option<CudaSlice<T>> {
        match self.buffer {
            Buffer::Host(_) => None,
            Buffer::Cuda(slice) => Some(slice),
        }
    }

    /// The buffer as cudarc's, gaps included, for other libraries to read; `None` if the matrix is on the CPU.
    pub const fn as_cudarc(&self) -> Option<&CudaSlice<T>> {
        match &self.buffer {
            Buffer::Host(_) => None,
            Buffer::Cuda(slice) => Some(slice),
        }
    }

    /// The buffer as cudarc's, gaps included, for other libraries to write; `None` if the matrix is on the CPU.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<T>> {
        match &mut self.buffer {
            Buffer::Host(_) => None,
            Buffer::Cuda(slice) => Some(slice),
        }
    }

    pub(crate) fn host(&self) -> Option<&[T]> {
        match &self.buffer {
            Buffer::Host(data) => Some(data),
            Buffer::Cuda(_) => None,
        }
    }

    pub(crate) fn host_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.buffer {
            Buffer::Host(data) => Some(data),
            Buffer::Cuda(_) => None,
        }
    }

    /// Rows.
    pub const fn nrows(&self) -> usize {
        self.layout.rows
    }

    /// Columns.
    pub const fn ncols(&self) -> usize {
        self.layout.columns
    }

    /// Leading dimension: elements from one row to the next; at least the number of columns.
    pub const fn ld(&self) -> usize {
        self.layout.ld
    }

    /// The device that the matrix is on.
    pub fn device(&self) -> Device {
        self.view().device()
    }

    /// The whole matrix, to read.
    pub fn view(&self) -> MatrixView<'_, T> {
        let storage = match &self.buffer {
            Buffer::Host(data) => Storage::Host(data),
            Buffer::Cuda(slice) => Storage::Cuda(slice.as_view()),
        };
        MatrixView { storage, layout: self.layout }
    }

    /// The whole matrix, to write.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, T> {
        let storage = match &mut self.buffer {
            Buffer::Host(data) => StorageMut::Host(data),
            Buffer::Cuda(slice) => StorageMut::Cuda(slice.as_view_mut()),
        };
        MatrixViewMut { storage, layout: self.layout }
    }

    /// The elements, copied to the host row by row without gaps. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }
}

impl<'a, T: Number> From<&'a Matrix<T>> for MatrixView<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        matrix.view()
    }
}

impl<'a, T: Number> From<&'a mut Matrix<T>> for MatrixViewMut<'a, T> {
    fn from(matrix: &'a mut Matrix<T>) -> Self {
        matrix.view_mut()
    }
}

impl<T: Number> fmt::Debug for Matrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { rows, columns, ld, .. } = self.layout;
        write!(f, "Matrix<{}>({rows}x{columns}, ld {ld}, on {})", T::DTYPE, self.device())
    }
}
