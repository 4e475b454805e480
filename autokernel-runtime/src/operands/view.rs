//! Borrowed matrices: over host slices and over cudarc's device slices, with no copy.

use std::fmt;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use autokernel_ops::body::Kind;
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};

use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::operands::packed;
use crate::{Device, Error, Number, Result};

/// A borrowed row-major matrix on the host or on a GPU.
///
/// Number `(r, c)` is at `r * ld + c` of the buffer, in elements. Every bound is checked when the view is made, so
/// a kernel can never be pointed outside the buffer.
pub struct MatrixView<'a, T> {
    pub(crate) storage: Storage<'a, T>,
    pub(crate) layout: Layout,
}

pub(crate) enum Storage<'a, T> {
    Host(&'a [T]),
    /// On the host, a copy of what begins at an address that is written.
    Before(&'a [T], usize),
    Cuda(CudaView<'a, T>),
}

/// A mutably borrowed row-major matrix on the host or on a GPU; see [`MatrixView`].
pub struct MatrixViewMut<'a, T> {
    pub(crate) storage: StorageMut<'a, T>,
    pub(crate) layout: Layout,
}

pub(crate) enum StorageMut<'a, T> {
    Host(&'a mut [T]),
    Cuda(CudaViewMut<'a, T>),
}

/// The parts of both views that only read the shape.
macro_rules! extents {
    () => {
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
    };
}

impl<'a, T: Number> MatrixView<'a, T> {
    extents!();

    /// A host slice of exactly `rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BufferSize`].
    pub fn from_slice(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        let layout = Layout::dense(data.len(), rows, columns)?;
        Ok(Self { storage: Storage::Host(data), layout })
    }

    /// A host slice with `ld` elements from one row to the next.
    ///
    /// # Errors
    /// [`Error::BufferSize`] below `(rows - 1) * ld + columns` elements, [`Error::LeadingDimension`] if `ld < columns`.
    pub fn from_slice_with_ld(data: &'a [T], rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let layout = Layout::strided(data.len(), rows, columns, ld)?;
        Ok(Self { storage: Storage::Host(data), layout })
    }

    /// A cudarc device slice (`slice.as_view()`, `slice.slice(..)`) of exactly `rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BufferSize`].
    pub fn from_cudarc(data: CudaView<'a, T>, rows: usize, columns: usize) -> Result<Self> {
        let layout = Layout::dense(data.len(), rows, columns)?;
        Ok(Self { storage: Storage::Cuda(data), layout })
    }

    /// A cudarc device slice with `ld` elements from one row to the next.
    ///
    /// # Errors
    /// As [`MatrixView::from_slice_with_ld`].
    pub fn from_cudarc_with_ld(data: CudaView<'a, T>, rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let layout = Layout::strided(data.len(), rows, columns, ld)?;
        Ok(Self { storage: Storage::Cuda(data), layout })
    }

    /// Some of the rows, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (layout, elements) = self.layout.rows(range)?;
        Ok(Self { storage: self.storage.slice(elements), layout })
    }

    /// Some of the columns, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Packing`] for numbers of 4 bits from within 16 bytes that stand together.
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let columns = self.layout.columns(range)?;
        self.within_rows(columns)
    }

    /// Some elements of one row, which stands for what has one axis.
    pub(crate) fn elements(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let elements = self.layout.elements(range)?;
        self.within_rows(elements)
    }

    fn within_rows(&self, (layout, elements): (Layout, Range<usize>)) -> Result<Self> {
        packed::begins_a_unit(T::DTYPE, elements.start)?;
        Ok(Self { storage: self.storage.slice(elements), layout })
    }

    /// The same elements as rows of another length, with no copy: a token's heads each a row of its own.
    ///
    /// # Errors
    /// [`Error::BufferSize`] where that is not as many elements, or there are gaps between the rows.
    pub fn reshaped(&self, rows: usize, columns: usize) -> Result<Self> {
        Ok(Self { layout: self.layout.reshaped(rows, columns)?, ..self.clone() })
    }

    /// Some rows of an operand of that kind: a column has an element for each.
    pub(crate) fn of_rows(&self, rows: Range<usize>, kind: Kind) -> Result<Self> {
        if kind == Kind::Matrix { self.rows(rows) } else { self.columns(rows) }
    }

    /// What product `number` of a batch has of an operand of that kind.
    pub(crate) fn of_product(&self, number: usize, kind: Kind) -> Result<Self> {
        let (layout, elements) = self.layout.of_product(number, kind)?;
        Ok(Self { storage: self.storage.slice(elements), layout }.only())
    }

    /// The matrix of a batch of one.
    pub(crate) fn only(self) -> Self {
        let Layout { rows, columns, ld, .. } = self.layout;
        Self { layout: Layout::matrix(rows, columns, ld), ..self }
    }

    /// The cudarc view behind it, from element (0, 0) on; `None` on the host.
    pub const fn as_cudarc(&self) -> Option<&CudaView<'a, T>> {
        match &self.storage {
            Storage::Host(_) | Storage::Before(..) => None,
            Storage::Cuda(view) => Some(view),
        }
    }

    /// The device that the matrix is on.
    pub fn device(&self) -> Device {
        self.stream().map_or(Device::cpu(), |stream| Device::from_cudarc(stream.clone()))
    }

    pub(crate) fn stream(&self) -> Option<&Arc<CudaStream>> {
        match &self.storage {
            Storage::Host(_) | Storage::Before(..) => None,
            Storage::Cuda(view) => Some(view.stream()),
        }
    }

    /// The elements, copied to the host row by row without gaps: `rows * columns` of them. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match &self.storage {
            _ if self.layout.is_empty() => Ok(Vec::new()),
            Storage::Host(data) | Storage::Before(data, _) => self.compact(data),
            Storage::Cuda(view) => {
                let stream = view.stream();
                let host = stream.clone_dtoh(view).map_err(Error::cuda("copying a matrix to the host"))?;
                stream.synchronize().map_err(Error::cuda("waiting for the GPU"))?;
                self.compact(&host)
            }
        }
    }

    /// Rows without the gaps between them.
    fn compact(&self, data: &[T]) -> Result<Vec<T>> {
        let columns = self.layout.columns;
        // What is repeated may be more than there is.
        let mut dense = alloc::host_empty(self.layout.shape().into_iter().fold(1, usize::saturating_mul))?;
        self.layout.row_starts().for_each(|start| dense.extend_from_slice(&data[start..start + columns]));
        Ok(dense)
    }
}

