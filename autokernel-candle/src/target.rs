//! What kernels write: memory that candle allocates, which becomes a tensor without a copy.

use autokernel::{ColumnViewMut, HeadsViewMut, MatrixViewMut, RowViewMut};
use candle_core::op::BackpropOp;
use candle_core::{Device, Shape, Storage, Tensor};

use crate::{Error, Result, TensorElement};

/// The elements of a tensor that is being written, to be seen as the kernel does.
pub struct Target<'o, T>(Elements<'o, T>);

enum Elements<'o, T> {
    Host(&'o mut [T]),
    #[cfg(feature = "cuda")]
    Cuda(autokernel::cudarc::driver::CudaViewMut<'o, T>),
}

/// A tensor on `device` that `kernel` writes: zeros where it does not. On a CUDA device it is allocated on candle's stream, on which
/// the kernel runs too. It knows nothing of gradients; an operation that has some is a `CustomOp` of candle's.
///
/// ```no_run
/// # use autokernel_candle::{read, write};
/// # use candle_core::{Device, Tensor};
/// # fn launch(x: autokernel::MatrixView<'_, f32>, out: autokernel::MatrixViewMut<'_, f32>) -> autokernel::Result<()> { Ok(()) }
/// # fn f(x: &Tensor) -> candle_core::Result<Tensor> {
/// let (rows, columns) = x.dims2()?;
/// write::<f32>(x.device(), (rows, columns), |out| Ok(launch(read(x).matrix()?, out.matrix(rows, columns)?)?))
/// # }
/// ```
///
/// # Errors
/// What `kernel` says, and what candle says of the allocation.
pub fn write<T: TensorElement>(
    device: &Device,
    shape: impl Into<Shape>,
    kernel: impl FnOnce(Target<'_, T>) -> Result<()>,
) -> candle_core::Result<Tensor> {
    let shape = shape.into();
    let storage = written(device, &shape, Before::Zeros, kernel)?;
    Ok(Tensor::from_storage(storage, shape, BackpropOp::none(), false))
}

/// What a kernel finds in what it writes.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    Zeros,
    /// Nothing that is defined: for kernels that write every element.
    Anything,
}

/// The memory of a tensor on `device` that `kernel` writes.
pub(crate) fn written<T: TensorElement>(
    device: &Device,
    shape: &Shape,
    before: Before,
    kernel: impl FnOnce(Target<'_, T>) -> Result<()>,
) -> Result<Storage> {
    let elements = shape.elem_count();
    match device {
        Device::Cpu => {
            let mut data = vec![T::default(); elements];
            kernel(Target(Elements::Host(&mut data)))?;
            Ok(Storage::Cpu(T::to_cpu_storage_owned(data)))
        }
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => {
            let mut data = match before {
                Before::Zeros => device.alloc_zeros::<T>(elements)?,
                // SAFETY: asked for by this crate's operations alone, whose kernels write every element of what they are given; where
                // a launch is refused the memory is dropped unread.
                Before::Anything => unsafe { device.alloc::<T>(elements) }?,
            };
            kernel(Target(Elements::Cuda(data.as_view_mut())))?;
            Ok(Storage::Cuda(candle_core::CudaStorage::wrap_cuda_slice(data, device.clone())))
        }
        _ => {
            let _ = before;
            Err(Error::Device)
        }
    }
}

impl<'o, T: TensorElement> Target<'o, T> {
    /// All of it as a matrix.
    ///
    /// # Errors
    /// It has another number of elements.
    pub fn matrix(self, rows: usize, columns: usize) -> Result<MatrixViewMut<'o, T>> {
        Ok(match self.0 {
            Elements::Host(data) => MatrixViewMut::from_slice(data, rows, columns)?,
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => MatrixViewMut::from_cudarc(data, rows, columns)?,
        })
    }

    /// All of it with one element a column.
    pub fn row(self) -> RowViewMut<'o, T> {
        match self.0 {
            Elements::Host(data) => RowViewMut::from_slice(data),
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => RowViewMut::from_cudarc(data),
        }
    }

    /// All of it with one element a row.
    pub fn column(self) -> ColumnViewMut<'o, T> {
        match self.0 {
            Elements::Host(data) => ColumnViewMut::from_slice(data),
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => ColumnViewMut::from_cudarc(data),
        }
    }

    /// All of it as `[batch, heads, sequence, elements]` of these strides along the first three.
    ///
    /// # Errors
    /// They do not fit it, or overlap.
    pub fn heads(self, shape: [usize; 4], strides: [usize; 3]) -> Result<HeadsViewMut<'o, T>> {
        Ok(match self.0 {
            Elements::Host(data) => HeadsViewMut::from_slice_with_strides(data, shape, strides)?,
            #[cfg(feature = "cuda")]
            Elements::Cuda(data) => HeadsViewMut::from_cudarc_with_strides(data, shape, strides)?,
        })
    }
}
