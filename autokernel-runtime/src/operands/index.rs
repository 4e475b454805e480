//! Numbers of rows, which pick those of other operands.

use std::fmt;
use std::ops::RangeBounds;

use autokernel_core::Each;
use cudarc::driver::{CudaSlice, CudaView};

use crate::operands::layout::Layout;
use crate::operands::view::Storage;
use crate::{AnyView, Argument, Device, Error, Matrix, MatrixView, MatrixViewMut, Result};

const fn layout(len: usize) -> Layout {
    Layout::one_row(len)
}

mod sealed {
    /// Keeps [`super::RowNumber`] to the types of which kernels read the bits as they are.
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

/// A number of a row: `i32`, or `u32`, of which those from 2³¹ on pick no row. Sealed.
pub trait RowNumber: sealed::Sealed + Copy + cudarc::driver::DeviceRepr + 'static {
    /// The same bits with a sign.
    #[doc(hidden)]
    fn signed(numbers: &[Self]) -> &[i32];
}

impl RowNumber for i32 {
    fn signed(numbers: &[Self]) -> &[i32] {
        numbers
    }
}

impl RowNumber for u32 {
    fn signed(numbers: &[Self]) -> &[i32] {
        // SAFETY: both types have the same size and alignment, and every pattern of bits is a number of both.
        unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
    }
}

/// The number of a row for each row of a launch, on the CPU or on a GPU: the tokens of an embedding, slots of a cache.
///
/// A number that is negative or too large picks no row: what is read there is NaN, as a factor of `dot` zeros, and what is written is left out. Write -1 for none
/// on purpose: launches that are checked ([`set_checked`](crate::set_checked)) refuse any other.
///
/// ```
/// use autokernel_runtime::{Device, Index};
///
/// let ids = Index::from_slice(&Device::cpu(), &[2u32, 0, 7])?;
/// assert!(ids.check(8).is_ok() && ids.check(7).is_err());
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Index(Matrix<i32>);

/// A borrowed [`Index`] on the host or on a GPU.
#[derive(Clone)]
pub struct IndexView<'a>(MatrixView<'a, i32>);

impl Index {
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
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn from_slice<T: RowNumber>(device: &Device, rows: &[T]) -> Result<Self> {
        Matrix::from_slice(device, T::signed(rows), 1, rows.len()).map(Self)
    }

    /// Copies as many other numbers here; on a GPU in the order of its stream, so that a captured graph reads them next.
    ///
    /// # Errors
    /// [`Error::CopyLength`](crate::Error::CopyLength), or the driver's own error.
    pub fn copy_from_slice<T: RowNumber>(&mut self, rows: &[T]) -> Result<()> {
        self.0.copy_from_slice(T::signed(rows))
    }

    /// Takes over a cudarc slice, with no copy. One of `u32` is borrowed by [`IndexView::from_cudarc`].
    pub fn from_cudarc(slice: CudaSlice<i32>) -> Self {
        Self(Matrix::one_row(slice))
    }

    /// Hands the buffer back to cudarc; `None` if it is on the CPU. An empty one has a slice of one element, which
    /// [`from_cudarc`](Self::from_cudarc) would count: CUDA allocates nothing of no size.
    pub fn into_cudarc(self) -> Option<CudaSlice<i32>> {
        self.0.into_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to read; `None` if it is on the CPU.
    pub const fn as_cudarc(&self) -> Option<&CudaSlice<i32>> {
        self.0.as_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to write; `None` if it is on the CPU.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<i32>> {
        self.0.as_cudarc_mut()
    }

    /// Rows of a launch that it has a number for.
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
    pub fn view(&self) -> IndexView<'_> {
        IndexView(self.0.view())
    }

    /// All of it, for kernels to write.
    pub(crate) fn view_mut(&mut self) -> MatrixViewMut<'_, i32> {
        self.0.view_mut()
    }

    /// The numbers, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<i32>> {
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

    /// Refuses an index that picks a row which an operand of `rows` rows does not have. Waits for the GPU: for tests and for
    /// finding the cause of a NaN.
    ///
    /// # Errors
    /// [`Error::NoRow`] with the first such number, or the driver's own error.
    pub fn check(&self, rows: usize) -> Result<()> {
        self.view().check(rows)
    }

    /// Refuses offsets that are not those of groups of `rows` rows: each at least the one before it, from 0 on, and at most `rows`.
    /// Waits for the GPU: for tests and for finding what a kernel left out.
    ///
    /// # Errors
    /// [`Error::NotInOrder`] with the first such number, or the driver's own error.
    pub fn check_groups(&self, rows: usize) -> Result<()> {
        self.view().check_groups(rows)
    }
}

