//! Matrices of 8-bit floats whose blocks have scales.

use crate::{Error, Result, e4m3};

/// Rows, and numbers along K, of a block.
const BLOCK: usize = 128;
/// The largest number that e4m3 holds.
const LARGEST: f32 = 448.0;

/// Weights of `[n, k]` floats as e4m3 with a scale for each block of 128 x 128: the number is the weight over the scale, rounded to
/// nearest, and the scale a block's largest magnitude over 448.
///
/// Gives the numbers, `[n, k]`, and the scales, `[⌈n / 128⌉, ⌈k / 128⌉]`, as `(w * scales).t()` takes them in a body with `block = 128`. A
/// block of zeros has the scale 0; NaN stays NaN.
///
/// # Errors
/// There are no whole rows of `k`, or a weight is infinite.
pub fn quantise_blocks(weights: &[f32], k: usize) -> Result<(Vec<e4m3>, Vec<f32>)> {
    if k == 0 || !weights.len().is_multiple_of(k) {
        return Err(Error::Packing(format!("{} numbers in rows of {k}: give whole rows", weights.len())));
    }
    let along_k = k.div_ceil(BLOCK);
    // Rows so long that this overflows are of no weights: none hold so many.
    let height = BLOCK.saturating_mul(k);
    if let Some(at) = weights.iter().position(|weight| weight.is_infinite()) {
        let place = [at / k, at % k];
        return Err(Error::Packing(format!(
            "the weight at {place:?} is infinite, and no scale holds it; make it finite"
        )));
    }
    let mut scales = Vec::with_capacity(weights.len().div_ceil(height) * along_k);
    for rows in weights.chunks(height) {
        scales.extend(largest_of_blocks(rows, k).into_iter().map(|largest| largest / LARGEST));
    }
    let number = |(at, weight): (usize, &f32)| {
        let scale = scales[at / k / BLOCK * along_k + at % k / BLOCK];
        e4m3::from_f32(if scale == 0.0 && !weight.is_nan() { 0.0 } else { weight / scale })
    };
    let numbers = weights.iter().enumerate().map(number).collect();
    Ok((numbers, scales))
}

/// Scales a row of an output in blocks of so many columns, by scales that are made of it
/// ([`MadeScales`](autokernel_ops::body::MadeScales)): where `largest` is the largest number of the output's type. Blocks that have no
/// element in `scales` stay as they are.
pub fn scale_blocks(values: &mut [f32], scales: &mut [f32], block: usize, largest: f32) {
    for (values, scale) in values.chunks_mut(block.max(1)).zip(scales) {
        let of_block = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        *scale = (of_block.min(f32::MAX) / largest).max(f32::MIN_POSITIVE);
        let reciprocal = 1.0 / *scale;
        values.iter_mut().for_each(|value| *value *= reciprocal);
    }
}

/// The largest magnitude of each block along K of rows of `k`, of numbers alone.
fn largest_of_blocks(rows: &[f32], k: usize) -> Vec<f32> {
    let mut largest = vec![0f32; k.div_ceil(BLOCK)];
    for row in rows.chunks(k) {
        for (largest, block) in largest.iter_mut().zip(row.chunks(BLOCK)) {
            *largest = block.iter().fold(*largest, |largest, weight| largest.max(weight.abs()));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    #[test]
    fn what_is_quantised_is_within_a_sixteenth_of_each_weight_or_of_the_least_normal_number() {
        let (n, k) = (200, 300);
        let weights: Vec<f32> = (0..n * k).map(|at| ((at * 37 % 1013) as f32 - 500.0) * (1 + at / k) as f32).collect();
        let (numbers, scales) = quantise_blocks(&weights, k).unwrap();
        assert_eq!((numbers.len(), scales.len()), (n * k, 2 * 3));
        for (at, (weight, number)) in weights.iter().zip(&numbers).enumerate() {
            let scale = scales[at / k / 128 * 3 + at % k / 128];
            let got = Number::to_f32(*number) * scale;
            let allowed = (weight.abs() / 16.0).max(scale / 512.0) * 1.0001;
            assert!((got - weight).abs() <= allowed, "{at}: {got}, not {weight}");
        }
        let largest = numbers.iter().map(|number| Number::to_f32(*number).abs()).fold(0.0, f32::max);
        assert_eq!(largest, LARGEST);
    }

    #[test]
    fn blocks_of_zeros_have_the_scale_zero_and_what_cannot_be_scaled_is_refused() {
        let (numbers, scales) = quantise_blocks(&[0.0; 256], 128).unwrap();
        assert!(numbers.iter().all(|number| Number::to_f32(*number) == 0.0) && scales == [0.0]);
        for k in [128, 1 << 57, usize::MAX] {
            assert_eq!(quantise_blocks(&[], k).unwrap().1, [0f32; 0]);
        }
        let text = |weights: &[f32], k| quantise_blocks(weights, k).unwrap_err().to_string();
        assert!(text(&[0.0; 5], 2).contains("whole rows") && text(&[0.0; 5], 0).contains("whole rows"));
        let mut weights = vec![0.0; 300 * 200];
        weights[270 * 200 + 150] = f32::NEG_INFINITY;
        let told = text(&weights, 200);
        assert!(told.contains("the weight at [270, 150] is infinite") && told.contains("make it finite"), "{told}");
    }

    #[test]
    fn scales_that_are_made_divide_nothing_by_zero_and_leave_what_is_no_number_as_it_is() {
        let least = f32::MIN_POSITIVE;
        let mut values = [0.0, -0.0, 448.0, -896.0, f32::NAN, 3.0, f32::NEG_INFINITY, 1e30, 1e-40, 0.0, f32::NAN];
        let mut scales = [7f32; 6];
        scale_blocks(&mut values, &mut scales, 2, LARGEST);
        assert_eq!(scales, [least, 2.0, 3.0 / 448.0, f32::MAX / 448.0, least, least]);
        assert_eq!((&values[..4], values[6]), (&[0.0, -0.0, 224.0, -448.0][..], f32::NEG_INFINITY));
        assert!(values[4].is_nan() && values[10].is_nan());
        let numbers = values.map(|value| Number::to_f32(e4m3::from_f32(value)));
        assert_eq!((numbers[5], numbers[6], numbers[7]), (LARGEST, -LARGEST, 0.0));
        // A value below the least scale keeps digits: 1e-40 is 0.0085 of it.
        assert!((numbers[8] * least - 1e-40).abs() <= least / 512.0 && numbers[8] > 0.0);

        let (mut rest, mut few) = ([1.0, 2.0, 3.0], [0f32; 1]);
        scale_blocks(&mut rest, &mut few, 2, 1.0);
        assert_eq!((rest, few), ([0.5, 1.0, 3.0], [2.0]));
    }
}
