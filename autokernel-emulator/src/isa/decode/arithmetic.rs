//! Arithmetic on integers and floating-point numbers.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::Op;
use crate::isa::lanes::{Lanewise, lanewise};
use crate::isa::operand::Source;
use crate::isa::rounding::Round;
use crate::isa::semantics::float::{self, double, double_bits, flush, saturate, single, single_bits};
use crate::isa::semantics::half::elementwise;
use crate::isa::types::{Kind, Type};

/// The function for the statement's integer type: `a`, `b` and `c` are numbers of it.
macro_rules! integer {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        match ($ty.is_signed(), $ty.bits) {
            (false, 16) => integer!(@typed u16, u16, |$a, $b, $c| $f),
            (false, 32) => integer!(@typed u32, u32, |$a, $b, $c| $f),
            (false, 64) => integer!(@typed u64, u64, |$a, $b, $c| $f),
            (true, 16) => integer!(@typed i16, u16, |$a, $b, $c| $f),
            (true, 32) => integer!(@typed i32, u32, |$a, $b, $c| $f),
            (true, 64) => integer!(@typed i64, u64, |$a, $b, $c| $f),
            _ => return unknown("no integer of this size"),
        }
    };
    (@typed $t:ty, $u:ty, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        lanewise!(|$a, $b, $c| {
            let ($a, $b, $c) = ($a as $t, $b as $t, $c as $t);
            let _ = ($a, $b, $c);
            ($f) as $u as u64
        })
    };
}

/// The function on single-precision numbers for the statement's `.ftz` and `.sat`.
macro_rules! singles {
    ($statement:expr, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        match ($statement.flag("ftz"), $statement.flag("sat")) {
            (false, false) => singles!(@form float::identity, float::identity, |$a, $b, $c| $f),
            (true, false) => singles!(@form flush, flush, |$a, $b, $c| $f),
            (false, true) => singles!(@form float::identity, saturate, |$a, $b, $c| $f),
            (true, true) => singles!(@form flush, saturate, |$a, $b, $c| $f),
        }
    };
    (@form $before:expr, $after:expr, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        lanewise!(|$a, $b, $c| {
            let ($a, $b, $c) = ($before(single($a)), $before(single($b)), $before(single($c)));
            let _ = ($a, $b, $c);
            single_bits($after($f))
        })
    };
}

/// The function on singles for a rounding mode.
macro_rules! rounded {
    ($statement:expr, $round:expr, |$a:ident, $b:ident, $c:ident, $r:ident| $f:expr) => {
        match $round {
            Round::Nearest => singles!($statement, |$a, $b, $c| {
                const $r: Round = Round::Nearest;
                $f
            }),
            Round::Zero => singles!($statement, |$a, $b, $c| {
                const $r: Round = Round::Zero;
                $f
            }),
            Round::Down => singles!($statement, |$a, $b, $c| {
                const $r: Round = Round::Down;
                $f
            }),
            Round::Up => singles!($statement, |$a, $b, $c| {
                const $r: Round = Round::Up;
                $f
            }),
        }
    };
}

/// The function on double-precision numbers.
macro_rules! doubles {
    (|$a:ident, $b:ident, $c:ident| $f:expr) => {
        lanewise!(|$a, $b, $c| {
            let ($a, $b, $c) = (double($a), double($b), double($c));
            let _ = ($a, $b, $c);
            double_bits($f)
        })
    };
}

/// The function on 16-bit numbers, alone or in pairs, computed in double precision and rounded once.
macro_rules! halves {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        match ($ty.kind, $ty.lanes) {
            (Kind::Brain, 1) => halves!(@form Type::BF16, |$a, $b, $c| $f),
            (Kind::Brain, _) => halves!(@form Type::BF16X2, |$a, $b, $c| $f),
            (_, 1) => halves!(@form Type::F16, |$a, $b, $c| $f),
            _ => halves!(@form Type::F16X2, |$a, $b, $c| $f),
        }
    };
    (@form $ty:expr, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        lanewise!(|$a, $b, $c| elementwise($ty, [$a, $b, $c], |$a: f64, $b: f64, $c: f64| {
            let _ = ($a, $b, $c);
            $f
        }))
    };
}

