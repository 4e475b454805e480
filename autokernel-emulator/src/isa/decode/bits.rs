//! Logic, shifts and fields of bits.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Logic, Op};
use crate::isa::lanes::{Lanewise, lanewise};
use crate::isa::operand::{PredicateSource, Source};
use crate::isa::semantics::integer::{extract, funnel, insert, lookup, permute_bytes};
use crate::isa::types::Type;

fn logic(s: &mut Statement<'_>, op: Logic, apply: Lanewise) -> Decoded<Op> {
    let ty = s.ty()?;
    if ty == Type::PREDICATE {
        let b = if op == Logic::Not { PredicateSource::Constant(false) } else { s.predicate(2)? };
        return Ok(Op::Logic { op, d: s.predicate_register(0)?, a: s.predicate(1)?, b });
    }
    let b = if op == Logic::Not { Source::Constant(0) } else { s.source(2, ty)? };
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands: [s.source(1, ty)?, b, Source::Constant(0)] })
}

pub(super) fn and(s: &mut Statement<'_>) -> Decoded<Op> {
    logic(s, Logic::And, lanewise!(|a, b| a & b))
}

pub(super) fn or(s: &mut Statement<'_>) -> Decoded<Op> {
    logic(s, Logic::Or, lanewise!(|a, b| a | b))
}

pub(super) fn xor(s: &mut Statement<'_>) -> Decoded<Op> {
    logic(s, Logic::Xor, lanewise!(|a, b| a ^ b))
}

pub(super) fn not(s: &mut Statement<'_>) -> Decoded<Op> {
    let apply = match s.peek_bits() {
        16 => lanewise!(|a| !a & 0xffff),
        32 => lanewise!(|a| !a & 0xffff_ffff),
        _ => lanewise!(|a| !a),
    };
    logic(s, Logic::Not, apply)
}

pub(super) fn cnot(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = lanewise!(|a| u64::from(a == 0));
    let operands = [s.source(1, ty)?, Source::Constant(0), Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

/// A shift by a 32-bit count; counts beyond the width give zeros, or signs.
fn shift(s: &mut Statement<'_>, ty: Type, apply: Lanewise) -> Decoded<Op> {
    let operands = [s.source(1, ty)?, s.source(2, Type::U32)?, Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

pub(super) fn shl(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match ty.bits {
        16 => lanewise!(|a, b| if b < 16 { a << b & 0xffff } else { 0 }),
        32 => lanewise!(|a, b| if b < 32 { a << b & 0xffff_ffff } else { 0 }),
        64 => lanewise!(|a, b| if b < 64 { a << b } else { 0 }),
        _ => return unknown("shl of this type"),
    };
    shift(s, ty, apply)
}

pub(super) fn shr(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match (ty.is_signed(), ty.bits) {
        (true, 16) => lanewise!(|a, b| u64::from((a as i16 >> b.min(15)) as u16)),
        (true, 32) => lanewise!(|a, b| u64::from((a as i32 >> b.min(31)) as u32)),
        (true, 64) => lanewise!(|a, b| (a as i64 >> b.min(63)) as u64),
        (false, 16 | 32 | 64) => lanewise!(|a, b| if b < 64 { a >> b } else { 0 }),
        _ => return unknown("shr of this type"),
    };
    shift(s, ty, apply)
}

pub(super) fn shf(s: &mut Statement<'_>) -> Decoded<Op> {
    let (left, wrap) = (s.flag("l"), s.flag("wrap"));
    if !left && !s.flag("r") || !wrap && !s.flag("clamp") {
        return unknown("neither .l nor .r, or neither .wrap nor .clamp");
    }
    let ty = s.ty()?;
    let apply = match (left, wrap) {
        (true, true) => lanewise!(|a, b, c| funnel(a, b, c, true, true)),
        (true, false) => lanewise!(|a, b, c| funnel(a, b, c, true, false)),
        (false, true) => lanewise!(|a, b, c| funnel(a, b, c, false, true)),
        (false, false) => lanewise!(|a, b, c| funnel(a, b, c, false, false)),
    };
    three(s, Type { bits: 32, ..ty }, apply)
}

/// Three 32-bit operands.
fn three(s: &mut Statement<'_>, ty: Type, apply: Lanewise) -> Decoded<Op> {
    let operands = [s.source(1, ty)?, s.source(2, ty)?, s.source(3, Type::U32)?];
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

pub(super) fn bfe(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match (ty.is_signed(), ty.bits) {
        (true, 32) => lanewise!(|a, b, c| extract(a, b, c, 32, true)),
        (true, 64) => lanewise!(|a, b, c| extract(a, b, c, 64, true)),
        (false, 32) => lanewise!(|a, b, c| extract(a, b, c, 32, false)),
        (false, 64) => lanewise!(|a, b, c| extract(a, b, c, 64, false)),
        _ => return unknown("bfe of this type"),
    };
    let operands = [s.source(1, ty)?, s.source(2, Type::U32)?, s.source(3, Type::U32)?];
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

pub(super) fn bfi(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let d = s.register(0, ty.bits)?;
    let (a, b, start, length) = (s.source(1, ty)?, s.source(2, ty)?, s.source(3, Type::U32)?, s.source(4, Type::U32)?);
    Ok(Op::Quaternary { d, operands: [a, b, start, length], apply: if ty.bits == 64 { insert_64 } else { insert_32 } })
}

fn insert_32(a: u64, b: u64, start: u64, length: u64) -> u64 {
    insert(a, b, start, length, 32)
}

fn insert_64(a: u64, b: u64, start: u64, length: u64) -> u64 {
    insert(a, b, start, length, 64)
}

pub(super) fn brev(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match ty.bits {
        32 => lanewise!(|a| u64::from((a as u32).reverse_bits())),
        _ => lanewise!(|a| a.reverse_bits()),
    };
    let operands = [s.source(1, ty)?, Source::Constant(0), Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, ty.bits)?, operands })
}

/// A count of bits, always 32 wide.
fn count(s: &mut Statement<'_>, ty: Type, apply: Lanewise) -> Decoded<Op> {
    let operands = [s.source(1, ty)?, Source::Constant(0), Source::Constant(0)];
    Ok(Op::Lanewise { apply, d: s.register(0, 32)?, operands })
}

pub(super) fn popc(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    count(s, ty, lanewise!(|a| u64::from(a.count_ones())))
}

pub(super) fn clz(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let apply = match ty.bits {
        32 => lanewise!(|a| u64::from((a as u32).leading_zeros())),
        _ => lanewise!(|a| u64::from(a.leading_zeros())),
    };
    count(s, ty, apply)
}

pub(super) fn prmt(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    three(s, ty, lanewise!(|a, b, c| u64::from(permute_bytes(a as u32, b as u32, c as u32))))
}

pub(super) fn lop3(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    let (a, b, c) = (s.source(1, ty)?, s.source(2, ty)?, s.source(3, ty)?);
    let table = s.small_constant(4, 255)?;
    let apply = |a: u64, b: u64, c: u64, table: u64| u64::from(lookup(a as u32, b as u32, c as u32, table as u32));
    Ok(Op::Quaternary { d: s.register(0, 32)?, operands: [a, b, c, Source::Constant(table.into())], apply })
}
