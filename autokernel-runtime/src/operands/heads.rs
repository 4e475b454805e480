//! Heads: tensors of four axes, `[batch, heads, sequence, elements]`, of which the last is contiguous.

use std::fmt;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{Argument, Device, Element, Error, Matrix, MatrixView, MatrixViewMut, Number, Result};

/// Owned heads of attention on the CPU or on a GPU: a tensor `[batch, heads, sequence, elements]` without gaps.
///
/// Views may have any strides along the first three axes, so `[batch, sequence, heads, elements]`, or a part of what one
/// projection gave, is used where it lies: see [`HeadsView::of_tokens`].
///
/// ```
/// use autokernel_runtime::{Device, Heads};
///
/// let heads = Heads::from_slice(&Device::cpu(), &[1.0f32, 2.0, 3.0, 4.0], [1, 2, 1, 2])?;
/// assert_eq!(heads.shape(), [1, 2, 1, 2]);
/// assert_eq!(heads.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Heads<T> {
    /// All elements in a row.
    elements: Matrix<T>,
    layout: Layout,
}

/// Borrowed [`Heads`] on the host or on a GPU, of any strides.
pub struct HeadsView<'a, T>(pub(crate) MatrixView<'a, T>);

impl<T: Number> Clone for HeadsView<'_, T> {
    fn clone(&self) -> Self {
        HeadsView(self.0.clone())
    }
}

/// Mutably borrowed [`Heads`] on the host or on a GPU, in which each element is one place.
pub struct HeadsViewMut<'a, T>(pub(crate) MatrixViewMut<'a, T>);

impl<T: Number> Heads<T> {
    /// Zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn zeros(device: &Device, shape: [usize; 4]) -> Result<Self> {
        let len = shape.iter().try_fold(1usize, |len, size| len.checked_mul(*size));
        let len = len.ok_or_else(|| Error::out_of_memory::<T>(device, u128::MAX))?;
        Ok(Self { elements: Matrix::zeros(device, 1, len)?, layout: Layout::dense_heads(len, shape)? })
    }

    /// A copy of exactly as many elements as `shape` has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`], [`Error::OutOfMemory`], or the driver's own error.
    pub fn from_slice(device: &Device, data: &[T], shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(data.len(), shape)?;
        Ok(Self { elements: Matrix::from_slice(device, data, 1, data.len())?, layout })
    }

    /// Takes over a cudarc slice of exactly as many elements as `shape` has, with no copy.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_cudarc(slice: CudaSlice<T>, shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(slice.len(), shape)?;
        Ok(Self { elements: Matrix::one_row(slice), layout })
    }

    /// Hands the buffer back to cudarc; `None` if it is on the CPU.
    pub fn into_cudarc(self) -> Option<CudaSlice<T>> {
        self.elements.into_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to read; `None` if it is on the CPU.
    pub const fn as_cudarc(&self) -> Option<&CudaSlice<T>> {
        self.elements.as_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to write; `None` if it is on the CPU.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<T>> {
        self.elements.as_cudarc_mut()
    }

    /// Batch, heads, sequence, elements.
    pub const fn shape(&self) -> [usize; 4] {
        self.layout.shape()
    }

    /// The device that they are on.
    pub fn device(&self) -> Device {
        self.elements.device()
    }

    /// All of them, to read.
    pub fn view(&self) -> HeadsView<'_, T> {
        HeadsView(MatrixView { layout: self.layout, ..self.elements.view() })
    }

    /// All of them, to write.
    pub fn view_mut(&mut self) -> HeadsViewMut<'_, T> {
        HeadsViewMut(MatrixViewMut { layout: self.layout, ..self.elements.view_mut() })
    }

    /// Copies as many other elements here; on a GPU in the order of its stream.
    ///
    /// # Errors
    /// [`Error::CopyLength`] for another number of elements, or the driver's own error.
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        self.layout.filled_by(data.len())?;
        self.elements.copy_from_slice(data)
    }

    /// The elements in order, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.elements.to_vec()
    }

    /// A copy on the same device; see [`Matrix::try_clone`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { elements: self.elements.try_clone()?, layout: self.layout })
    }

    /// A copy on another device, or the same one; see [`Matrix::to_device`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        Ok(Self { elements: self.elements.to_device(device)?, layout: self.layout })
    }
}

