//! Tensors that kernels write over, in place.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, InplaceOp1, Layout, Tensor, TensorId, WithDType};

use crate::served::has_kernels;
use crate::target::{Elements, Target};
use crate::{Error, Result, TensorElement};

/// Lets `kernel` write over a tensor: what it does not write stays. Nothing is allocated or copied, so this is how rows go into a cache,
/// `cache[slots] = k`, and how a sum stays where it is, `x += skip`. Every tensor that shares the memory sees the change; the tensor
/// itself may be a part of another one, as `narrow` gives it.
///
/// ```
/// use autokernel::bf16;
/// use autokernel_candle::{read, update};
/// use candle_core::{DType, Device, Tensor};
///
/// # // What `#[autokernel::rows]` makes of `cache[slots] = k;`, on the host.
/// # mod store {
/// #     use autokernel::{IndexView, MatrixView, MatrixViewMut, Result, bf16};
/// #     pub fn launch(k: MatrixView<'_, bf16>, slots: IndexView<'_>, mut cache: MatrixViewMut<'_, bf16>) -> Result<()> {
/// #         slots.to_vec()?.into_iter().enumerate().try_for_each(|(row, slot)| {
/// #             cache.rows(slot as usize..=slot as usize)?.copy_from(k.rows(row..=row)?)
/// #         })
/// #     }
/// # }
/// # fn main() -> candle_core::Result<()> {
/// let cache = Tensor::zeros((4, 2), DType::BF16, &Device::Cpu)?;
/// let (k, slots) = (Tensor::ones((2, 2), DType::BF16, &Device::Cpu)?, Tensor::new(&[3u32, 0], &Device::Cpu)?);
/// update::<bf16>(&cache, |cache| {
///     let (k, slots) = (read(&k), read(&slots));
///     Ok(store::launch(k.matrix::<bf16>()?, slots.index::<u32>()?, cache.matrix(4, 2)?)?)
/// })?;
/// assert_eq!(cache.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[1.0; 2], [0.0; 2], [0.0; 2], [1.0; 2]]);
/// # Ok(())
/// # }
/// ```
///
/// candle holds the memory locked meanwhile: to open another view of it by [`read`](crate::read()) in `kernel`, or to hold one across this
/// call, waits for ever. Of the tensor itself `read` says so. As with all of candle's operations in place there is no gradient, and what a
/// gradient was to be computed from must not be written over.
///
/// # Errors
/// [`Error::Type`] for other elements, [`Error::Device`], [`Error::Updated`] where `kernel` updates the tensor once more, what `kernel` says,
/// and what candle says, which refuses a broadcast.
pub fn update<T: TensorElement>(
    tensor: &Tensor,
    kernel: impl FnOnce(Target<'_, T>) -> Result<()>,
) -> candle_core::Result<()> {
    if !has_kernels(tensor.device()) {
        return Err(Error::Device.into());
    }
    let _updating = Updating::begin(tensor)?;
    tensor.inplace_op1(&InPlace { kernel: Cell::new(Some(kernel)), element: PhantomData::<fn(T)> })
}

thread_local! {
    /// The tensors that this thread has open for writing.
    static OPEN: RefCell<Vec<TensorId>> = const { RefCell::new(Vec::new()) };
}

/// Whether this thread has the tensor open for writing.
pub(crate) fn is_updated(tensor: &Tensor) -> bool {
    OPEN.with_borrow(|open| open.contains(&tensor.id()))
}

/// A tensor that is open for writing until this is dropped.
struct Updating(TensorId);

impl Updating {
    fn begin(tensor: &Tensor) -> Result<Self> {
        if is_updated(tensor) {
            return Err(Error::Updated);
        }
        OPEN.with_borrow_mut(|open| open.push(tensor.id()));
        Ok(Updating(tensor.id()))
    }
}

impl Drop for Updating {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.retain(|id| *id != self.0));
    }
}

/// What candle calls once with the memory, locked.
struct InPlace<T, F> {
    kernel: Cell<Option<F>>,
    element: PhantomData<fn(T)>,
}

impl<T: TensorElement, F: FnOnce(Target<'_, T>) -> Result<()>> InPlace<T, F> {
    fn run(&self, elements: Elements<'_, T>, layout: &Layout) -> candle_core::Result<()> {
        let kernel = self.kernel.take().ok_or(Error::Updated)?;
        Ok(kernel(Target::new(elements, layout))?)
    }
}

impl<T: TensorElement, F: FnOnce(Target<'_, T>) -> Result<()>> InplaceOp1 for InPlace<T, F> {
    fn name(&self) -> &'static str {
        "autokernel-update"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        let found = storage.dtype();
        let of_another_type = || Error::Type { found, expected: <T as WithDType>::DTYPE.as_str().to_owned() };
        let data = T::on_the_host(storage).ok_or_else(of_another_type)?;
        // A tensor without elements may begin behind the last one.
        self.run(Elements::Host(data.get_mut(span(layout)).unwrap_or_default()), layout)
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, storage: &mut candle_core::CudaStorage, layout: &Layout) -> candle_core::Result<()> {
        let found = storage.dtype();
        let of_another_type = |_| Error::Type { found, expected: <T as WithDType>::DTYPE.as_str().to_owned() };
        let data = storage.as_cuda_slice_mut::<T>().map_err(of_another_type)?;
        let data = data.try_slice_mut(span(layout)).ok_or(Error::Device)?;
        self.run(Elements::Cuda(data), layout)
    }
}

/// From the first element to one past the last.
fn span(layout: &Layout) -> std::ops::Range<usize> {
    if layout.shape().elem_count() == 0 {
        return 0..0;
    }
    let last: usize = layout.dims().iter().zip(layout.stride()).map(|(size, stride)| (size - 1) * stride).sum();
    layout.start_offset()..layout.start_offset() + last + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_tensor_spans_from_its_first_element_to_its_last() {
        let whole = Layout::contiguous((4, 6));
        assert_eq!(span(&whole), 0..24);
        assert_eq!(span(&whole.narrow(1, 2, 3).unwrap()), 2..23);
        assert_eq!(span(&whole.narrow(0, 3, 1).unwrap().narrow(1, 5, 1).unwrap()), 23..24);
        assert_eq!(span(&whole.narrow(0, 2, 0).unwrap()), 0..0);
    }
}