const ROUNDINGS: &[(&str, Round)] =
    &[("rn", Round::Nearest), ("rz", Round::Zero), ("rm", Round::Down), ("rp", Round::Up)];

/// The rounding mode that the statement names; to nearest without one.
fn rounding(s: &mut Statement<'_>) -> Round {
    s.one_of(ROUNDINGS).unwrap_or(Round::Nearest)
}

fn only_nearest(round: Round) -> Decoded<()> {
    if round == Round::Nearest { Ok(()) } else { unknown("only .rn for this type") }
}

/// An operation of `count` operands of one type with a result of that type.
fn same_type(s: &mut Statement<'_>, ty: Type, count: usize, apply: Lanewise) -> Decoded<Op> {
    let mut operands = [Source::Constant(0); 3];
    for (at, operand) in operands.iter_mut().take(count).enumerate() {
        *operand = s.source(at + 1, ty)?;
    }
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

pub(super) fn add(s: &mut Statement<'_>) -> Decoded<Op> {
    let (ty, round) = (s.ty()?, rounding(s));
    let apply = match ty {
        Type::S32 if s.flag("sat") => integer!(ty, |a, b, _c| a.saturating_add(b)),
        _ if ty.is_integer() => integer!(ty, |a, b, _c| a.wrapping_add(b)),
        Type::F32 => rounded!(s, round, |a, b, _c, R| float::add(a, b, R)),
        Type::F64 => {
            only_nearest(round)?;
            doubles!(|a, b, _c| a + b)
        }
        _ => {
            only_nearest(round)?;
            halves!(ty, |a, b, _c| a + b)
        }
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn sub(s: &mut Statement<'_>) -> Decoded<Op> {
    let (ty, round) = (s.ty()?, rounding(s));
    let apply = match ty {
        Type::S32 if s.flag("sat") => integer!(ty, |a, b, _c| a.saturating_sub(b)),
        _ if ty.is_integer() => integer!(ty, |a, b, _c| a.wrapping_sub(b)),
        Type::F32 => rounded!(s, round, |a, b, _c, R| float::add(a, -b, R)),
        Type::F64 => {
            only_nearest(round)?;
            doubles!(|a, b, _c| a - b)
        }
        _ => {
            only_nearest(round)?;
            halves!(ty, |a, b, _c| a - b)
        }
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn mul(s: &mut Statement<'_>) -> Decoded<Op> {
    let (ty, round) = (s.ty()?, rounding(s));
    if s.flag("wide") {
        return wide(s, ty, false);
    }
    let apply = match ty {
        _ if ty.is_integer() => product(s, ty)?,
        Type::F32 => rounded!(s, round, |a, b, _c, R| float::mul(a, b, R)),
        Type::F64 => {
            only_nearest(round)?;
            doubles!(|a, b, _c| a * b)
        }
        _ => {
            only_nearest(round)?;
            halves!(ty, |a, b, _c| a * b)
        }
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn mad(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    if ty.is_float() {
        return multiply_add(s, ty);
    }
    if s.flag("wide") {
        return wide(s, ty, true);
    }
    let apply = product(s, ty)?;
    same_type(s, ty, 3, apply)
}

/// The low or the high half of a product, and `c` added, which is zero for `mul`.
fn product(s: &mut Statement<'_>, ty: Type) -> Decoded<Lanewise> {
    if s.flag("hi") {
        return Ok(integer!(ty, |a, b, c| {
            let high = (a as i128 * b as i128) >> (size_of_val(&a) * 8);
            high.wrapping_add(c as i128)
        }));
    }
    if !s.flag("lo") {
        return unknown("neither .lo, .hi nor .wide");
    }
    Ok(integer!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c)))
}

/// A product of twice the width.
fn wide(s: &mut Statement<'_>, ty: Type, adds: bool) -> Decoded<Op> {
    let apply = match (ty.is_signed(), ty.bits) {
        (false, 16) => lanewise!(|a, b, c| (a * b).wrapping_add(c) & 0xffff_ffff),
        (false, 32) => lanewise!(|a, b, c| (a * b).wrapping_add(c)),
        (true, 16) => lanewise!(|a, b, c| {
            (i64::from(a as i16) * i64::from(b as i16)).wrapping_add(c as i64) as u64 & 0xffff_ffff
        }),
        (true, 32) => lanewise!(|a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64),
        _ => return unknown("no wide product of this type"),
    };
    let wide_type = Type { bits: 2 * ty.bits, ..ty };
    let c = if adds { s.source(3, wide_type)? } else { Source::Constant(0) };
    Ok(Op::Lanewise { apply, d: s.register(0, wide_type.bits)?, operands: [s.source(1, ty)?, s.source(2, ty)?, c] })
}

pub(super) fn fma(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    multiply_add(s, ty)
}

fn multiply_add(s: &mut Statement<'_>, ty: Type) -> Decoded<Op> {
    let round = rounding(s);
    let apply = match ty {
        Type::F32 => rounded!(s, round, |a, b, c, R| float::fma(a, b, c, R)),
        Type::F64 => {
            only_nearest(round)?;
            doubles!(|a, b, c| a.mul_add(b, c))
        }
        _ if ty.is_float() && s.flag("relu") => {
            only_nearest(round)?;
            halves!(ty, |a, b, c| {
                let sum = a.mul_add(b, c);
                if sum < 0.0 { 0.0 } else { sum }
            })
        }
        _ if ty.is_float() => {
            only_nearest(round)?;
            halves!(ty, |a, b, c| a.mul_add(b, c))
        }
        _ => return unknown("fma of integers"),
    };
    same_type(s, ty, 3, apply)
}

pub(super) fn min(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let nan = s.flag("NaN");
    let apply = match ty {
        _ if ty.is_integer() => integer!(ty, |a, b, _c| a.min(b)),
        Type::F32 if nan => singles!(s, |a, b, _c| float::min_nan(a, b)),
        Type::F32 => singles!(s, |a, b, _c| float::min(a, b)),
        Type::F64 => doubles!(|a, b, _c| a.min(b)),
        _ if nan => halves!(ty, |a, b, _c| f64::from(float::min_nan(a as f32, b as f32))),
        _ => halves!(ty, |a, b, _c| f64::from(float::min(a as f32, b as f32))),
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn max(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let nan = s.flag("NaN");
    let apply = match ty {
        _ if ty.is_integer() => integer!(ty, |a, b, _c| a.max(b)),
        Type::F32 if nan => singles!(s, |a, b, _c| float::max_nan(a, b)),
        Type::F32 => singles!(s, |a, b, _c| float::max(a, b)),
        Type::F64 => doubles!(|a, b, _c| a.max(b)),
        _ if nan => halves!(ty, |a, b, _c| f64::from(float::max_nan(a as f32, b as f32))),
        _ => halves!(ty, |a, b, _c| f64::from(float::max(a as f32, b as f32))),
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn abs(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match ty {
        _ if ty.is_signed() => integer!(ty, |a, _b, _c| (a as i64).wrapping_abs()),
        Type::F32 if s.flag("ftz") => lanewise!(|a| u64::from(flush(single(a)).to_bits()) & 0x7fff_ffff),
        Type::F32 => lanewise!(|a| a & 0x7fff_ffff),
        Type::F64 => lanewise!(|a| a & (u64::MAX >> 1)),
        _ if ty.is_float() => lanewise!(|a| a & 0x7fff_7fff),
        _ => return unknown("abs of this type"),
    };
    same_type(s, ty, 1, apply)
}

pub(super) fn neg(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match ty {
        _ if ty.is_signed() => integer!(ty, |a, _b, _c| a.wrapping_neg()),
        Type::F32 if s.flag("ftz") => lanewise!(|a| u64::from((-flush(single(a))).to_bits())),
        Type::F32 => lanewise!(|a| a ^ 0x8000_0000),
        Type::F64 => lanewise!(|a| a ^ (1 << 63)),
        _ if ty.is_float() && ty.lanes == 2 => lanewise!(|a| a ^ 0x8000_8000),
        _ if ty.is_float() => lanewise!(|a| a ^ 0x8000),
        _ => return unknown("neg of this type"),
    };
    same_type(s, ty, 1, apply)
}

pub(super) fn copysign(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    // The sign is that of the first operand.
    let apply = match ty {
        Type::F32 => lanewise!(|a, b| a & 0x8000_0000 | b & 0x7fff_ffff),
        Type::F64 => lanewise!(|a, b| a & (1 << 63) | b & (u64::MAX >> 1)),
        _ => return unknown("copysign of this type"),
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn div(s: &mut Statement<'_>) -> Decoded<Op> {
    let (ty, round) = (s.ty()?, rounding(s));
    only_nearest(round)?;
    s.hints(&["approx", "full"]);
    let apply = match ty {
        // Division by zero gives an unspecified value; all ones is what the hardware gives.
        _ if ty.is_integer() => integer!(ty, |a, b, _c| if b == 0 { !0 } else { a.wrapping_div(b) }),
        Type::F32 => singles!(s, |a, b, _c| a / b),
        Type::F64 => doubles!(|a, b, _c| a / b),
        _ => return unknown("div of this type"),
    };
    same_type(s, ty, 2, apply)
}

pub(super) fn rem(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    if !ty.is_integer() {
        return unknown("rem of this type");
    }
    let apply = integer!(ty, |a, b, _c| if b == 0 { a } else { a.wrapping_rem(b) });
    same_type(s, ty, 2, apply)
}

/// A function of one floating-point number.
macro_rules! unary {
    ($name:ident, |$x:ident| $single:expr, |$y:ident| $double:expr) => {
        pub(super) fn $name(s: &mut Statement<'_>) -> Decoded<Op> {
            let (ty, round) = (s.ty()?, rounding(s));
            only_nearest(round)?;
            s.hints(&["approx"]);
            let apply = match ty {
                Type::F32 => singles!(s, |$x, _b, _c| $single),
                Type::F64 => doubles!(|$y, _b, _c| $double),
                // bf16 has the exponents of a single, and so its subnormals.
                _ if ty.kind == Kind::Brain && s.flag("ftz") => {
                    halves!(ty, |$y, _b, _c| {
                        let $y = f64::from(flush($y as f32));
                        f64::from(flush(($double) as f32))
                    })
                }
                _ if ty.is_float() => halves!(ty, |$y, _b, _c| $double),
                _ => return unknown("this type"),
            };
            same_type(s, ty, 1, apply)
        }
    };
}

unary!(rcp_of_any_type, |x| 1.0 / x, |y| 1.0 / y);

/// `rcp`. With `.approx.ftz`, of doubles: from the high word alone, a gross approximation with which a division begins.
pub(super) fn rcp(s: &mut Statement<'_>) -> Decoded<Op> {
    if !s.has("f64") || !s.has("ftz") {
        return rcp_of_any_type(s);
    }
    let ty = s.ty()?;
    s.hints(&["approx", "ftz"]);
    same_type(s, ty, 1, doubles!(|y, _b, _c| high_word(1.0 / high_word(y))))
}

/// A double without its low word; 0 in the place of a subnormal one.
fn high_word(value: f64) -> f64 {
    let value = if value.is_subnormal() { 0f64.copysign(value) } else { value };
    f64::from_bits(value.to_bits() & !u64::from(u32::MAX))
}
unary!(sqrt, |x| x.sqrt(), |y| y.sqrt());
unary!(rsqrt, |x| float::through_double(x, |x| 1.0 / x.sqrt()), |y| 1.0 / y.sqrt());
unary!(sin, |x| float::through_double(x, f64::sin), |y| y.sin());
unary!(cos, |x| float::through_double(x, f64::cos), |y| y.cos());
unary!(lg2, |x| float::through_double(x, f64::log2), |y| y.log2());
unary!(ex2, |x| float::through_double(x, f64::exp2), |y| y.exp2());
unary!(tanh, |x| float::through_double(x, f64::tanh), |y| y.tanh());
