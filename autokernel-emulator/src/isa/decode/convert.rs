//! Conversions (PTX ISA, "cvt").

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Conversion, Op};
use crate::isa::lanes::lanewise;
use crate::isa::operand::Source;
use crate::isa::rounding::Round;
use crate::isa::semantics::float::single;
use crate::isa::semantics::half::{narrow, narrow_to_byte};
use crate::isa::types::{Kind, Type};

const ROUNDINGS: &[(&str, Round)] =
    &[("rn", Round::Nearest), ("rz", Round::Zero), ("rm", Round::Down), ("rp", Round::Up)];
const INTEGER_ROUNDINGS: &[(&str, Round)] =
    &[("rni", Round::Nearest), ("rzi", Round::Zero), ("rmi", Round::Down), ("rpi", Round::Up)];

pub(super) fn cvt(s: &mut Statement<'_>) -> Decoded<Op> {
    let integer_round = s.one_of(INTEGER_ROUNDINGS);
    let round = s.one_of(ROUNDINGS);
    let (saturates, flushes, relu) = (s.flag("sat"), s.flag("ftz"), s.flag("relu"));
    let stays_finite = s.flag("satfinite");
    let (to, from) = (s.ty()?, s.ty()?);
    if matches!(to.kind, Kind::E4m3 | Kind::E5m2) && stays_finite && !relu {
        return pack_bytes(s, to, from, round);
    }
    if stays_finite {
        return unknown("a conversion that stays finite");
    }
    if to.lanes == 2 {
        return pack(s, to, from, round, relu);
    }
    if relu || [to, from].iter().any(|ty| ty.lanes == 2 || ty.kind == Kind::Predicate) {
        return unknown("this conversion");
    }
    if to.kind == Kind::Brain && round.is_some_and(|round| round != Round::Nearest) {
        return unknown("a rounding of bf16 other than .rn");
    }
    // Wider registers than the types are allowed on both sides.
    let d = s.destinations(0, 1, to)?;
    let a = s.values(1, 1, from)?;
    let (Some(Some(d)), Some(a)) = (d.first(), a.first()) else { return unknown("no destination") };
    let conversion = Conversion {
        to,
        from,
        round: integer_round.or(round).unwrap_or(Round::Nearest),
        integral: integer_round.is_some(),
        saturates,
        flushes,
    };
    Ok(Op::Convert { d: *d, a: *a, conversion })
}

/// Two singles to a packed pair; PTX names the high half first.
fn pack(s: &mut Statement<'_>, to: Type, from: Type, round: Option<Round>, relu: bool) -> Decoded<Op> {
    if from != Type::F32 || round != Some(Round::Nearest) {
        return unknown("a packed conversion other than .rn from .f32");
    }
    let apply = match (to.kind, relu) {
        (Kind::Brain, false) => lanewise!(|a, b| pair(Kind::Brain, [a, b], f32::MIN)),
        (_, false) => lanewise!(|a, b| pair(Kind::Float, [a, b], f32::MIN)),
        (Kind::Brain, true) => lanewise!(|a, b| pair(Kind::Brain, [a, b], 0.0)),
        (_, true) => lanewise!(|a, b| pair(Kind::Float, [a, b], 0.0)),
    };
    let operands = [s.source(1, from)?, s.source(2, from)?, Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, 32)?, operands })
}

/// Two singles to a packed pair of 8-bit floats, the largest of which stands for what is beyond it.
fn pack_bytes(s: &mut Statement<'_>, to: Type, from: Type, round: Option<Round>) -> Decoded<Op> {
    if from != Type::F32 || round != Some(Round::Nearest) || to.lanes != 2 {
        return unknown("a conversion to 8-bit floats other than of two by .rn from .f32");
    }
    let apply = match to.kind {
        Kind::E4m3 => lanewise!(|a, b| pair_of_bytes(Kind::E4m3, [a, b])),
        _ => lanewise!(|a, b| pair_of_bytes(Kind::E5m2, [a, b])),
    };
    let operands = [s.source(1, from)?, s.source(2, from)?, Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, 16)?, operands })
}

fn pair_of_bytes(kind: Kind, [high, low]: [u64; 2]) -> u64 {
    let byte = |bits: u64| narrow_to_byte(kind, single(bits));
    byte(high) << 8 | byte(low)
}

fn pair(kind: Kind, [high, low]: [u64; 2], least: f32) -> u64 {
    let half = |bits: u64| {
        let value = single(bits);
        narrow(kind, f64::from(if least == 0.0 && value < 0.0 { 0.0 } else { value }))
    };
    half(high) << 16 | half(low)
}
