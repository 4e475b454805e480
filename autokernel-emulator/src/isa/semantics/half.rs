//! 16-bit floating point, alone and packed in pairs, and what factors of other widths hold.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

use crate::isa::types::{Kind, Type};

/// The canonical NaN of both 16-bit formats.
const NAN: u16 = 0x7fff;

/// The value of a factor.
///
/// The last 13 bits of tf32 have no effect.
pub(crate) fn widen(kind: Kind, bits: u64) -> f32 {
    match kind {
        Kind::E4m3 => F8E4M3::from_bits(bits as u8).to_f32(),
        Kind::E5m2 => F8E5M2::from_bits(bits as u8).to_f32(),
        Kind::Tf32 => f32::from_bits(bits as u32 & !0x1fff),
        Kind::Signed => (bits as i8).into(),
        Kind::Brain => bf16::from_bits(bits as u16).to_f32(),
        _ => f16::from_bits(bits as u16).to_f32(),
    }
}

/// Rounded to nearest even.
pub(crate) fn narrow(kind: Kind, value: f64) -> u64 {
    if value.is_nan() {
        return NAN.into();
    }
    // `from_f64` looks at the upper 32 bits alone, and takes what is just beyond the middle for a tie.
    let value = to_odd(value);
    match kind {
        Kind::Brain => bf16::from_f32(value).to_bits().into(),
        _ => f16::from_f32(value).to_bits().into(),
    }
}

/// Rounded to the nearest even 8-bit float, what is beyond the largest to that; NaN has all bits set but the sign.
pub(crate) fn narrow_to_byte(kind: Kind, value: f32) -> u64 {
    if value.is_nan() {
        return 0x7f;
    }
    match kind {
        Kind::E4m3 => F8E4M3::from_f32(value).to_bits().into(),
        _ => F8E5M2::from_f32(value).to_bits().into(),
    }
}

/// The `f32` that rounds on to 16 bits as `value` itself would: what is inexact becomes odd, which is no tie (S. Boldo and
/// G. Melquiond, "When double rounding is odd", 2005).
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || near.is_infinite() {
        return near;
    }
    let below = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(below | 1)
}

/// Applies `f` to one or both 16-bit numbers of the operands.
pub(crate) fn elementwise(ty: Type, [a, b, c]: [u64; 3], f: impl Fn(f64, f64, f64) -> f64) -> u64 {
    let mut result = 0;
    for lane in 0..ty.lanes {
        let shift = 16 * lane;
        let value = |bits: u64| f64::from(widen(ty.kind, bits >> shift));
        result |= narrow(ty.kind, f(value(a), value(b), value(c))) << shift;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_of_a_packed_operand_are_computed() {
        let pair = |low: f64, high: f64| narrow(Kind::Brain, low) | narrow(Kind::Brain, high) << 16;
        let sum = elementwise(Type::BF16X2, [pair(1.0, -2.0), pair(0.5, 7.0), 0], |a, b, _| a + b);
        assert_eq!(sum, pair(1.5, 5.0));
    }

    #[test]
    fn what_is_beyond_the_largest_8_bit_float_becomes_that() {
        let bytes = |kind| [464.0, f32::INFINITY, -1e9, 1e9, f32::NAN].map(|value| narrow_to_byte(kind, value));
        assert_eq!(bytes(Kind::E4m3), [0x7e, 0x7e, 0xfe, 0x7e, 0x7f]);
        assert_eq!(bytes(Kind::E5m2), [0x5f, 0x7b, 0xfb, 0x7b, 0x7f]);
    }

    #[test]
    fn the_last_13_bits_of_tf32_have_no_effect() {
        let value = |bits: u32| widen(Kind::Tf32, bits.into());
        assert_eq!(value(1.0f32.to_bits() | 0x1fff), 1.0);
        assert_eq!(value((-1.0f32).to_bits() | 0x3fff), -1.0 - 1.0 / 1024.0);
        assert_eq!(value(f32::MAX.to_bits()), f32::MAX - 2f32.powi(117) + 2f32.powi(104));
    }

    #[test]
    fn rounding_is_to_nearest_even_and_nan_is_canonical() {
        assert_eq!(narrow(Kind::Brain, 1.0 + 1.0 / 256.0), 0x3f80);
        assert_eq!(narrow(Kind::Brain, 1.0 + 3.0 / 256.0), 0x3f82);
        assert_eq!(narrow(Kind::Brain, 1.0 + 1.0 / 256.0 + 1.0 / f64::from(1 << 22)), 0x3f81);
        assert_eq!(narrow(Kind::Brain, 1.0 + 1.0 / 256.0 + 1e-15), 0x3f81);
        assert_eq!(narrow(Kind::Float, 1.0 + 1.0 / 2048.0 + 1e-15), 0x3c01);
        assert_eq!(narrow(Kind::Float, 65520.0), 0x7c00);
        assert_eq!(narrow(Kind::Float, f64::NAN), 0x7fff);
    }
}