impl<'a, T> Storage<'a, T> {
    /// What is in host memory; `None` on a GPU.
    pub(crate) const fn host(&self) -> Option<&'a [T]> {
        match self {
            Self::Host(data) | Self::Before(data, _) => Some(data),
            Self::Cuda(_) => None,
        }
    }

    /// A range that the layout has checked; an impossible one gives the empty slice.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        match self {
            // A part of a copy is no more of whoever is written.
            Self::Host(data) | Self::Before(data, _) => Self::Host(data.get(range).unwrap_or_default()),
            Self::Cuda(view) => Self::Cuda(view.try_slice(range).unwrap_or_else(|| view.slice(0..0))),
        }
    }
}

impl<'a, T: Number> MatrixViewMut<'a, T> {
    extents!();

    /// A host slice of exactly `rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BufferSize`].
    pub fn from_slice(data: &'a mut [T], rows: usize, columns: usize) -> Result<Self> {
        let layout = Layout::dense(data.len(), rows, columns)?;
        Ok(Self { storage: StorageMut::Host(data), layout })
    }

    /// A host slice with `ld` elements from one row to the next.
    ///
    /// # Errors
    /// As [`MatrixView::from_slice_with_ld`].
    pub fn from_slice_with_ld(data: &'a mut [T], rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let layout = Layout::strided(data.len(), rows, columns, ld)?;
        Ok(Self { storage: StorageMut::Host(data), layout })
    }

    /// A cudarc device slice (`slice.as_view_mut()`, `slice.slice_mut(..)`) of exactly `rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::BufferSize`].
    pub fn from_cudarc(data: CudaViewMut<'a, T>, rows: usize, columns: usize) -> Result<Self> {
        let layout = Layout::dense(data.len(), rows, columns)?;
        Ok(Self { storage: StorageMut::Cuda(data), layout })
    }

    /// A cudarc device slice with `ld` elements from one row to the next.
    ///
    /// # Errors
    /// As [`MatrixView::from_slice_with_ld`].
    pub fn from_cudarc_with_ld(data: CudaViewMut<'a, T>, rows: usize, columns: usize, ld: usize) -> Result<Self> {
        let layout = Layout::strided(data.len(), rows, columns, ld)?;
        Ok(Self { storage: StorageMut::Cuda(data), layout })
    }