/// The parts of both views that only read the shape.
macro_rules! of_both {
    () => {
        /// Batch, heads, sequence, elements.
        pub const fn shape(&self) -> [usize; 4] {
            self.0.layout.shape()
        }

        /// Elements from one index to the next along the first three axes.
        pub const fn strides(&self) -> [usize; 3] {
            self.0.layout.strides()
        }

        /// The device that they are on.
        pub fn device(&self) -> Device {
            self.0.device()
        }
    };
}

/// Elements of a matrix of one row; of another none can be counted on.
const fn elements_of(row: Layout) -> usize {
    if row.rows == 1 { row.columns } else { 0 }
}

/// The layout of the heads that lie side by side in each row of a matrix, `batch` sequences one below the other.
fn layout_of_tokens(tokens: Layout, batch: usize, heads: usize) -> Result<Layout> {
    let Layout { rows, columns, ld, .. } = tokens;
    // A multiple of 0 is 0.
    let fits = rows.is_multiple_of(batch) && columns.is_multiple_of(heads);
    let (sequence, elements) = (rows / batch.max(1), columns / heads.max(1));
    let (shape, strides) = ([batch, heads, sequence, elements], [sequence.saturating_mul(ld), elements, ld]);
    let span = tokens.span().unwrap_or(0);
    if fits {
        return Layout::strided_heads(span, shape, strides);
    }
    let needed = format!(
        "as many rows for each of {batch} sequences and columns for each of {heads} heads, not {rows} and {columns}"
    );
    let remedy = "Pass rows that divide into the sequences and columns that divide into the heads";
    Err(Error::HeadsSize { len: span, shape, strides, needed, remedy })
}

fn layout_of_rows(matrix: Layout, batch: usize, heads: usize) -> Result<Layout> {
    let Layout { rows, columns, ld, .. } = matrix;
    let matrices = batch.saturating_mul(heads);
    let fits = rows.is_multiple_of(matrices);
    let sequence = rows / matrices.max(1);
    let of_head = sequence.saturating_mul(ld);
    let (shape, strides) = ([batch, heads, sequence, columns], [heads.saturating_mul(of_head), of_head, ld]);
    let span = matrix.span().unwrap_or(0);
    if fits {
        return Layout::strided_heads(span, shape, strides);
    }
    let needed = format!("as many rows for each of {heads} heads of {batch} sequences, not {rows}");
    let remedy = "Pass rows that divide into all heads of all sequences";
    Err(Error::HeadsSize { len: span, shape, strides, needed, remedy })
}

impl<'a, T: Number> HeadsView<'a, T> {
    of_both!();

