//! Views of candle's tensors, with no copy.

use autokernel::{
    BatchView, ColumnBatchView, ColumnView, HeadsView, IndexView, MatrixView, PageTableView, RowBatchView, RowNumber,
    RowView, ScalarView,
};
use candle_core::{CpuStorage, CudaStorage, DType, Device, Layout, Storage, StorageRef, Tensor, WithDType};

use crate::element::OnCuda;
use crate::layout::{Axes, Rows, vector};
use crate::update::is_updated;
use crate::{Error, Result, TensorElement};

/// A tensor that is being read: keeps candle from writing to it, and hands out views.
///
/// ```
/// use autokernel::bf16;
/// use autokernel_candle::{kernels, read, write};
/// use candle_core::{DType, Device, Tensor};
///
/// # fn main() -> candle_core::Result<()> {
/// let gate = Tensor::zeros((2, 3), DType::BF16, &Device::Cpu)?;
/// let both = Tensor::ones((2, 6), DType::BF16, &Device::Cpu)?;
/// let up = both.narrow(1, 3, 3)?; // columns of another tensor, in place
/// let out = write::<bf16>(gate.device(), (2, 3), |out| {
///     kernels::rows::silu_mul::launch(read(&gate).matrix::<bf16>()?, read(&up).matrix::<bf16>()?, out.matrix(2, 3)?)?;
///     Ok(())
/// })?;
/// assert_eq!(out.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[0.0; 3]; 2]);
/// # Ok(())
/// # }
/// ```
pub struct Reader<'t> {
    /// Nothing of a tensor that this thread updates: to wait for it would be for ever.
    open: Option<(StorageRef<'t>, &'t Layout)>,
}

/// Opens a tensor for views: `read(&x).matrix::<bf16>()?`.
pub fn read(tensor: &Tensor) -> Reader<'_> {
    Reader { open: (!is_updated(tensor)).then(|| tensor.storage_and_layout()) }
}

/// The views of a source, handed on to it.
macro_rules! handed_on {
    ($($(#[$about:meta])+ $name:ident<$T:ident: $bound:path> -> $view:ty;)+) => {
        impl<'t> Reader<'t> {
            $($(#[$about])+
            pub fn $name<$T: $bound>(&self) -> Result<$view> {
                self.source()?.$name::<$T>()
            })+
        }
    };
}

handed_on! {
    /// The last axis along rows, all others one below the other: a tensor of any number of axes but none.
    ///
    /// # Errors
    /// [`Error::Type`] for other elements, [`Error::Layout`] where they do not lie as rows do, [`Error::Device`].
    matrix<T: TensorElement> -> MatrixView<'_, T>;
    /// One element a column: a bias, a norm's weight.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix), and [`Error::Shape`] for more axes than one.
    row<T: TensorElement> -> RowView<'_, T>;
    /// One element a row: a scale, a statistic.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    column<T: TensorElement> -> ColumnView<'_, T>;
    /// `[batch, rows, columns]`, of any strides but the last.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix), and [`Error::Shape`] for other axes.
    batch<T: TensorElement> -> BatchView<'_, T>;
    /// `[batch, heads, sequence, elements]`, of any strides but the last, as candle's attention has it.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    heads<T: TensorElement> -> HeadsView<'_, T>;
    /// Numbers of rows, of `u32` or `i32`.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    index<T: IndexNumber> -> IndexView<'_>;
    /// The pages of sequences, `[sequences, pages]`, of `u32` or `i32`.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    page_table<T: IndexNumber> -> PageTableView<'_>;
    /// A tensor of one element.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    scalar<T: TensorElement> -> ScalarView<'_, T>;
    /// `[batch, columns]`: one element a column for each matrix of a batch.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    row_batch<T: TensorElement> -> RowBatchView<'_, T>;
    /// `[batch, rows]`: one element a row for each matrix of a batch.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    column_batch<T: TensorElement> -> ColumnBatchView<'_, T>;
}

impl Reader<'_> {
    fn source(&self) -> Result<Source<'_>> {
        let (storage, layout) = self.open.as_ref().ok_or(Error::Updated)?;
        let memory = match &**storage {
            Storage::Cpu(storage) => Memory::Host(storage),
            Storage::Cuda(storage) => Memory::Cuda(storage),
            Storage::Metal(_) => return Err(Error::Device),
        };
        Ok(Source { memory, layout })
    }
}

/// Numbers of rows as candle has them. Sealed, as [`RowNumber`] is.
pub trait IndexNumber: RowNumber + WithDType + OnCuda {}

impl IndexNumber for u32 {}
impl IndexNumber for i32 {}

/// What an operation reads: memory of candle's, and how the tensor lies there.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    memory: Memory<'s>,
    layout: &'s Layout,
}