    /// Some of the rows, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn rows(&mut self, range: impl RangeBounds<usize>) -> Result<MatrixViewMut<'_, T>> {
        let (layout, elements) = self.layout.rows(range)?;
        Ok(MatrixViewMut { storage: self.storage.slice(elements), layout })
    }

    /// Some of the columns, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Packing`] for numbers of 4 bits from within 16 bytes that stand together.
    pub fn columns(&mut self, range: impl RangeBounds<usize>) -> Result<MatrixViewMut<'_, T>> {
        let columns = self.layout.columns(range)?;
        self.within_rows(columns)
    }

    /// Some elements of one row, which stands for what has one axis.
    pub(crate) fn elements(&mut self, range: impl RangeBounds<usize>) -> Result<MatrixViewMut<'_, T>> {
        let elements = self.layout.elements(range)?;
        self.within_rows(elements)
    }

    fn within_rows(&mut self, (layout, elements): (Layout, Range<usize>)) -> Result<MatrixViewMut<'_, T>> {
        packed::begins_a_unit(T::DTYPE, elements.start)?;
        Ok(MatrixViewMut { storage: self.storage.slice(elements), layout })
    }

    /// The same elements as rows of another length, as [`MatrixView::reshaped`].
    ///
    /// # Errors
    /// [`Error::BufferSize`] where that is not as many elements, or there are gaps between the rows.
    pub fn reshaped(self, rows: usize, columns: usize) -> Result<Self> {
        Ok(Self { layout: self.layout.reshaped(rows, columns)?, ..self })
    }

    /// The same matrix, borrowed from this view.
    pub(crate) fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        let elements = 0..self.layout.span().unwrap_or(0);
        MatrixViewMut { storage: self.storage.slice(elements), layout: self.layout }
    }

    /// The same matrix, to read.
    pub fn as_view(&self) -> MatrixView<'_, T> {
        let storage = match &self.storage {
            StorageMut::Host(data) => Storage::Host(data),
            StorageMut::Cuda(view) => Storage::Cuda(view.as_view()),
        };
        MatrixView { storage, layout: self.layout }
    }

    /// Some rows of an operand of that kind: a column has an element for each.
    pub(crate) fn of_rows(&mut self, rows: Range<usize>, kind: Kind) -> Result<MatrixViewMut<'_, T>> {
        if kind == Kind::Matrix { self.rows(rows) } else { self.columns(rows) }
    }

    /// What product `number` of a batch has of an operand of that kind.
    pub(crate) fn of_product(&mut self, number: usize, kind: Kind) -> Result<MatrixViewMut<'_, T>> {
        let (layout, elements) = self.layout.of_product(number, kind)?;
        Ok(MatrixViewMut { storage: self.storage.slice(elements), layout }.only())
    }

    /// The matrix of a batch of one.
    pub(crate) fn only(self) -> Self {
        let Layout { rows, columns, ld, .. } = self.layout;
        Self { layout: Layout::matrix(rows, columns, ld), ..self }
    }

    /// The cudarc view behind it, from element (0, 0) on; `None` on the host.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaViewMut<'a, T>> {
        match &mut self.storage {
            StorageMut::Host(_) => None,
            StorageMut::Cuda(view) => Some(view),
        }
    }

    /// The device that the matrix is on.
    pub fn device(&self) -> Device {
        self.stream().map_or(Device::cpu(), |stream| Device::from_cudarc(stream.clone()))
    }

    pub(crate) fn stream(&self) -> Option<&Arc<CudaStream>> {
        match &self.storage {
            StorageMut::Host(_) => None,
            StorageMut::Cuda(view) => Some(view.stream()),
        }
    }
}

impl<T> StorageMut<'_, T> {
    /// A range that the layout has checked; an impossible one gives the empty slice.
    pub(crate) fn slice(&mut self, range: std::ops::Range<usize>) -> StorageMut<'_, T> {
        match self {
            Self::Host(data) => StorageMut::Host(data.get_mut(range).unwrap_or_default()),
            Self::Cuda(view) => {
                let range = if range.end <= view.len() { range } else { 0..0 };
                StorageMut::Cuda(view.slice_mut(range))
            }
        }
    }
}

impl<T: Number> Clone for MatrixView<'_, T> {
    fn clone(&self) -> Self {
        let storage = match &self.storage {
            Storage::Host(data) => Storage::Host(data),
            Storage::Before(data, of) => Storage::Before(data, *of),
            Storage::Cuda(view) => Storage::Cuda(view.slice(..)),
        };
        Self { storage, layout: self.layout }
    }
}

impl<'a, T: Number> From<&MatrixView<'a, T>> for MatrixView<'a, T> {
    fn from(view: &MatrixView<'a, T>) -> Self {
        view.clone()
    }
}

impl<'b, T: Number> From<&'b MatrixViewMut<'_, T>> for MatrixView<'b, T> {
    fn from(view: &'b MatrixViewMut<'_, T>) -> Self {
        view.as_view()
    }
}

impl<'b, T: Number> From<&'b mut MatrixViewMut<'_, T>> for MatrixViewMut<'b, T> {
    fn from(view: &'b mut MatrixViewMut<'_, T>) -> Self {
        let storage = match &mut view.storage {
            StorageMut::Host(data) => StorageMut::Host(data),
            StorageMut::Cuda(data) => StorageMut::Cuda(data.slice_mut(..)),
        };
        MatrixViewMut { storage, layout: view.layout }
    }
}

impl<T: Number> fmt::Debug for MatrixView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { rows, columns, ld, .. } = self.layout;
        write!(f, "MatrixView<{}>({rows}x{columns}, ld {ld}, on {})", T::DTYPE, self.device())
    }
}

impl<T: Number> fmt::Debug for MatrixViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { rows, columns, ld, .. } = self.layout;
        write!(f, "MatrixViewMut<{}>({rows}x{columns}, ld {ld}, on {})", T::DTYPE, self.device())
    }
}
