//! The same in fp64, and how far the kernels are from it.

use autokernel::{Batch, Device, Element, Matrix, Result, bf16};

use crate::{EXPERTS, Layer, Scratch, TOP_K, Widths, inputs};

/// Tokens that are computed in fp64; they are independent of each other.
const TOKENS: usize = 5;

/// The error of a pass of a layer of those widths over so many tokens.
///
/// # Errors
/// A launch fails.
pub fn error_of_a_pass(device: &Device, tokens: usize, widths: Widths) -> Result<f64> {
    let layer = Layer::random(device, widths)?;
    let (x, scores) = inputs(device, tokens, widths.features)?;
    let (mut scratch, mut out) =
        (Scratch::zeros(device, tokens, widths)?, Matrix::zeros(device, tokens, widths.features)?);
    layer.forward(&x, &scores, &mut scratch, &mut out)?;
    relative_error(&layer, &x, &scores, &out)
}

/// ‖out − reference‖ / ‖reference‖ over some tokens, from the first to the last.
///
/// # Errors
/// An operand cannot be copied to the host.
pub fn relative_error(layer: &Layer, x: &Matrix<bf16>, scores: &Matrix<f32>, out: &Matrix<bf16>) -> Result<f64> {
    let weights = [&layer.gate, &layer.up, &layer.down].map(Batch::to_vec);
    let [gate, up, down] = weights;
    let (gate, up, down) = (gate?, up?, down?);
    let (features, last) = (x.ncols(), x.nrows().saturating_sub(1));
    let (x, scores, out) = (x.to_vec()?, scores.to_vec()?, out.to_vec()?);
    let (mut error, mut size) = (0.0, 0.0);
    for token in (0..TOKENS).map(|at| at * last / (TOKENS - 1)) {
        let of_token = token * features..(token + 1) * features;
        let mut sum = vec![0.0; features];
        for (expert, weight) in experts(&scores[token * EXPERTS..][..EXPERTS]) {
            let of = |weights: &[bf16], x: &[f64]| {
                let matrix = weights.len() / EXPERTS;
                linear(x, &weights[expert * matrix..][..matrix])
            };
            let x = wide(&x[of_token.clone()]);
            let gated = of(&gate, &x).into_iter().zip(of(&up, &x));
            let hidden: Vec<f64> = gated.map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
            sum.iter_mut().zip(of(&down, &hidden)).for_each(|(sum, made)| *sum += weight * made);
        }
        for (out, sum) in wide(&out[of_token]).iter().zip(&sum) {
            error += (out - sum).powi(2);
            size += sum.powi(2);
        }
    }
    Ok((error / size).sqrt())
}

/// A token's experts and their weights.
fn experts(scores: &[f32]) -> Vec<(usize, f64)> {
    let mut ranked: Vec<usize> = (0..scores.len()).collect();
    ranked.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]));
    let share = |expert: usize| f64::from(scores[expert]).exp();
    let sum: f64 = ranked[..TOP_K].iter().map(|&expert| share(expert)).sum();
    ranked[..TOP_K].iter().map(|&expert| (expert, share(expert) / sum)).collect()
}

fn wide<T: Element>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f32().into()).collect()
}

fn linear(x: &[f64], weights: &[bf16]) -> Vec<f64> {
    let products = |row: &[bf16]| row.iter().zip(x).map(|(w, x)| f64::from(w.to_f32()) * x).sum();
    weights.chunks(x.len()).map(products).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layer_agrees_with_fp64_on_the_best_device() {
        // Two matrices in bf16 lie between `x` and `out`, which is one too: each is rounded by 2⁻⁸ / √3 of a value in the mean,
        // and the sum of six experts is closer than one of them.
        for tokens in [1, 13, 150] {
            let error = error_of_a_pass(&Device::best(), tokens, Widths { features: 64, hidden: 96 }).unwrap();
            assert!(error > 0.0 && error < 3f64.sqrt() / 256.0 / 3f64.sqrt(), "{tokens} tokens: {error}");
        }
    }
}
