//! The same perceptron in fp64, and how far the kernels are from it.

use std::f64::consts::PI;

use autokernel::{Matrix, Result, bf16};

use crate::{FEATURES, Mlp};

/// Tokens that are computed in fp64; they are independent of each other.
const TOKENS: usize = 8;

/// ‖out − reference‖ / ‖reference‖ over some tokens, from the first to the last.
///
/// # Errors
/// A matrix cannot be copied to the host.
pub fn relative_error(mlp: &Mlp, x: &Matrix<bf16>, out: &Matrix<bf16>) -> Result<f64> {
    let wide = |m: &Matrix<bf16>| -> Result<Vec<f64>> { Ok(m.to_vec()?.into_iter().map(f64::from).collect()) };
    let (x, up, down, out) = (wide(x)?, wide(&mlp.up)?, wide(&mlp.down)?, wide(out)?);
    let last = (x.len() / FEATURES).saturating_sub(1);
    let (mut error, mut norm) = (0.0, 0.0);
    for token in (0..TOKENS).map(|at| at * last / (TOKENS - 1) * FEATURES) {
        let hidden = layer(&x[token..token + FEATURES], &up).into_iter().map(gelu_tanh).collect::<Vec<_>>();
        for (expected, got) in layer(&hidden, &down).into_iter().zip(&out[token..]) {
            error += (got - expected).powi(2);
            norm += expected.powi(2);
        }
    }
    Ok((error / norm).sqrt())
}

fn layer(x: &[f64], weights: &[f64]) -> Vec<f64> {
    weights.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

/// Hendrycks and Gimpel 2016, section 2.
fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HIDDEN, random, up};
    use autokernel::Device;

    #[test]
    fn the_forward_pass_agrees_with_fp64_on_the_best_device() -> Result<()> {
        let (device, tokens) = (Device::best(), 13);
        let (mlp, x) = (Mlp::random(&device)?, random(&device, tokens, FEATURES, 1.0, 3)?);
        let (mut hidden, mut out) =
            (Matrix::zeros(&device, tokens, HIDDEN)?, Matrix::zeros(&device, tokens, FEATURES)?);
        mlp.forward(&x, &mut hidden, &mut out)?;
        // `hidden` and `out` are each rounded once, by at most 2⁻⁸ of a value and 2⁻⁸ / √3 in the mean.
        let error = relative_error(&mlp, &x, &out)?;
        assert!(error > 0.0 && error < 2f64.sqrt() / 256.0 / 3f64.sqrt(), "{error}");
        Ok(())
    }

    #[test]
    fn weights_of_another_width_than_the_compiled_one_are_refused() -> Result<()> {
        let device = Device::best();
        let (x, w) = (Matrix::zeros(&device, 3, 128)?, Matrix::zeros(&device, HIDDEN, 128)?);
        let refused = up(&x, &w, &mut Matrix::zeros(&device, 3, HIDDEN)?).unwrap_err();
        assert!(refused.to_string().contains("k = 1024"), "{refused}");
        Ok(())
    }
}
