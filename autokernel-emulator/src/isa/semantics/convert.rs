//! Conversions between types (PTX ISA, "cvt").

use super::float::{self, double, flush, saturate, single, single_bits};
use super::half::{narrow, widen};
use crate::isa::instruction::Conversion;
use crate::isa::rounding::Round;
use crate::isa::types::{Kind, Type};

/// Any number, without loss.
enum Number {
    Integer(i128),
    Float(f64),
}

/// `a` converted; a signed result is as wide as its destination of `register_bits`.
pub(crate) fn convert(conversion: &Conversion, a: u64, register_bits: u32) -> u64 {
    let Conversion { to, .. } = *conversion;
    match (read(conversion, a), to.is_float()) {
        (Number::Integer(value), false) => {
            let value = if conversion.saturates { clamp(value, to) } else { value };
            integer_bits(value, to, register_bits)
        }
        (Number::Integer(value), true) => float_from_integer(conversion, value),
        (Number::Float(value), false) => {
            let (low, high) = range(to);
            integer_bits(float::to_integer(value, conversion.round, low, high), to, register_bits)
        }
        (Number::Float(value), true) => float_from_float(conversion, value),
    }
}

fn read(conversion: &Conversion, a: u64) -> Number {
    let from = conversion.from;
    match (from.kind, from.bits) {
        (Kind::Float, 32) => {
            let value = single(a);
            Number::Float(if conversion.flushes { flush(value) } else { value }.into())
        }
        (Kind::Float, 64) => Number::Float(double(a)),
        (Kind::Float | Kind::Brain, _) => Number::Float(widen(from.kind, a).into()),
        (Kind::Signed, bits) => {
            let shift = 64 - bits;
            Number::Integer((((a << shift) as i64) >> shift).into())
        }
        _ => Number::Integer(from.truncate(a).into()),
    }
}

fn range(ty: Type) -> (i128, i128) {
    if ty.is_signed() { (-(1 << (ty.bits - 1)), (1 << (ty.bits - 1)) - 1) } else { (0, (1 << ty.bits) - 1) }
}

fn clamp(value: i128, ty: Type) -> i128 {
    let (low, high) = range(ty);
    value.clamp(low, high)
}

fn integer_bits(value: i128, ty: Type, register_bits: u32) -> u64 {
    let low = ty.truncate(value as u64);
    if !ty.is_signed() {
        return low;
    }
    let shift = 64 - ty.bits;
    let extended = (((low << shift) as i64) >> shift) as u64;
    if register_bits >= 64 { extended } else { extended & ((1 << register_bits) - 1) }
}

fn float_from_integer(conversion: &Conversion, value: i128) -> u64 {
    match (conversion.to.kind, conversion.to.bits) {
        (Kind::Float, 32) => single_bits(float::single_from_integer(value, conversion.round)),
        (Kind::Float, 64) => (value as f64).to_bits(),
        (kind, _) => narrow(kind, value as f64),
    }
}

fn float_from_float(conversion: &Conversion, value: f64) -> u64 {
    let value = if conversion.integral { float::round_to_integer(value, conversion.round) } else { value };
    let finish = |value: f32| {
        let value = if conversion.flushes { flush(value) } else { value };
        if conversion.saturates { saturate(value) } else { value }
    };
    match (conversion.to.kind, conversion.to.bits) {
        (Kind::Float, 32) if conversion.integral => single_bits(finish(value as f32)),
        (Kind::Float, 32) => single_bits(finish(float::round_to_single(value, 0.0, conversion.round))),
        (Kind::Float, 64) => value.to_bits(),
        (kind, _) if conversion.saturates => narrow(kind, f64::from(saturate(value as f32))),
        (kind, _) if conversion.round == Round::Zero => toward_zero(kind, value),
        (kind, _) => narrow(kind, value),
    }
}

/// f16 by truncation: the nearest, or its neighbour if that is larger in size.
fn toward_zero(kind: Kind, value: f64) -> u64 {
    let nearest = narrow(kind, value);
    let beyond = f64::from(widen(kind, nearest)).abs() > value.abs();
    if beyond { nearest - 1 } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(to: Type, from: Type) -> Conversion {
        Conversion { to, from, round: Round::Zero, integral: false, saturates: false, flushes: false }
    }

    #[test]
    fn a_signed_number_fills_the_register_it_goes_to() {
        let s8 = Type { bits: 8, ..Type::S32 };
        assert_eq!(convert(&plain(s8, Type::S32), 0xff, 32), 0xffff_ffff);
        assert_eq!(convert(&plain(Type::S32, s8), 0x80, 32), 0xffff_ff80);
        assert_eq!(convert(&plain(Type { bits: 64, ..Type::S32 }, Type::S32), 0xffff_ffff, 64), u64::MAX);
    }

    #[test]
    fn a_float_beyond_an_integers_range_stops_at_its_end() {
        assert_eq!(convert(&plain(Type::S32, Type::F32), 3e10f32.to_bits().into(), 32), 0x7fff_ffff);
        assert_eq!(convert(&plain(Type::U32, Type::F32), (-1f32).to_bits().into(), 32), 0);
    }

    #[test]
    fn truncation_to_half_precision_never_grows() {
        assert_eq!(convert(&plain(Type::F16, Type::F32), 65519f32.to_bits().into(), 16), 0x7bff);
        assert_eq!(convert(&plain(Type::F16, Type::F32), 1e9f32.to_bits().into(), 16), 0x7bff);
    }
}