    /// A host slice of exactly as many elements as `shape` has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_slice(data: &'a [T], shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(data.len(), shape)?;
        Ok(Self(MatrixView { storage: Storage::Host(data), layout }))
    }

    /// A host slice with strides, in elements, along the first three axes; one of 0 repeats what it has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_slice_with_strides(data: &'a [T], shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let layout = Layout::strided_heads(data.len(), shape, strides)?;
        Ok(Self(MatrixView { storage: Storage::Host(data), layout }))
    }

    /// A cudarc device slice (`slice.as_view()`, `slice.slice(..)`) of exactly as many elements as `shape` has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_cudarc(data: CudaView<'a, T>, shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(data.len(), shape)?;
        Ok(Self(MatrixView { storage: Storage::Cuda(data), layout }))
    }

    /// A cudarc device slice with strides, in elements, along the first three axes; one of 0 repeats what it has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_cudarc_with_strides(data: CudaView<'a, T>, shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let layout = Layout::strided_heads(data.len(), shape, strides)?;
        Ok(Self(MatrixView { storage: Storage::Cuda(data), layout }))
    }

    /// A tensor inside a row of elements, with strides along the first three axes; one of 0 repeats what it has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`], also for a matrix of more rows.
    pub fn from_row(row: impl Into<MatrixView<'a, T>>, shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let row = row.into();
        let layout = Layout::strided_heads(elements_of(row.layout), shape, strides)?;
        Ok(Self(MatrixView { layout, ..row }))
    }

    /// The heads of tokens: a matrix of a row for each token, `batch` sequences one below the other, in which the elements of
    /// `heads` heads lie side by side. It may be some columns of what one projection gave for queries, keys and values.
    ///
    /// # Errors
    /// [`Error::HeadsSize`] where rows do not divide into the batch, or columns into heads.
    pub fn of_tokens(tokens: impl Into<MatrixView<'a, T>>, batch: usize, heads: usize) -> Result<Self> {
        let tokens = tokens.into();
        let layout = layout_of_tokens(tokens.layout, batch, heads)?;
        Ok(Self(MatrixView { layout, ..tokens }))
    }

    /// The heads of which a matrix has all rows one below the other: those of a head, then of the next, then of the next sequence.
    ///
    /// # Errors
    /// [`Error::HeadsSize`] where rows do not divide into so many heads.
    pub fn of_rows(rows: impl Into<MatrixView<'a, T>>, batch: usize, heads: usize) -> Result<Self> {
        let rows = rows.into();
        let layout = layout_of_rows(rows.layout, batch, heads)?;
        Ok(Self(MatrixView { layout, ..rows }))
    }

    /// The cudarc view behind them, from the first element on; `None` on the host.
    pub const fn as_cudarc(&self) -> Option<&CudaView<'a, T>> {
        self.0.as_cudarc()
    }

    /// The elements in order, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.0.to_vec()
    }
}

impl<'a, T: Number> HeadsViewMut<'a, T> {
    of_both!();

    /// A host slice of exactly as many elements as `shape` has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_slice(data: &'a mut [T], shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(data.len(), shape)?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Host(data), layout }))
    }

    /// A host slice with strides, in elements, along the first three axes.
    ///
    /// # Errors
    /// [`Error::HeadsSize`], [`Error::Overlap`].
    pub fn from_slice_with_strides(data: &'a mut [T], shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let layout = Layout::strided_heads(data.len(), shape, strides)?.apart()?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Host(data), layout }))
    }

    /// A cudarc device slice (`slice.as_view_mut()`, `slice.slice_mut(..)`) of exactly as many elements as `shape` has.
    ///
    /// # Errors
    /// [`Error::HeadsSize`].
    pub fn from_cudarc(data: CudaViewMut<'a, T>, shape: [usize; 4]) -> Result<Self> {
        let layout = Layout::dense_heads(data.len(), shape)?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout }))
    }

    /// A cudarc device slice with strides, in elements, along the first three axes.
    ///
    /// # Errors
    /// [`Error::HeadsSize`], [`Error::Overlap`].
    pub fn from_cudarc_with_strides(data: CudaViewMut<'a, T>, shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let layout = Layout::strided_heads(data.len(), shape, strides)?.apart()?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout }))
    }

    /// A tensor inside a row of elements, with strides along the first three axes.
    ///
    /// # Errors
    /// [`Error::HeadsSize`], also for a matrix of more rows, and [`Error::Overlap`].
    pub fn from_row(row: impl Into<MatrixViewMut<'a, T>>, shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let row = row.into();
        let layout = Layout::strided_heads(elements_of(row.layout), shape, strides)?.apart()?;
        Ok(Self(MatrixViewMut { layout, ..row }))
    }

    /// The heads of tokens, as [`HeadsView::of_tokens`].
    ///
    /// # Errors
    /// [`Error::HeadsSize`] where rows do not divide into the batch, or columns into heads.
    pub fn of_tokens(tokens: impl Into<MatrixViewMut<'a, T>>, batch: usize, heads: usize) -> Result<Self> {
        let tokens = tokens.into();
        let layout = layout_of_tokens(tokens.layout, batch, heads)?.apart()?;
        Ok(Self(MatrixViewMut { layout, ..tokens }))
    }

    /// The heads of which a matrix has all rows, as [`HeadsView::of_rows`].
    ///
    /// # Errors
    /// [`Error::HeadsSize`] where rows do not divide into so many heads.
    pub fn of_rows(rows: impl Into<MatrixViewMut<'a, T>>, batch: usize, heads: usize) -> Result<Self> {
        let rows = rows.into();
        let layout = layout_of_rows(rows.layout, batch, heads)?.apart()?;
        Ok(Self(MatrixViewMut { layout, ..rows }))
    }

    /// The same, to read.
    pub fn as_view(&self) -> HeadsView<'_, T> {
        HeadsView(self.0.as_view())
    }
}