#[derive(Clone, Copy)]
enum Memory<'s> {
    Host(&'s CpuStorage),
    Cuda(&'s CudaStorage),
}

/// Elements from some place on.
enum Elements<'s, T> {
    Host(&'s [T]),
    #[cfg(feature = "cuda")]
    Cuda(autokernel::cudarc::driver::CudaView<'s, T>),
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

impl<'s> Source<'s> {
    pub(crate) const fn on_the_host(storage: &'s CpuStorage, layout: &'s Layout) -> Self {
        Source { memory: Memory::Host(storage), layout }
    }

    pub(crate) const fn on_a_gpu(storage: &'s CudaStorage, layout: &'s Layout) -> Self {
        Source { memory: Memory::Cuda(storage), layout }
    }

    pub(crate) fn dims(&self) -> &'s [usize] {
        self.layout.dims()
    }

    pub(crate) fn dtype(&self) -> DType {
        use candle_core::backend::BackendStorage;
        match self.memory {
            Memory::Host(storage) => storage.dtype(),
            Memory::Cuda(storage) => storage.dtype(),
        }
    }

    /// Where what is computed from it is allocated.
    pub(crate) fn device(&self) -> Device {
        use candle_core::backend::BackendStorage;
        match self.memory {
            Memory::Host(_) => Device::Cpu,
            Memory::Cuda(storage) => Device::Cuda(storage.device().clone()),
        }
    }

    pub(crate) fn rows(&self) -> Result<Rows> {
        Rows::of(self.layout)
    }

    pub(crate) fn matrix<T: TensorElement>(&self) -> Result<MatrixView<'s, T>> {
        let Rows { start, rows, columns, ld } = Rows::of(self.layout)?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, MatrixView, from_slice_with_ld, from_cudarc_with_ld, rows, columns, ld)?)
    }

    pub(crate) fn row<T: TensorElement>(&self) -> Result<RowView<'s, T>> {
        let elements = self.vector::<T>()?;
        Ok(view!(elements, RowView, from_slice, from_cudarc))
    }

    pub(crate) fn column<T: TensorElement>(&self) -> Result<ColumnView<'s, T>> {
        let elements = self.vector::<T>()?;
        Ok(view!(elements, ColumnView, from_slice, from_cudarc))
    }

    pub(crate) fn batch<T: TensorElement>(&self) -> Result<BatchView<'s, T>> {
        let Axes { start, shape, strides } = Axes::of(self.layout, "batch of matrices")?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, BatchView, from_slice_with_strides, from_cudarc_with_strides, shape, strides)?)
    }

    pub(crate) fn heads<T: TensorElement>(&self) -> Result<HeadsView<'s, T>> {
        let Axes { start, shape, strides } = Axes::of(self.layout, "tensor of [batch, heads, sequence, elements]")?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, HeadsView, from_slice_with_strides, from_cudarc_with_strides, shape, strides)?)
    }

    pub(crate) fn index<T: IndexNumber>(&self) -> Result<IndexView<'s>> {
        Ok(match self.vector::<T>()? {
            Elements::Host(data) => IndexView::from_slice(data),
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => IndexView::from_cudarc(&data),
        })
    }

    pub(crate) fn page_table<T: IndexNumber>(&self) -> Result<PageTableView<'s>> {
        let Rows { start, rows, columns, ld } = Rows::of(self.layout)?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, PageTableView, from_slice_with_ld, from_cudarc, rows, columns, ld)?)
    }

    pub(crate) fn scalar<T: TensorElement>(&self) -> Result<ScalarView<'s, T>> {
        let not_one = || Error::Shape { shape: self.dims().to_vec(), expected: "single number" };
        if self.layout.shape().elem_count() != 1 {
            return Err(not_one());
        }
        let start = self.layout.start_offset();
        Ok(match self.elements::<T>(start..start + 1)? {
            Elements::Host(data) => ScalarView::from_ref(data.first().ok_or_else(not_one)?),
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => ScalarView::from_cudarc(data)?,
        })
    }

    pub(crate) fn row_batch<T: TensorElement>(&self) -> Result<RowBatchView<'s, T>> {
        let Rows { start, rows, columns, ld } = Rows::of(self.layout)?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, RowBatchView, from_slice, from_cudarc, rows, columns, ld)?)
    }

    pub(crate) fn column_batch<T: TensorElement>(&self) -> Result<ColumnBatchView<'s, T>> {
        let Rows { start, rows, columns, ld } = Rows::of(self.layout)?;
        let elements = self.elements::<T>(start..)?;
        Ok(view!(elements, ColumnBatchView, from_slice, from_cudarc, rows, columns, ld)?)
    }

    fn vector<T: WithDType + OnCuda>(&self) -> Result<Elements<'s, T>> {
        let (start, len) = vector(self.layout)?;
        self.elements(start..start + len)
    }

    fn elements<T: WithDType + OnCuda>(&self, range: impl std::ops::RangeBounds<usize>) -> Result<Elements<'s, T>> {
        let of_another_type = |_| Error::Type { found: self.dtype(), expected: T::DTYPE.as_str().to_owned() };
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        match self.memory {
            Memory::Host(storage) => {
                let data = T::cpu_storage_as_slice(storage).map_err(of_another_type)?;
                // A tensor without elements may begin behind the last one.
                Ok(Elements::Host(data.get(range).unwrap_or_default()))
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda(storage) => {
                let data = storage.as_cuda_slice::<T>().map_err(of_another_type)?;
                let data = data.try_slice(range).ok_or(Error::Device)?;
                Ok(Elements::Cuda(data))
            }
            #[cfg(not(feature = "cuda"))]
            Memory::Cuda(_) => Err(Error::Device),
        }
    }
}
