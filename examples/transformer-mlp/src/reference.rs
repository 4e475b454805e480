//! The same in fp64, and how far the kernels are from it.

use autokernel::{Element, Matrix, Result, Row};

use crate::{EPS, FEATURES, HIDDEN, Mlp};

/// Tokens that are computed in fp64; they are independent of each other.
const TOKENS: usize = 5;

/// ‖out − reference‖ / ‖reference − x‖ over some tokens, from the first to the last: the error of what was added to `x`.
///
/// # Errors
/// An operand cannot be copied to the host.
pub fn relative_error(mlp: &Mlp, x: &Matrix<f32>, out: &Matrix<f32>) -> Result<f64> {
    let [weight, bias, scale] = [&mlp.weight, &mlp.bias, &mlp.scale].map(Row::to_vec);
    let (weight, bias, scale) = (wide(&weight?), wide(&bias?), wide(&scale?));
    let (gate_and_up, down) = (wide(&mlp.gate_and_up.to_vec()?), wide(&mlp.down.to_vec()?));
    let (gate, up) = gate_and_up.split_at(HIDDEN * FEATURES);
    let (x, out) = (wide(&x.to_vec()?), wide(&out.to_vec()?));
    let last = (x.len() / FEATURES).saturating_sub(1);
    let (mut error, mut size) = (0.0, 0.0);
    for token in (0..TOKENS).map(|at| at * last / (TOKENS - 1) * FEATURES) {
        let x = &x[token..token + FEATURES];
        let normed = norm(x, &weight, &bias);
        let gated = linear(&normed, gate).into_iter().zip(linear(&normed, up));
        let hidden: Vec<f64> = gated.map(|(gate, up)| silu(gate) * up).collect();
        let branch = linear(&hidden, &down);
        for (at, branch) in branch.iter().enumerate() {
            let added = scale[at] * branch;
            error += (out[token + at] - (x[at] + added)).powi(2);
            size += added.powi(2);
        }
    }
    Ok((error / size).sqrt())
}

fn wide<T: Element>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f32().into()).collect()
}

fn norm(x: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / x.len() as f64;
    let centre = mean(&mut x.iter().copied());
    let variance = mean(&mut x.iter().map(|x| (x - centre).powi(2)));
    let root = (variance + f64::from(EPS)).sqrt();
    x.iter().zip(weight).zip(bias).map(|((x, weight), bias)| (x - centre) / root * weight + bias).collect()
}

fn linear(x: &[f64], weights: &[f64]) -> Vec<f64> {
    weights.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scratch, norm, unfused, uniform};
    use autokernel::Device;

    #[test]
    fn the_forward_pass_agrees_with_fp64_on_the_best_device() -> Result<()> {
        let (device, tokens) = (Device::best(), 13);
        let mlp = Mlp::random(&device)?;
        let x = Matrix::from_slice(&device, &uniform(tokens * FEATURES, 1.0, 6), tokens, FEATURES)?;
        let (mut scratch, mut out) = (Scratch::zeros(&device, tokens)?, Matrix::zeros(&device, tokens, FEATURES)?);
        mlp.forward(&x, &mut scratch, &mut out)?;
        // Three matrices in bf16 lie between `x` and `out`, each rounded by at most 2⁻⁸ of a value and 2⁻⁸ / √3 in the mean.
        let error = relative_error(&mlp, &x, &out)?;
        assert!(error > 0.0 && error < 3f64.sqrt() / 256.0 / 3f64.sqrt(), "{error}");
        // Without fusion three more are rounded.
        let mut scratch = unfused::Scratch::zeros(&device, tokens)?;
        unfused::forward(&mlp, &x, &mut scratch, &mut out)?;
        let error = relative_error(&mlp, &x, &out)?;
        assert!(error > 0.0 && error < 6f64.sqrt() / 256.0 / 3f64.sqrt(), "{error}");
        Ok(())
    }

    #[test]
    fn a_weight_of_another_width_is_refused_by_its_name() -> Result<()> {
        let device = Device::best();
        let (x, short) = (Matrix::zeros(&device, 3, FEATURES)?, Row::zeros(&device, FEATURES - 1)?);
        let mut out = Matrix::zeros(&device, 3, FEATURES)?;
        let refused = norm(&x, &short, &short, EPS, &mut out).unwrap_err().to_string();
        assert!(refused.contains("`weight`") && refused.contains("511"), "{refused}");
        Ok(())
    }
}
