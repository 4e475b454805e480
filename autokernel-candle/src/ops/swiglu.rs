//! Gated linear units.

use candle_core::{Shape, Storage, Tensor};

use super::of_product::of_product;
use crate::Result;
use crate::element::by_factor;
use crate::kernels::{products, rows};
use crate::layout::Rows;
use crate::operation::{Custom, Operation, computed};
use crate::served::{in_rows, is_served, is_trained};
use crate::source::Source;

/// silu(x · gateᵀ) · (x · upᵀ) with `x: [.., k]`, `gate` and `up: [n, k]`, which gives `[.., n]`: one kernel, by which neither product is
/// written to memory.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn swiglu(x: &Tensor, gate: &Tensor, up: &Tensor) -> candle_core::Result<Tensor> {
    let inputs = [x, gate, up];
    if !is_served(&inputs) || is_trained(&inputs) && !cfg!(feature = "gradients") {
        let product = |w: &Tensor| candle_core::Module::forward(&candle_nn::Linear::new(w.clone(), None), x);
        return silu_mul(&product(gate)?, &product(up)?);
    }
    in_rows(x)?.apply_op3(&in_rows(gate)?, &in_rows(up)?, Custom(SwiGlu))
}

/// silu(gate) · up of tensors of one shape.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn silu_mul(gate: &Tensor, up: &Tensor) -> candle_core::Result<Tensor> {
    let inputs = [gate, up];
    if !is_served(&inputs) || is_trained(&inputs) && !cfg!(feature = "gradients") || gate.dims() != up.dims() {
        return gate.silu()? * up;
    }
    in_rows(gate)?.apply_op2(&in_rows(up)?, Custom(SiluMul))
}

struct SwiGlu;

impl Operation<3> for SwiGlu {
    const NAME: &'static str = "autokernel-swiglu";

    fn forward(&self, [x, gate, up]: [Source<'_>; 3]) -> Result<(Storage, Shape)> {
        let (shape, [m, n]) = of_product(x, gate)?;
        by_factor!(x.dtype(), T => computed::<T>(x, shape, |out| {
            Ok(products::swiglu::launch(x.matrix::<T>()?, gate.matrix::<T>()?, up.matrix::<T>()?, out.matrix(m, n)?)?)
        }))
    }

    /// The projections are computed again: they were not kept.
    #[cfg(feature = "gradients")]
    fn backward(&self, [x, gate, up]: [&Tensor; 3], _: &Tensor, gradient: &Tensor) -> Result<[Tensor; 3]> {
        let (n, k) = gate.dims2()?;
        let rows = x.elem_count() / k.max(1);
        // candle's products on a GPU take no distance between rows.
        let (flat, gradient) = (x.reshape((rows, k))?.contiguous()?, gradient.reshape((rows, n))?);
        let (gate, up) = (&gate.contiguous()?, &up.contiguous()?);
        let (g, u) = (flat.matmul(&gate.t()?)?, flat.matmul(&up.t()?)?);
        let [dg, du] = of_silu_mul(&g, &u, &gradient)?;
        let dx = (dg.matmul(gate)? + du.matmul(up)?)?.reshape(x.shape())?;
        Ok([dx, dg.t()?.matmul(&flat)?, du.t()?.matmul(&flat)?])
    }

    #[cfg(not(feature = "gradients"))]
    fn backward(&self, _: [&Tensor; 3], _: &Tensor, _: &Tensor) -> Result<[Tensor; 3]> {
        Err(candle_core::Error::BackwardNotSupported { op: Self::NAME }.into())
    }
}

struct SiluMul;

impl Operation<2> for SiluMul {
    const NAME: &'static str = "autokernel-silu-mul";

    fn forward(&self, [gate, up]: [Source<'_>; 2]) -> Result<(Storage, Shape)> {
        let Rows { rows: m, columns: n, .. } = gate.rows()?;
        by_factor!(gate.dtype(), T => computed::<T>(gate, gate.dims(), |out| {
            Ok(rows::silu_mul::launch(gate.matrix::<T>()?, up.matrix::<T>()?, out.matrix(m, n)?)?)
        }))
    }

    #[cfg(feature = "gradients")]
    fn backward(&self, [gate, up]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Tensor; 2]> {
        of_silu_mul(gate, up, gradient)
    }

    #[cfg(not(feature = "gradients"))]
    fn backward(&self, _: [&Tensor; 2], _: &Tensor, _: &Tensor) -> Result<[Tensor; 2]> {
        Err(candle_core::Error::BackwardNotSupported { op: Self::NAME }.into())
    }
}

#[cfg(feature = "gradients")]
fn of_silu_mul(gate: &Tensor, up: &Tensor, gradient: &Tensor) -> Result<[Tensor; 2]> {
    use crate::{Error, kernels::gradients, read, write};
    let (gradient, shape, device) = (in_rows(gradient)?, gate.shape(), gate.device());
    let (g, u, dy) = (read(gate), read(up), read(&gradient));
    by_factor!(gate.dtype(), T => {
        let (g, u, dy) = (g.matrix::<T>()?, u.matrix::<T>()?, dy.matrix::<T>()?);
        let (m, n) = (g.nrows(), g.ncols());
        let mut of_up = None;
        let of_gate = write::<T>(device, shape, |of_gate| {
            of_up = Some(write::<T>(device, shape, |of_up| {
                Ok(gradients::of_silu_mul::launch(&g, &u, &dy, of_gate.matrix(m, n)?, of_up.matrix(m, n)?)?)
            })?);
            Ok(())
        })?;
        Ok([of_gate, of_up.ok_or(Error::Device)?])
    })
}
