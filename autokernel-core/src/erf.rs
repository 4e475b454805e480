//! The error function, which `f32` has no method for.
//!
//! Straight code of additions, products and selections, so that a loop over a row is one of vectors, and the bits are the same on every
//! machine: there is no fused multiplication in it that some have and some have not. Polynomials were fitted to the least largest
//! error relative to what is returned, in fp64.

/// Where one less a power of two takes the place of `x + x · q(x²)`.
const LARGE: f32 = 1.0;

/// Beyond it the nearest `f32` is 1.
const ONE: f32 = 4.0;

/// `2/√π · ∫₀ˣ exp(−t²) dt`: what an epilogue's `erf(x)` means in Rust, to a unit in the last place; CUDA's is `erff`.
#[inline]
pub fn erf(x: f32) -> f32 {
    let size = x.abs();
    let near = near_zero(x);
    let far = (1.0 - complement(if size < ONE { size } else { ONE })).copysign(x);
    // What is no number is not large.
    if size >= LARGE { far } else { near }
}

/// `erf(x)` up to [`LARGE`]: rounding is that of the last addition, as the product is an eighth of x.
#[inline]
fn near_zero(x: f32) -> f32 {
    let s = x * x;
    let q = 7.853_858e-5;
    let q = q * s - 8.010_192_5e-4;
    let q = q * s + 5.188_327_6e-3;
    let q = q * s - 2.685_381_2e-2;
    let q = q * s + 1.128_358_5e-1;
    let q = q * s - 3.761_262_6e-1;
    let q = q * s + 1.283_791_7e-1;
    x + x * q
}

/// `1 − erf(t)` for `t` from [`LARGE`] to [`ONE`]: 2 to the power of `−2t − t · r(t)`.
#[inline]
fn complement(t: f32) -> f32 {
    let r = -3.038_935_8e-4;
    let r = r * t + 4.597_789_7e-3;
    let r = r * t - 3.289_122e-2;
    let r = r * t + 1.516_505_2e-1;
    let r = r * t + 9.173_109e-1;
    let r = r * t - 3.719_474_5e-1;
    exp2_of_sum(-2.0 * t, -(t * r))
}

/// `2ʸ` of the sum `y` of both, which is from −100 to 0 and not rounded: its whole part is taken from `high`.
#[inline]
fn exp2_of_sum(high: f32, low: f32) -> f32 {
    // A number of this size has no digits behind the point: what is added to it is rounded to a whole number, which its last bits are.
    const WHOLE: f32 = 12_582_912.0;
    let shifted = (high + low) + WHOLE;
    let f = (high - (shifted - WHOLE)) + low;
    let p = 1.327_646_7e-3;
    let p = p * f + 9.675_541e-3;
    let p = p * f + 5.550_713_3e-2;
    let p = p * f + 2.402_212e-1;
    let p = p * f + 6.931_469_6e-1;
    let p = p * f + 1.000_000_1;
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far `erf(x)` is off, in units of its last place.
    fn error(x: f32) -> f64 {
        let (got, expected) = (f64::from(erf(x)), libm::erf(f64::from(x)));
        let nearest = expected as f32;
        let unit = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
        (got - expected).abs() / unit
    }

    #[test]
    fn erf_is_that_of_fp64_to_a_unit_in_the_last_place_at_every_exponent() {
        // All 2²³ fractions of an exponent are too many: their steps are a prime, from another place for each exponent.
        let mut worst = (0.0, 0.0);
        for exponent in 0..255_u32 {
            for fraction in ((exponent * 37)..1 << 23).step_by(9973) {
                let x = f32::from_bits((exponent << 23) | fraction);
                let error = error(x);
                if error > worst.0 {
                    worst = (error, x);
                }
                assert_eq!(erf(-x).to_bits(), (-erf(x)).to_bits(), "erf is odd at {x}");
            }
        }
        println!("at most {:.3} units in the last place, at {:e}", worst.0, worst.1);
        assert!(worst.0 <= 1.0, "erf({:e}) is {} units in the last place off", worst.1, worst.0);
    }

    #[test]
    fn erf_does_not_fall_where_one_form_takes_over_from_another() {
        let mut x = 0.99_f32;
        while x < 1.01 {
            let next = x.next_up();
            assert!(erf(next) >= erf(x) - f32::EPSILON / 2.0, "erf falls at {x}");
            x = next;
        }
        assert_eq!(erf(ONE), 1.0);
    }

    #[test]
    fn erf_has_the_bits_that_it_had() {
        let values = [0.0, -0.0, 1e-40, 0.1, 0.999_999_94, 1.0, -1.5, 2.75, 3.9, f32::MAX];
        let bits = values.map(|x| erf(x).to_bits());
        assert_eq!(bits.map(|bits| format!("{bits:08x}")), EXPECTED);
    }

    const EXPECTED: [&str; 10] = [
        "00000000", "80000000", "00013a8b", "3de652f5", "3f57bb3d", "3f57bb3d", "bf7752ab", "3f7ff968", "3f7fffff",
        "3f800000",
    ];

    #[test]
    fn erf_ends_at_one_on_either_side_and_keeps_a_nan() {
        assert_eq!([f32::NEG_INFINITY, f32::INFINITY].map(erf), [-1.0, 1.0]);
        assert!(erf(f32::NAN).is_nan());
    }
}
