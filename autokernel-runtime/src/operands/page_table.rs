//! The pages of a cache that sequences have.

use std::fmt;

use cudarc::driver::{CudaSlice, CudaView};

use super::index::signed_on_gpu;
use crate::{AnyView, Argument, Device, Matrix, MatrixView, Result, RowNumber};

/// The pages of a cache that hold the keys and values of each sequence, in order: a row of numbers of pages for each, as long as
/// the longest needs. What stands behind a sequence's last page is not read.
///
/// A number of no page stands for keys and values of zeros.
///
/// ```
/// use autokernel_runtime::{Device, PageTable};
///
/// let mut pages = PageTable::from_slice(&Device::cpu(), &[4, 0, 2, /* the second sequence: */ 1, -1, -1], 2)?;
/// assert_eq!((pages.sequences(), pages.pages()), (2, 3));
/// pages.copy_from_slice(&[4, 0, 2, 1, 3, -1])?; // it has grown
/// assert_eq!(pages.to_vec()?, [4, 0, 2, 1, 3, -1]);
/// assert!(pages.copy_from_slice(&[4, 0]).is_err());
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct PageTable(Matrix<i32>);

/// A borrowed [`PageTable`] on the host or on a GPU.
#[derive(Clone)]
pub struct PageTableView<'a>(MatrixView<'a, i32>);

/// The least columns that hold so many elements in that many rows, where there are some. What does not fill them up is refused.
fn columns(len: usize, rows: usize) -> usize {
    if rows == 0 { 0 } else { len.div_ceil(rows) }
}

impl PageTable {
    /// A copy of as many numbers for each of `sequences`.
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize) where they do not divide into so many rows,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn from_slice<T: RowNumber>(device: &Device, pages: &[T], sequences: usize) -> Result<Self> {
        Matrix::from_slice(device, T::signed(pages), sequences, columns(pages.len(), sequences)).map(Self)
    }

    /// Zeros: the first page everywhere.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn zeros(device: &Device, sequences: usize, pages: usize) -> Result<Self> {
        Matrix::zeros(device, sequences, pages).map(Self)
    }

    /// Copies as many other numbers here, row by row; on a GPU in the order of its stream, so that a captured graph reads them
    /// next.
    ///
    /// # Errors
    /// [`Error::CopyLength`](crate::Error::CopyLength), or the driver's own error.
    pub fn copy_from_slice<T: RowNumber>(&mut self, pages: &[T]) -> Result<()> {
        self.0.copy_from_slice(T::signed(pages))
    }

    /// Takes over a cudarc slice of as many numbers for each of `sequences`, with no copy.
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize) where they do not divide into so many rows.
    pub fn from_cudarc(slice: CudaSlice<i32>, sequences: usize) -> Result<Self> {
        let columns = columns(cudarc::driver::DeviceSlice::len(&slice), sequences);
        Matrix::from_cudarc(slice, sequences, columns).map(Self)
    }

    /// Hands the buffer back to cudarc; `None` if it is on the CPU.
    pub fn into_cudarc(self) -> Option<CudaSlice<i32>> {
        self.0.into_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to write; `None` if it is on the CPU.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<i32>> {
        self.0.as_cudarc_mut()
    }

    /// Rows: sequences.
    pub const fn sequences(&self) -> usize {
        self.0.nrows()
    }

    /// Columns: the most pages that a sequence may have.
    pub const fn pages(&self) -> usize {
        self.0.ncols()
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.0.device()
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

    /// The numbers row by row, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<i32>> {
        self.0.to_vec()
    }

    /// All of it, to read.
    pub fn view(&self) -> PageTableView<'_> {
        PageTableView(self.0.view())
    }
}

impl<'a> PageTableView<'a> {
    /// A host slice of as many numbers for each of `sequences`.
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize).
    pub fn from_slice<T: RowNumber>(pages: &'a [T], sequences: usize) -> Result<Self> {
        MatrixView::from_slice(T::signed(pages), sequences, columns(pages.len(), sequences)).map(Self)
    }

    /// A host slice in which a row of `pages` numbers for each of `sequences` begins every `ld` numbers.
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize), [`Error::LeadingDimension`](crate::Error::LeadingDimension).
    pub fn from_slice_with_ld<T: RowNumber>(table: &'a [T], sequences: usize, pages: usize, ld: usize) -> Result<Self> {
        MatrixView::from_slice_with_ld(T::signed(table), sequences, pages, ld).map(Self)
    }

    /// A cudarc device slice in which a row of `pages` numbers for each of `sequences` begins every `ld` numbers.
    ///
    /// # Errors
    /// As [`from_slice_with_ld`](Self::from_slice_with_ld).
    pub fn from_cudarc<T: RowNumber>(
        table: CudaView<'a, T>,
        sequences: usize,
        pages: usize,
        ld: usize,
    ) -> Result<Self> {
        match signed_on_gpu(&table) {
            Some(table) => MatrixView::from_cudarc_with_ld(table, sequences, pages, ld).map(Self),
            // As many bytes as there are fit themselves; no view is an empty one.
            None => MatrixView::from_slice_with_ld(&[], sequences, pages, ld).map(Self),
        }
    }

    /// Rows: sequences.
    pub const fn sequences(&self) -> usize {
        self.0.nrows()
    }

    /// Columns: the most pages that a sequence may have.
    pub const fn pages(&self) -> usize {
        self.0.ncols()
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.0.device()
    }
}

impl<'a> From<&'a PageTable> for PageTableView<'a> {
    fn from(owned: &'a PageTable) -> Self {
        owned.view()
    }
}

impl<'a> From<&PageTableView<'a>> for PageTableView<'a> {
    fn from(view: &PageTableView<'a>) -> Self {
        view.clone()
    }
}

impl<'a> From<PageTableView<'a>> for Argument<'a> {
    fn from(view: PageTableView<'a>) -> Self {
        Argument::Read(AnyView::I32(view.0))
    }
}

impl fmt::Debug for PageTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageTable({}x{}, on {})", self.sequences(), self.pages(), self.device())
    }
}

impl fmt::Debug for PageTableView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageTableView({}x{}, on {})", self.sequences(), self.pages(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fill_a_row_for_each_sequence_are_told_how_many_would() {
        let table = |pages: &[i32], sequences| PageTable::from_slice(&Device::cpu(), pages, sequences);
        assert_eq!(table(&[4, 0, 2, 1], 2).unwrap().pages(), 2);
        let text = table(&[4, 0, 2], 2).unwrap_err().to_string();
        assert!(text.contains("3 elements is no 2x2 matrix") && text.contains("it needs 4"), "{text}");
        assert!(table(&[4], 0).is_err() && table(&[], 0).is_ok() && table(&[], 3).is_ok());
        assert!(PageTableView::from_slice(&[4, 0, 2], 2).is_err());
    }
}
