//! How far a sum of the matrix units may be from the exact one: the one place that says so, which every tolerance reads.

use autokernel_core::Dtype;

/// The largest error of a sum over `k` products of mean zero whose running sum stays below `peak`.
///
/// An instruction aligns its products and the running sum with the largest of them, and cuts what lies below a unit of that.
///
/// - 16-bit inputs, 16 products an instruction: the unit is 2⁻²³. The sum loses up to a unit each time, towards zero, so that
///   losses add up: k/16 units, and 4 more for the products, most of which need no alignment.
/// - 8-bit inputs, 32 products an instruction: the unit is 2⁻¹³, as Hopper keeps 14 digits here (DeepSeek-V3 technical report,
///   section 3.5.2), so that products lose too, each up to a unit. Their signs differ: k losses of deviation 1/√3 stay below
///   4·√k. The sum loses k/32 units as above.
/// - `f32` as tf32, 8 products an instruction: sums as those of 16-bit inputs. Before that each factor loses up to 2⁻¹⁰ of itself, as
///   its last 13 bits are ignored, so that what is lost of a sum stays below 2⁻⁹ of the peak: 2¹⁴ units.
/// - `i8`: sums are whole numbers of 32 bits and exact; as `f32` they are rounded once, by half a unit of 2⁻²³.
pub fn error(input: Dtype, k: f64, peak: f64) -> f64 {
    let (unit, units) = match input {
        Dtype::F32 => (2f64.powi(-23), k / 8.0 + 4.0 + f64::from(1 << 14)),
        Dtype::Bf16 | Dtype::F16 | Dtype::I4x2 | Dtype::I32 => (2f64.powi(-23), k / 16.0 + 4.0),
        Dtype::I8 => (2f64.powi(-24), 1.0),
        Dtype::E4m3 | Dtype::E5m2 => (2f64.powi(-13), k / 32.0 + 4.0 * k.sqrt()),
    };
    unit * units * peak
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deviation of a product of numbers that are uniform in [−1, 1).
    const UNIFORM: f64 = 1.0 / 3.0;

    /// What 32 products and the running sum come to where 14 digits are kept.
    fn in_14_digits(sum: f64, products: &[f64]) -> f64 {
        let largest = products.iter().fold(sum.abs(), |largest, product| largest.max(product.abs()));
        let unit = 2f64.powi(largest.max(f64::MIN_POSITIVE).log2().floor() as i32 - 13);
        let cut = |value: f64| (value / unit).trunc() * unit;
        cut(products.iter().map(|product| cut(*product)).sum::<f64>() + cut(sum))
    }

    #[test]
    fn what_tf32_loses_of_factors_stays_within_the_error_of_f32_and_beyond_a_hundredth_of_it() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let cut = |value: f32| f64::from(f32::from_bits(value.to_bits() & !0x1fff));
        for k in [32usize, 256, 4096] {
            let (mut worst, allowed) = (0f64, error(Dtype::F32, k as f64, 4.0 * UNIFORM * (k as f64).sqrt()));
            for _ in 0..64 {
                let lost = |(a, b): (f32, f32)| f64::from(a) * f64::from(b) - cut(a) * cut(b);
                worst = worst.max((0..k).map(|_| lost((uniform(), uniform()))).sum::<f64>().abs());
            }
            assert!((allowed / 100.0..allowed).contains(&worst), "k = {k}: {worst}, {allowed} is allowed");
        }
    }

    #[test]
    fn sums_of_14_digits_stay_within_the_error_of_8_bit_inputs_and_beyond_a_hundredth_of_it() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        for k in [32usize, 256, 4096, 16_384] {
            let (mut worst, allowed) = (0f64, error(Dtype::E4m3, k as f64, 4.0 * UNIFORM * (k as f64).sqrt()));
            for _ in 0..64 {
                let products: Vec<f64> = (0..k).map(|_| uniform() * uniform()).collect();
                let kept = products.chunks(32).fold(0.0, in_14_digits);
                worst = worst.max((kept - products.iter().sum::<f64>()).abs());
            }
            assert!((allowed / 100.0..allowed).contains(&worst), "k = {k}: {worst}, {allowed} is allowed");
        }
    }
}
