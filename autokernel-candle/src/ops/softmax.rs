//! Softmax along the last axis.

use candle_core::{Shape, Storage, Tensor};

use crate::Result;
use crate::element::by_factor;
use crate::kernels::rows;
use crate::layout::Rows;
use crate::operation::{Custom, Operation, computed};
use crate::served::{in_rows, is_served, is_trained};
use crate::source::Source;

/// Softmax along the last axis.
///
/// # Errors
/// What candle or the launch says.
pub fn softmax(x: &Tensor) -> candle_core::Result<Tensor> {
    let is_trained = is_trained(&[x]);
    if !is_served(&[x]) || is_trained && !cfg!(feature = "gradients") {
        return if is_trained {
            candle_nn::ops::softmax(x, candle_core::D::Minus1)
        } else {
            candle_nn::ops::softmax_last_dim(&x.contiguous()?)
        };
    }
    in_rows(x)?.apply_op1(Custom(Softmax))
}

struct Softmax;

impl Operation<1> for Softmax {
    const NAME: &'static str = "autokernel-softmax";

    fn forward(&self, [x]: [Source<'_>; 1]) -> Result<(Storage, Shape)> {
        let Rows { rows: m, columns: n, .. } = x.rows()?;
        by_factor!(x.dtype(), T => computed::<T>(x, x.dims(), |out| {
            Ok(rows::softmax::launch(x.matrix::<T>()?, out.matrix(m, n)?)?)
        }))
    }

    #[cfg(feature = "gradients")]
    fn backward(&self, [x]: [&Tensor; 1], out: &Tensor, gradient: &Tensor) -> Result<[Tensor; 1]> {
        use crate::{kernels::gradients, read};
        let gradient = in_rows(gradient)?;
        let (y, dy) = (read(out), read(&gradient));
        by_factor!(x.dtype(), T => {
            let (y, dy) = (y.matrix::<T>()?, dy.matrix::<T>()?);
            let dx = crate::write::<T>(x.device(), x.shape(), |dx| {
                let dx = dx.matrix(y.nrows(), y.ncols())?;
                Ok(gradients::of_softmax::launch(&y, &dy, dx)?)
            })?;
            Ok([dx])
        })
    }

    #[cfg(not(feature = "gradients"))]
    fn backward(&self, _: [&Tensor; 1], _: &Tensor, _: &Tensor) -> Result<[Tensor; 1]> {
        Err(candle_core::Error::BackwardNotSupported { op: Self::NAME }.into())
    }
}
