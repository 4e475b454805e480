//! `activation(x · wᵀ + bias)`.

use candle_core::{Module, Shape, Storage, Tensor};

use super::of_product::of_product;
use crate::Result;
use crate::element::by_factor;
use crate::kernels::products;
use crate::operation::{Custom, Operation, computed};
use crate::served::{in_rows, is_served};
use crate::source::Source;

/// What becomes of `x · wᵀ + bias`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// The tanh form of GELU, as [`Tensor::gelu`] is.
    Gelu,
    /// GELU by the error function, as [`Tensor::gelu_erf`] is.
    GeluErf,
    /// x · sigmoid(x).
    Silu,
    /// max(x, 0).
    Relu,
}

impl Module for Activation {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Activation::Identity => Ok(x.clone()),
            Activation::Gelu => x.gelu(),
            Activation::GeluErf => x.gelu_erf(),
            Activation::Silu => x.silu(),
            Activation::Relu => x.relu(),
        }
    }
}

/// `activation(x · wᵀ + bias)` with `x: [.., k]`, `w: [n, k]`, `bias: [n]`, which gives `[.., n]`.
///
/// One kernel for bf16 and f16; with an activation and a bias where the feature `activations` is on. Gradients go through candle's own
/// products.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn linear(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, activation: Activation) -> candle_core::Result<Tensor> {
    let inputs = [Some(x), Some(w), bias];
    if !is_served(&inputs.iter().flatten().copied().collect::<Vec<_>>()) {
        let layer = candle_nn::Linear::new(w.clone(), bias.cloned());
        return activation.forward(&layer.forward(x)?);
    }
    let (x, w) = (in_rows(x)?, in_rows(w)?);
    match bias {
        None => activation.forward(&x.apply_op2(&w, Custom(Plain))?),
        Some(bias) if activation == Activation::Identity || cfg!(feature = "activations") => {
            x.apply_op3(&w, &bias.contiguous()?, Custom(Biased(activation)))
        }
        Some(bias) => {
            activation.forward(&x.apply_op3(&w, &bias.contiguous()?, Custom(Biased(Activation::Identity)))?)
        }
    }
}

struct Plain;

impl Operation<2> for Plain {
    const NAME: &'static str = "autokernel-linear";

    fn forward(&self, [x, w]: [Source<'_>; 2]) -> Result<(Storage, Shape)> {
        let (shape, [m, n]) = of_product(x, w)?;
        by_factor!(x.dtype(), T => computed::<T>(x, shape, |out| {
            Ok(products::linear::kernel::<T>().launch(x.matrix::<T>()?, w.matrix::<T>()?, out.matrix(m, n)?)?)
        }))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Tensor; 2]> {
        gradients(x, w, gradient)
    }
}

struct Biased(Activation);

impl Operation<3> for Biased {
    const NAME: &'static str = "autokernel-linear-bias";

    fn forward(&self, [x, w, bias]: [Source<'_>; 3]) -> Result<(Storage, Shape)> {
        let (shape, [m, n]) = of_product(x, w)?;
        by_factor!(x.dtype(), T => computed::<T>(x, shape, |out| {
            let (x, w, bias, out) = (x.matrix::<T>()?, w.matrix::<T>()?, bias.row::<T>()?, out.matrix(m, n)?);
            let launched = match self.0 {
                #[cfg(feature = "activations")]
                Activation::Gelu => crate::kernels::activations::linear_gelu::launch(x, w, bias, out),
                #[cfg(feature = "activations")]
                Activation::GeluErf => crate::kernels::activations::linear_gelu_erf::launch(x, w, bias, out),
                #[cfg(feature = "activations")]
                Activation::Silu => crate::kernels::activations::linear_silu::launch(x, w, bias, out),
                #[cfg(feature = "activations")]
                Activation::Relu => crate::kernels::activations::linear_relu::launch(x, w, bias, out),
                _ => products::linear_bias::launch(x, w, bias, out),
            };
            Ok(launched?)
        }))
    }

    fn backward(&self, [x, w, bias]: [&Tensor; 3], _: &Tensor, gradient: &Tensor) -> Result<[Tensor; 3]> {
        let before = || {
            let [x, w, bias] = [x, w, bias].map(Tensor::detach);
            x.apply_op3(&w, &bias, Custom(Biased(Activation::Identity)))
        };
        let gradient = match self.0 {
            Activation::Identity => gradient.clone(),
            activation => through(activation, before()?, gradient)?,
        };
        let [dx, dw] = gradients(x, w, &gradient)?;
        let (rows, n) = (gradient.elem_count() / bias.elem_count(), bias.elem_count());
        // Summed in f32, as the kernel sums.
        let summed = gradient.reshape((rows, n))?.to_dtype(candle_core::DType::F32)?.sum(0)?;
        Ok([dx, dw, summed.to_dtype(bias.dtype())?.reshape(bias.shape())?])
    }
}

/// The gradient of what an activation was given, `before`: by candle's own.
fn through(activation: Activation, before: Tensor, gradient: &Tensor) -> Result<Tensor> {
    let before = candle_core::Var::from_tensor(&before)?;
    let sum = (activation.forward(&before)? * gradient)?.sum_all()?;
    let gradients = sum.backward()?;
    gradients.get(&before).cloned().ok_or_else(|| candle_core::Error::BackwardNotSupported { op: "activation" }.into())
}

/// Of a product with a weight towards both.
fn gradients(x: &Tensor, w: &Tensor, gradient: &Tensor) -> Result<[Tensor; 2]> {
    let (n, k) = w.dims2()?;
    let rows = x.elem_count() / k;
    let (flat, gradient) = (x.reshape((rows, k))?, gradient.reshape((rows, n))?);
    Ok([gradient.matmul(&w.contiguous()?)?.reshape(x.shape())?, gradient.t()?.matmul(&flat)?])
}