impl<'a, T: Number> From<&'a Heads<T>> for HeadsView<'a, T> {
    fn from(heads: &'a Heads<T>) -> Self {
        heads.view()
    }
}

impl<'a, T: Number> From<&'a mut Heads<T>> for HeadsViewMut<'a, T> {
    fn from(heads: &'a mut Heads<T>) -> Self {
        heads.view_mut()
    }
}

impl<'a, T: Number> From<&HeadsView<'a, T>> for HeadsView<'a, T> {
    fn from(view: &HeadsView<'a, T>) -> Self {
        view.clone()
    }
}

impl<'b, T: Number> From<&'b mut HeadsViewMut<'_, T>> for HeadsViewMut<'b, T> {
    fn from(view: &'b mut HeadsViewMut<'_, T>) -> Self {
        HeadsViewMut((&mut view.0).into())
    }
}

impl<'a, T: Element> From<HeadsView<'a, T>> for Argument<'a> {
    fn from(view: HeadsView<'a, T>) -> Self {
        view.0.into()
    }
}

impl<'a, T: Element> From<HeadsViewMut<'a, T>> for Argument<'a> {
    fn from(view: HeadsViewMut<'a, T>) -> Self {
        view.0.into()
    }
}

/// `Debug` by shape, strides and device.
macro_rules! debug {
    ($name:ident) => {
        impl<T: Number> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (shape, strides) = (self.shape(), self.strides());
                write!(
                    f,
                    concat!(stringify!($name), "<{}>({:?}, strides {:?}, on {})"),
                    T::DTYPE,
                    shape,
                    strides,
                    self.device()
                )
            }
        }
    };
}

debug!(HeadsView);
debug!(HeadsViewMut);

