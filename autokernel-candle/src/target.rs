//! What kernels write, to be seen as they see it.

use autokernel::{BatchViewMut, ColumnViewMut, HeadsViewMut, MatrixViewMut, RowViewMut};
use candle_core::Layout;

use crate::layout::{Axes, Rows, vector};
use crate::{Error, Result, TensorElement};

/// The elements of a tensor that is being written, to be seen as the kernel does.
///
/// A tensor that [`write()`](crate::write()) makes has no gaps, and may be seen by any shape of as many elements. One that
/// [`update`](crate::update) writes over has the shape and the strides that it has.
pub struct Target<'o, T> {
    elements: Elements<'o, T>,
    /// Where they lie, from the first one on.
    layout: Layout,
}

/// All elements from the first one to the last.
pub(crate) enum Elements<'o, T> {
    Host(&'o mut [T]),
    #[cfg(feature = "cuda")]
    Cuda(autokernel::cudarc::driver::CudaViewMut<'o, T>),
}

/// `$view` of what `$elements` are, on the host by one function and on a GPU by another.
macro_rules! view {
    ($elements:expr, $view:ident, $host:ident, $cuda:ident $(, $argument:expr)*) => {
        match $elements {
            Elements::Host(data) => $view::$host(data $(, $argument)*),
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => $view::$cuda(data $(, $argument)*),
        }
    };
}

impl<'o, T: TensorElement> Target<'o, T> {
    /// Elements that begin with the layout's first one.
    pub(crate) fn new(elements: Elements<'o, T>, layout: &Layout) -> Self {
        Target { elements, layout: Layout::new(layout.shape().clone(), layout.stride().to_vec(), 0) }
    }

    /// Elements along each axis of the tensor.
    pub fn dims(&self) -> &[usize] {
        self.layout.dims()
    }

    /// All of it as a matrix: the last axis along rows, or any other shape where there are no gaps.
    ///
    /// # Errors
    /// It has another number of elements, or they do not lie as the rows of a matrix do.
    pub fn matrix(self, rows: usize, columns: usize) -> Result<MatrixViewMut<'o, T>> {
        if self.layout.is_contiguous() {
            return Ok(view!(self.elements, MatrixViewMut, from_slice, from_cudarc, rows, columns)?);
        }
        let Rows { rows: m, columns: n, ld, .. } = Rows::of(&self.layout)?;
        let whole = view!(self.elements, MatrixViewMut, from_slice_with_ld, from_cudarc_with_ld, m, n, ld)?;
        Ok(if (m, n) == (rows, columns) { whole } else { whole.reshaped(rows, columns)? })
    }

    /// All of it with one element a column.
    ///
    /// # Errors
    /// There are gaps between the elements.
    pub fn row(self) -> Result<RowViewMut<'o, T>> {
        let elements = self.without_gaps()?;
        Ok(view!(elements, RowViewMut, from_slice, from_cudarc))
    }

    /// All of it with one element a row.
    ///
    /// # Errors
    /// There are gaps between the elements.
    pub fn column(self) -> Result<ColumnViewMut<'o, T>> {
        let elements = self.without_gaps()?;
        Ok(view!(elements, ColumnViewMut, from_slice, from_cudarc))
    }

    /// All of it as `[batch, rows, columns]`.
    ///
    /// # Errors
    /// It has another number of elements, or is of another shape and has gaps.
    pub fn batch(self, shape: [usize; 3]) -> Result<BatchViewMut<'o, T>> {
        if self.layout.is_contiguous() {
            return Ok(view!(self.elements, BatchViewMut, from_slice, from_cudarc, shape)?);
        }
        let Axes { strides, .. } = Axes::shaped(&self.layout, shape, "batch of matrices")?;
        Ok(view!(self.elements, BatchViewMut, from_slice_with_strides, from_cudarc_with_strides, shape, strides)?)
    }

    /// All of it as `[batch, heads, sequence, elements]` of these strides along the first three.
    ///
    /// # Errors
    /// They do not fit it, or overlap; or there are gaps, and its own shape and strides are others.
    pub fn heads(self, shape: [usize; 4], strides: [usize; 3]) -> Result<HeadsViewMut<'o, T>> {
        const HEADS: &str = "tensor of [batch, heads, sequence, elements] of those strides";
        if !self.layout.is_contiguous() && Axes::shaped(&self.layout, shape, HEADS)?.strides != strides {
            return Err(Error::Shape { shape: self.dims().to_vec(), expected: HEADS });
        }
        Ok(view!(self.elements, HeadsViewMut, from_slice_with_strides, from_cudarc_with_strides, shape, strides)?)
    }

    fn without_gaps(self) -> Result<Elements<'o, T>> {
        if !self.layout.is_contiguous() {
            vector(&self.layout)?;
        }
        Ok(self.elements)
    }
}