/// The same bits with a sign, on a GPU.
pub(crate) fn signed_on_gpu<'a, T: RowNumber>(numbers: &CudaView<'a, T>) -> Option<CudaView<'a, i32>> {
    // SAFETY: `RowNumber` is sealed to types of 32 bits, of which every pattern is a number.
    unsafe { numbers.transmute::<i32>(cudarc::driver::DeviceSlice::len(numbers)) }
}

impl<'a> IndexView<'a> {
    /// A host slice.
    pub fn from_slice<T: RowNumber>(rows: &'a [T]) -> Self {
        Self(MatrixView { storage: Storage::Host(T::signed(rows)), layout: layout(rows.len()) })
    }

    /// A cudarc device slice (`slice.as_view()`, `slice.slice(..)`).
    pub fn from_cudarc<T: RowNumber>(rows: &CudaView<'a, T>) -> Self {
        let len = cudarc::driver::DeviceSlice::len(rows);
        let signed = signed_on_gpu(rows);
        // As many bytes as there are fit themselves; no view is an empty one.
        let layout = layout(signed.as_ref().map_or(0, |_| len));
        let storage = signed.map_or(Storage::Host(&[]), Storage::Cuda);
        Self(MatrixView { storage, layout })
    }

    /// Some of the numbers, with no copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange).
    pub fn range(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        self.0.elements(range).map(Self)
    }

    /// Rows of a launch that it has a number for.
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

    /// The numbers, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<i32>> {
        self.0.to_vec()
    }

    /// As [`Index::check`].
    ///
    /// # Errors
    /// As [`Index::check`].
    pub fn check(&self, rows: usize) -> Result<()> {
        let is_there = |row: i32| usize::try_from(row).is_ok_and(|row| row < rows);
        let found = self.to_vec()?.into_iter().enumerate().find(|(_, row)| !is_there(*row));
        found.map_or(Ok(()), |(at, row)| Err(Error::NoRow { at, row, rows }))
    }

    /// As [`Index::check_groups`].
    ///
    /// # Errors
    /// As [`Index::check_groups`].
    pub fn check_groups(&self, rows: usize) -> Result<()> {
        let mut before = None;
        for (at, offset) in self.to_vec()?.into_iter().enumerate() {
            let (least, most) = Each::Bounds.range(before, rows as u64);
            if !(least..=most).contains(&i64::from(offset)) {
                let least = usize::try_from(least).unwrap_or(0);
                return Err(Error::NotInOrder { at, offset, least, rows });
            }
            before = Some(offset);
        }
        Ok(())
    }
}

impl<'a> From<&'a Index> for IndexView<'a> {
    fn from(owned: &'a Index) -> Self {
        owned.view()
    }
}

impl<'a> From<&IndexView<'a>> for IndexView<'a> {
    fn from(view: &IndexView<'a>) -> Self {
        view.clone()
    }
}

impl<'a> From<IndexView<'a>> for Argument<'a> {
    fn from(view: IndexView<'a>) -> Self {
        Argument::Read(AnyView::I32(view.0))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({}, on {})", self.len(), self.device())
    }
}

impl fmt::Debug for IndexView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexView({}, on {})", self.len(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_same_from_numbers_with_and_without_a_sign() {
        let device = Device::cpu();
        let signed = Index::from_slice(&device, &[1, -1, 0]).unwrap();
        let unsigned = Index::from_slice(&device, &[1, u32::MAX, 0]).unwrap();
        assert_eq!(signed.to_vec().unwrap(), unsigned.to_vec().unwrap());
        let mut refilled = Index::zeros(&device, 3).unwrap();
        refilled.copy_from_slice(&[1, u32::MAX, 0]).unwrap();
        assert_eq!(refilled.to_vec().unwrap(), signed.to_vec().unwrap());
        assert!(refilled.copy_from_slice(&[1, 2]).is_err(), "another length");
        assert_eq!(IndexView::from_slice(&[7u32, 8, 9]).range(1..).unwrap().to_vec().unwrap(), [8, 9]);
    }

    #[test]
    fn a_number_without_a_row_is_told_by_its_place() {
        let index = Index::from_slice(&Device::cpu(), &[1, 4, -1]).unwrap();
        let message = index.check(4).unwrap_err().to_string();
        assert!(message.contains("number 1 is 4") && message.contains("4 rows"), "{message}");
        assert!(index.view().range(..1).unwrap().check(2).is_ok());
    }
}