impl<T: Number> fmt::Debug for Heads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heads<{}>({:?}, on {})", T::DTYPE, self.shape(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_filled_again_copied_and_viewed_twice_in_turn() {
        let mut heads = Heads::<f32>::zeros(&Device::cpu(), [1, 2, 1, 2]).unwrap();
        heads.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let text = heads.copy_from_slice(&[1.0]).unwrap_err().to_string();
        assert_eq!(text, "1 elements do not fill 2x1x2. Copy exactly 4");
        let copy = heads.to_device(&Device::cpu()).unwrap();
        assert_eq!((copy.shape(), copy.to_vec().unwrap()), ([1, 2, 1, 2], vec![1.0, 2.0, 3.0, 4.0]));
        assert!(heads.as_cudarc().is_none() && heads.as_cudarc_mut().is_none() && heads.view().as_cudarc().is_none());

        // What one launch writes by a view, the next one may write by the same.
        let mut view = heads.view_mut();
        let again = HeadsViewMut::from(&mut view);
        assert_eq!((again.shape(), again.strides()), ([1, 2, 1, 2], [4, 2, 2]));
        assert_eq!(view.as_view().clone().to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_heads_of_rows_lie_one_below_the_other_with_the_gaps_that_rows_have() {
        let data: Vec<f32> = (0..12 * 5).map(|at| at as f32).collect();
        let rows = MatrixView::from_slice_with_ld(&data, 12, 2, 5).unwrap();
        let heads = HeadsView::of_rows(&rows, 2, 3).unwrap();
        assert_eq!((heads.shape(), heads.strides()), ([2, 3, 2, 2], [30, 10, 5]));
        assert_eq!(heads.to_vec().unwrap(), rows.to_vec().unwrap());
        let text = HeadsView::of_rows(&rows, 5, 1).unwrap_err().to_string();
        assert!(text.contains("needs as many rows for each of 1 heads of 5 sequences, not 12"), "{text}");
    }

    #[test]
    fn the_heads_of_tokens_are_columns_of_their_rows() {
        // Two sequences of two tokens; queries of two heads of two elements, then keys of one head.
        let data: Vec<f32> = (0..2 * 2 * 6).map(|at| at as f32).collect();
        let tokens = MatrixView::from_slice(&data, 4, 6).unwrap();
        let queries = HeadsView::of_tokens(tokens.columns(..4).unwrap(), 2, 2).unwrap();
        assert_eq!((queries.shape(), queries.strides()), ([2, 2, 2, 2], [12, 2, 6]));
        assert_eq!(queries.to_vec().unwrap(), [0., 1., 6., 7., 2., 3., 8., 9., 12., 13., 18., 19., 14., 15., 20., 21.]);
        let keys = HeadsView::of_tokens(tokens.columns(4..).unwrap(), 2, 1).unwrap();
        assert_eq!(keys.to_vec().unwrap(), [4., 5., 10., 11., 16., 17., 22., 23.]);
        for (batch, heads) in [(3, 2), (2, 3), (2, 0)] {
            let text = HeadsView::of_tokens(tokens.columns(..4).unwrap(), batch, heads).unwrap_err().to_string();
            let needed = format!(
                "needs as many rows for each of {batch} sequences and columns for each of {heads} heads, not 4 and 4. Pass rows"
            );
            assert!(text.contains(&needed), "{text}");
        }
    }

    #[test]
    fn no_rows_are_those_of_no_sequences() {
        let nothing = MatrixView::<f32>::from_slice(&[], 0, 6).unwrap();
        assert_eq!(HeadsView::of_tokens(&nothing, 0, 2).unwrap().shape(), [0, 2, 0, 3]);
        assert_eq!(HeadsView::of_rows(&nothing, 0, 2).unwrap().shape(), [0, 2, 0, 6]);
        let one = MatrixView::from_slice(&[0.0f32; 6], 1, 6).unwrap();
        assert!(HeadsView::of_tokens(&one, 0, 2).is_err() && HeadsView::of_rows(&one, 0, 2).is_err());
        assert!(HeadsView::of_rows(&one, usize::MAX, 2).is_err());
    }

    #[test]
    fn what_is_repeated_more_often_than_memory_holds_is_an_error_and_not_copied() {
        let data = [1.0f32; 16];
        let heads = HeadsView::from_slice_with_strides(&data, [usize::MAX / 16, 1, 1, 16], [0, 0, 16]).unwrap();
        assert!(matches!(heads.to_vec(), Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn heads_without_elements_are_possible() {
        let heads = Heads::<f32>::zeros(&Device::cpu(), [2, 0, 4, 8]).unwrap();
        assert_eq!((heads.shape(), heads.to_vec().unwrap().len()), ([2, 0, 4, 8], 0));
        assert!(heads.view().to_vec().unwrap().is_empty());
    }
}
