//! Tensors that kernels make: memory that candle allocates, which becomes a tensor without a copy.

use candle_core::op::BackpropOp;
use candle_core::{Device, Layout, Shape, Storage, Tensor};

use crate::target::{Elements, Target};
use crate::{Error, Result, TensorElement};

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
    Ok(tensor(storage, shape))
}

/// The two tensors that one launch writes, each of its own type and shape; else as [`write()`].
///
/// ```
/// use autokernel::bf16;
/// use autokernel_candle::{kernels::rows, read, write_two};
/// use candle_core::{DType, Device, Tensor};
///
/// # fn main() -> candle_core::Result<()> {
/// let (x, skip) = (Tensor::ones((2, 4), DType::BF16, &Device::Cpu)?, Tensor::ones((2, 4), DType::BF16, &Device::Cpu)?);
/// let weight = Tensor::ones(4, DType::BF16, &Device::Cpu)?;
/// let (sum, normed) = write_two::<bf16, bf16>(x.device(), (2, 4), (2, 4), |sum, out| {
///     let (x, skip, weight) = (read(&x), read(&skip), read(&weight));
///     let (x, skip, weight) = (x.matrix::<bf16>()?, skip.matrix::<bf16>()?, weight.row::<bf16>()?);
///     Ok(rows::add_rms_norm::launch(x, skip, weight, 0.0, sum.matrix(2, 4)?, out.matrix(2, 4)?)?)
/// })?;
/// assert_eq!(sum.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[2.0; 4]; 2]);
/// assert_eq!(normed.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[1.0; 4]; 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`write()`].
pub fn write_two<A: TensorElement, B: TensorElement>(
    device: &Device,
    first: impl Into<Shape>,
    second: impl Into<Shape>,
    kernel: impl FnOnce(Target<'_, A>, Target<'_, B>) -> Result<()>,
) -> candle_core::Result<(Tensor, Tensor)> {
    Ok(written_two(device, [first.into(), second.into()], Before::Zeros, kernel)?)
}

/// The three tensors that one launch writes; else as [`write_two`].
///
/// # Errors
/// As [`write()`].
pub fn write_three<A: TensorElement, B: TensorElement, C: TensorElement>(
    device: &Device,
    first: impl Into<Shape>,
    second: impl Into<Shape>,
    third: impl Into<Shape>,
    kernel: impl FnOnce(Target<'_, A>, Target<'_, B>, Target<'_, C>) -> Result<()>,
) -> candle_core::Result<(Tensor, Tensor, Tensor)> {
    let (third, mut last) = (third.into(), None);
    let (first, second) = write_two::<A, B>(device, first, second, |a, b| {
        last = Some(written::<C>(device, &third, Before::Zeros, |c| kernel(a, b, c))?);
        Ok(())
    })?;
    // Written where the first two were.
    let last = last.ok_or(Error::Device)?;
    Ok((first, second, tensor(last, third)))
}

/// What a kernel finds in what it writes.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    Zeros,
    /// Nothing that is defined: for kernels that write every element.
    Anything,
}

fn tensor(storage: Storage, shape: Shape) -> Tensor {
    Tensor::from_storage(storage, shape, BackpropOp::none(), false)
}

/// Two tensors on `device` that `kernel` writes.
pub(crate) fn written_two<A: TensorElement, B: TensorElement>(
    device: &Device,
    [first, second]: [Shape; 2],
    before: Before,
    kernel: impl FnOnce(Target<'_, A>, Target<'_, B>) -> Result<()>,
) -> Result<(Tensor, Tensor)> {
    let mut of_second = None;
    let of_first = written::<A>(device, &first, before, |a| {
        of_second = Some(written::<B>(device, &second, before, |b| kernel(a, b))?);
        Ok(())
    })?;
    // Written where the first was.
    let of_second = of_second.ok_or(Error::Device)?;
    Ok((tensor(of_first, first), tensor(of_second, second)))
}

/// The memory of a tensor on `device` that `kernel` writes.
pub(crate) fn written<T: TensorElement>(
    device: &Device,
    shape: &Shape,
    before: Before,
    kernel: impl FnOnce(Target<'_, T>) -> Result<()>,
) -> Result<Storage> {
    let (elements, layout) = (shape.elem_count(), Layout::contiguous(shape));
    match device {
        Device::Cpu => {
            let mut data = vec![T::default(); elements];
            kernel(Target::new(Elements::Host(&mut data), &layout))?;
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
            kernel(Target::new(Elements::Cuda(data.as_view_mut()), &layout))?;
            Ok(Storage::Cuda(candle_core::CudaStorage::wrap_cuda_slice(data, device.clone())))
        }
        _ => {
            let _ = before;
            Err(Error::Device)
        }
    }
}
