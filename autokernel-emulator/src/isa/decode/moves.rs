//! Moves, selections and addresses.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Logic, Op};
use crate::isa::lanes::lanewise;
use crate::isa::operand::{PredicateSource, Source};
use crate::isa::types::{Space, Type};

pub(super) fn mov(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    if ty == Type::PREDICATE {
        let b = PredicateSource::Constant(false);
        return Ok(Op::Logic { op: Logic::Move, d: s.predicate_register(0)?, a: s.predicate(1)?, b });
    }
    if s.is_vector(0) {
        let (count, part) = parts(s, ty)?;
        return Ok(Op::Unpack { parts: s.destinations(0, count, part)?, part_bits: part.bits, a: s.source(1, ty)? });
    }
    let d = s.register(0, ty.bits)?;
    if s.is_vector(1) {
        let (count, part) = parts(s, ty)?;
        return Ok(Op::Pack { d, parts: s.values(1, count, part)?, part_bits: part.bits });
    }
    let operands = [s.source(1, ty)?, Source::Constant(0), Source::Constant(0)];
    Ok(Op::Lanewise { apply: lanewise!(|a| a), d, operands })
}

/// How many elements of what size the vector operand has.
fn parts(s: &Statement<'_>, ty: Type) -> Decoded<(usize, Type)> {
    let count = s.vector_length();
    match (ty.bits, count) {
        (16 | 32 | 64, 2) | (32 | 64, 4) => Ok((count, Type { bits: ty.bits / count as u32, ..Type::B32 })),
        _ => unknown("a vector of this length"),
    }
}

pub(super) fn selp(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    Ok(Op::Select { d: s.register(0, ty.bits)?, a: s.source(1, ty)?, b: s.source(2, ty)?, condition: s.predicate(3)? })
}

pub(super) fn cvta(s: &mut Statement<'_>) -> Decoded<Op> {
    let to_generic = !s.flag("to");
    let Some(space) = s.space() else { return unknown("no state space") };
    if space == Space::SharedCluster {
        return unknown("`.shared::cluster`");
    }
    let ty = s.ty()?;
    Ok(Op::ConvertAddress { d: s.register(0, ty.bits)?, a: s.source(1, ty)?, space, to_generic })
}
