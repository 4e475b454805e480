//! Norms of the last axis.

use candle_core::op::BackpropOp;
use candle_core::{Shape, Storage, Tensor};

use crate::Result;
use crate::element::by_factor;
use crate::kernels::rows;
use crate::layout::Rows;
use crate::operation::{Custom, Operation, computed};
use crate::read;
use crate::served::{in_rows, is_served, is_trained};
use crate::source::Source;
use crate::write::{Before, written, written_two};

/// x / √(mean(x²) + eps) · weight along the last axis, with `x: [.., n]` and `weight: [n]`.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> candle_core::Result<Tensor> {
    let is_trained = is_trained(&[x, weight]);
    if !is_served(&[x, weight]) || is_trained && !cfg!(feature = "gradients") {
        return if is_trained {
            candle_nn::ops::rms_norm_slow(x, weight, eps)
        } else {
            candle_nn::ops::rms_norm(&x.contiguous()?, &weight.contiguous()?, eps)
        };
    }
    in_rows(x)?.apply_op2(&weight.contiguous()?, Custom(RmsNorm { eps }))
}

/// The sum of `x` and `skip`, and its [`rms_norm`]: the step between two blocks of a transformer, in one kernel where nothing is trained.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn add_rms_norm(x: &Tensor, skip: &Tensor, weight: &Tensor, eps: f32) -> candle_core::Result<(Tensor, Tensor)> {
    let inputs = [x, skip, weight];
    if !is_served(&inputs) || is_trained(&inputs) || x.dims() != skip.dims() {
        let sum = (x + skip)?;
        let normed = rms_norm(&sum, weight, eps)?;
        return Ok((sum, normed));
    }
    let (x, skip, weight) = (in_rows(x)?, in_rows(skip)?, weight.contiguous()?);
    let (shape, device) = (x.shape(), x.device());
    let both: Result<(Tensor, Tensor)> = by_factor!(x.dtype(), T => {
        written_two::<T, T>(device, [shape.clone(), shape.clone()], Before::Anything, |sum, out| {
            let (x, skip, weight) = (read(&x), read(&skip), read(&weight));
            let x = x.matrix::<T>()?;
            let (sum, out) = (sum.matrix(x.nrows(), x.ncols())?, out.matrix(x.nrows(), x.ncols())?);
            Ok(rows::add_rms_norm::launch(x, skip.matrix::<T>()?, weight.row::<T>()?, eps, sum, out)?)
        })
    });
    Ok(both?)
}

/// (x − mean(x)) / √(var(x) + eps) · weight + bias along the last axis, with `x: [.., n]`, `weight` and `bias: [n]`. What is trained
/// runs candle's own operations.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> candle_core::Result<Tensor> {
    let inputs = [x, weight, bias];
    if is_trained(&inputs) {
        return candle_nn::ops::layer_norm_slow(x, weight, bias, eps);
    }
    let (weight, bias) = (weight.contiguous()?, bias.contiguous()?);
    if !is_served(&inputs) {
        return candle_nn::ops::layer_norm(&x.contiguous()?, &weight, &bias, eps);
    }
    let x = in_rows(x)?;
    let normed: Result<Storage> = by_factor!(x.dtype(), T => written::<T>(x.device(), x.shape(), Before::Anything, |out| {
        let (x, weight, bias) = (read(&x), read(&weight), read(&bias));
        let x = x.matrix::<T>()?;
        let out = out.matrix(x.nrows(), x.ncols())?;
        Ok(rows::layer_norm::launch(x, weight.row::<T>()?, bias.row::<T>()?, eps, out)?)
    }));
    Ok(Tensor::from_storage(normed?, x.shape(), BackpropOp::none(), false))
}

struct RmsNorm {
    eps: f32,
}

impl Operation<2> for RmsNorm {
    const NAME: &'static str = "autokernel-rms-norm";

    fn forward(&self, [x, weight]: [Source<'_>; 2]) -> Result<(Storage, Shape)> {
        let Rows { rows: m, columns: n, .. } = x.rows()?;
        by_factor!(x.dtype(), T => computed::<T>(x, x.dims(), |out| {
            Ok(rows::rms_norm::launch(x.matrix::<T>()?, weight.row::<T>()?, self.eps, out.matrix(m, n)?)?)
        }))
    }

    #[cfg(feature = "gradients")]
    fn backward(&self, [x, weight]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Tensor; 2]> {
        use crate::kernels::gradients;
        let (gradient, weight, eps) = (in_rows(gradient)?, weight.contiguous()?, self.eps);
        let (reader, dy, of_weight) = (read(x), read(&gradient), read(&weight));
        let (m, n) = (x.elem_count() / weight.elem_count(), weight.elem_count());
        by_factor!(x.dtype(), T => {
            let (view, dy) = (reader.matrix::<T>()?, dy.matrix::<T>()?);
            let (dx, inverse) = crate::write_two::<T, f32>(x.device(), x.shape(), m, |dx, inverse| {
                let (dx, inverse) = (dx.matrix(m, n)?, inverse.column()?);
                Ok(gradients::of_rms_norm::launch(&view, of_weight.row::<T>()?, &dy, eps, dx, inverse)?)
            })?;
            let dw = crate::write::<T>(x.device(), weight.shape(), |dw| {
                Ok(gradients::of_rms_weight::launch(&view, &dy, read(&inverse).column::<f32>()?, dw.row()?)?)
            })?;
            Ok([dx, dw])
        })
    }

    #[cfg(not(feature = "gradients"))]
    fn backward(&self, _: [&Tensor; 2], _: &Tensor, _: &Tensor) -> Result<[Tensor; 2]> {
        Err(candle_core::Error::BackwardNotSupported { op: Self::NAME }.into())
    }
}
