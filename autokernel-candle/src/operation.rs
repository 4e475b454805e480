//! An operation on tensors, as candle's traits of custom operations take it.

use candle_core::{CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Shape, Storage, Tensor};

use crate::source::Source;
use crate::target::Target;
use crate::write::{Before, written};
use crate::{Result, TensorElement};

/// One tensor computed from `N` others.
pub(crate) trait Operation<const N: usize>: Send + Sync + 'static {
    const NAME: &'static str;

    /// The memory and the shape of what it gives.
    fn forward(&self, inputs: [Source<'_>; N]) -> Result<(Storage, Shape)>;

    /// The gradient of each input, where `gradient` is that of what it gave.
    fn backward(&self, inputs: [&Tensor; N], out: &Tensor, gradient: &Tensor) -> Result<[Tensor; N]>;
}

/// What `kernel` writes of elements `T` into a new tensor beside `input`, each of which it writes.
pub(crate) fn computed<T: TensorElement>(
    input: Source<'_>,
    shape: impl Into<Shape>,
    kernel: impl FnOnce(Target<'_, T>) -> Result<()>,
) -> Result<(Storage, Shape)> {
    let shape = shape.into();
    let storage = written(&input.device(), &shape, Before::Anything, kernel)?;
    Ok((storage, shape))
}

/// An [`Operation`] as candle's.
pub(crate) struct Custom<O>(pub O);

fn on_the_host((storage, shape): (Storage, Shape)) -> candle_core::Result<(CpuStorage, Shape)> {
    match storage {
        Storage::Cpu(storage) => Ok((storage, shape)),
        _ => Err(crate::Error::Device.into()),
    }
}

fn on_a_gpu((storage, shape): (Storage, Shape)) -> candle_core::Result<(CudaStorage, Shape)> {
    match storage {
        Storage::Cuda(storage) => Ok((storage, shape)),
        _ => Err(crate::Error::Device.into()),
    }
}

/// One of candle's traits for an operation on so many tensors.
macro_rules! custom {
    ($custom:ident, $n:literal, $($storage:ident $layout:ident $tensor:ident),+ => $gradients:ty) => {
        impl<O: Operation<$n>> $custom for Custom<O> {
            fn name(&self) -> &'static str {
                O::NAME
            }

            fn cpu_fwd(&self, $($storage: &CpuStorage, $layout: &Layout),+) -> candle_core::Result<(CpuStorage, Shape)> {
                on_the_host(self.0.forward([$(Source::on_the_host($storage, $layout)),+])?)
            }

            fn cuda_fwd(&self, $($storage: &CudaStorage, $layout: &Layout),+) -> candle_core::Result<(CudaStorage, Shape)> {
                on_a_gpu(self.0.forward([$(Source::on_a_gpu($storage, $layout)),+])?)
            }

            fn bwd(&self, $($tensor: &Tensor,)+ out: &Tensor, gradient: &Tensor) -> candle_core::Result<$gradients> {
                let [$($tensor),+] = self.0.backward([$($tensor),+], out, gradient)?;
                Ok(custom!(@given $($tensor),+))
            }
        }
    };
    (@given $one:ident) => { Some($one) };
    (@given $($many:ident),+) => { ($(Some($many)),+) };
}

custom!(CustomOp1, 1, storage layout tensor => Option<Tensor>);
custom!(CustomOp2, 2, s1 l1 t1, s2 l2 t2 => (Option<Tensor>, Option<Tensor>));
custom!(CustomOp3, 3, s1 l1 t1, s2 l2 t2, s3 l3 t3 => (Option<Tensor>, Option<Tensor>, Option<Tensor>));
