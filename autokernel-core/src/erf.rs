//! The error function, which `f32` has no method for.

/// `2/√π · ∫₀ˣ exp(−t²) dt`: what an epilogue's `erf(x)` means in Rust; CUDA's is `erff`.
pub fn erf(x: f32) -> f32 {
    libm::erff(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_is_that_of_fp64_to_a_unit_in_the_last_place() {
        for step in -6000_i16..=6000 {
            let x = f32::from(step) / 1000.0;
            let expected = libm::erf(f64::from(x));
            let error = (f64::from(erf(x)) - expected).abs();
            assert!(error <= f64::from(f32::EPSILON) * expected.abs(), "erf({x}) is off by {error}");
        }
    }

    #[test]
    fn erf_ends_at_one_on_either_side_and_keeps_a_nan() {
        assert_eq!([f32::NEG_INFINITY, f32::INFINITY].map(erf), [-1.0, 1.0]);
        assert!(erf(f32::NAN).is_nan());
    }
}
