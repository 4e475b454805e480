//! Single and double precision with PTX's rounding (PTX ISA, "Floating Point Instructions").
//!
//! The `.approx` instructions are computed to within half a unit in the last place, which is closer than the hardware
//! promises: tests of what they feed must allow for the documented error, not for ours.

use crate::isa::rounding::Round;

/// The single-precision number in the low bits.
pub(crate) fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits of a result: every NaN becomes the canonical one.
pub(crate) fn single_bits(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

pub(crate) fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

pub(crate) fn double_bits(value: f64) -> u64 {
    value.to_bits()
}

/// What stands where neither `.ftz` nor `.sat` does.
pub(crate) fn identity(value: f32) -> f32 {
    value
}

/// `.ftz`: a subnormal number becomes zero of its sign.
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// `.sat`: clamped to [0, 1]; NaN becomes 0.
pub(crate) fn saturate(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 }
}

/// `high + low`, of which `low` is the error of `high`, rounded once.
pub(crate) fn round_to_single(high: f64, low: f64, round: Round) -> f32 {
    let nearest = high as f32;
    if !high.is_finite() {
        return nearest;
    }
    // Exact: `nearest` is so close to `high` that the difference loses nothing.
    let error = (high - f64::from(nearest)) + low;
    match round {
        Round::Nearest => nearest,
        Round::Down if error < 0.0 => nearest.next_down(),
        Round::Up if error > 0.0 => nearest.next_up(),
        Round::Zero if nearest > 0.0 && error < 0.0 => nearest.next_down(),
        Round::Zero if nearest < 0.0 && error > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The error of `a + b` as it was rounded (Knuth's two-sum).
fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let b_part = sum - a;
    (a - (sum - b_part)) + (b - b_part)
}

/// `a · b + c` rounded once.
pub(crate) fn fma(a: f32, b: f32, c: f32, round: Round) -> f32 {
    if round == Round::Nearest {
        return a.mul_add(b, c);
    }
    // A product of two singles is exact in double precision.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let rounded = round_to_single(sum, sum_error(product, c, sum), round);
    // A sum that cancels is +0, but −0 when rounding down.
    if sum == 0.0 && product != 0.0 && round == Round::Down { -0.0 } else { rounded }
}

pub(crate) fn add(a: f32, b: f32, round: Round) -> f32 {
    if round == Round::Nearest { a + b } else { fma(a, 1.0, b, round) }
}

pub(crate) fn mul(a: f32, b: f32, round: Round) -> f32 {
    if round == Round::Nearest { a * b } else { round_to_single(f64::from(a) * f64::from(b), 0.0, round) }
}

/// The smaller; the other operand when one is NaN; −0 is below +0.
pub(crate) fn min(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

pub(crate) fn max(a: f32, b: f32) -> f32 {
    -min(-a, -b)
}

/// `.NaN`: a NaN if either operand is one.
pub(crate) fn min_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { min(a, b) }
}

pub(crate) fn max_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { max(a, b) }
}

/// To an integer between `low` and `high`; NaN becomes 0.
pub(crate) fn to_integer(value: f64, round: Round, low: i128, high: i128) -> i128 {
    if value.is_nan() {
        return 0;
    }
    let whole = round_to_integer(value, round);
    // `as` saturates, also from infinity.
    (whole as i128).clamp(low, high)
}

/// `.rni`, `.rzi`, `.rmi`, `.rpi`.
pub(crate) fn round_to_integer(value: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => value.round_ties_even(),
        Round::Zero => value.trunc(),
        Round::Down => value.floor(),
        Round::Up => value.ceil(),
    }
}

/// An integer to single precision, rounded once.
pub(crate) fn single_from_integer(value: i128, round: Round) -> f32 {
    let high = value as f64;
    let low = (value - high as i128) as f64;
    match round {
        Round::Nearest => value as f32,
        _ => round_to_single(high, low, round),
    }
}

/// `ex2`, `lg2`, `sin`, …: computed in double precision, and rounded.
pub(crate) fn through_double(value: f32, f: impl Fn(f64) -> f64) -> f32 {
    f(f64::from(value)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        let (a, b, c) = (1.000_000_1_f32, 1.000_000_2_f32, 3.3e-9_f32);
        let (down, up) = (fma(a, b, c, Round::Down), fma(a, b, c, Round::Up));
        assert_eq!(down.next_up(), up);
        assert_eq!(fma(a, b, c, Round::Zero), down);
        assert_eq!(fma(-a, b, -c, Round::Zero), -down);
        assert_eq!(fma(2.0, 3.0, 1.0, Round::Down), 7.0);
    }

    #[test]
    fn a_result_too_large_rounds_to_the_largest_number_towards_zero() {
        assert_eq!(mul(f32::MAX, 2.0, Round::Zero), f32::MAX);
        assert_eq!(mul(f32::MAX, 2.0, Round::Up), f32::INFINITY);
        assert_eq!(add(f32::MAX, f32::MAX, Round::Nearest), f32::INFINITY);
    }

    #[test]
    fn minimum_and_maximum_prefer_numbers_and_order_zeros() {
        assert_eq!(min(f32::NAN, 1.0), 1.0);
        assert_eq!(max(1.0, f32::NAN), 1.0);
        assert!(min(0.0, -0.0).is_sign_negative() && max(-0.0, 0.0).is_sign_positive());
        assert!(max_nan(f32::NAN, 1.0).is_nan());
    }

    #[test]
    fn conversion_to_an_integer_saturates_and_rounds_as_asked() {
        assert_eq!(to_integer(2.5, Round::Nearest, -10, 10), 2);
        assert_eq!(to_integer(-2.5, Round::Down, -10, 10), -3);
        assert_eq!(to_integer(f64::INFINITY, Round::Zero, -10, 10), 10);
        assert_eq!(to_integer(f64::NAN, Round::Zero, -10, 10), 0);
    }

    #[test]
    fn saturation_gives_no_negative_zero_and_no_nan() {
        assert_eq!(saturate(-0.0).to_bits(), 0);
        assert_eq!(saturate(f32::NAN), 0.0);
        assert_eq!(saturate(7.0), 1.0);
    }
}
