//! Instructions in which the lanes of a warp talk to each other.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{AtomicOp, Op, Shuffle, Vote, WarpOp};
use crate::isa::types::Type;

fn warp(op: WarpOp) -> Decoded<Op> {
    Ok(Op::Warp(Box::new(op)))
}

/// Only the forms with `.sync` are there since sm_70.
fn require_sync(s: &mut Statement<'_>) -> Decoded<()> {
    if s.flag("sync") { Ok(()) } else { unknown("no `.sync`") }
}

pub(super) fn shfl(s: &mut Statement<'_>) -> Decoded<Op> {
    require_sync(s)?;
    let modes = [("up", Shuffle::Up), ("down", Shuffle::Down), ("bfly", Shuffle::Butterfly), ("idx", Shuffle::Index)];
    let (Some(mode), Type::B32) = (s.one_of(&modes), s.ty()?) else { return unknown("this shuffle") };
    let (Some(d), in_range) = s.register_and_predicate(0)? else { return unknown("a shuffle without destination") };
    let (a, b, c) = (s.source(1, Type::B32)?, s.source(2, Type::B32)?, s.source(3, Type::B32)?);
    warp(WarpOp::Shuffle { mode, d, in_range, a, b, c, members: s.source(4, Type::B32)? })
}

pub(super) fn vote(s: &mut Statement<'_>) -> Decoded<Op> {
    require_sync(s)?;
    let mode = s.pick(|word| ["all", "any", "uni", "ballot"].iter().position(|name| *name == word));
    s.ty()?;
    let mode = match mode {
        Some(0) => Vote::All(s.predicate_register(0)?),
        Some(1) => Vote::Any(s.predicate_register(0)?),
        Some(2) => Vote::Uniform(s.predicate_register(0)?),
        Some(_) => Vote::Ballot(s.register(0, 32)?),
        None => return unknown("no mode"),
    };
    warp(WarpOp::Vote { mode, value: s.predicate(1)?, members: s.source(2, Type::B32)? })
}

pub(super) fn redux(s: &mut Statement<'_>) -> Decoded<Op> {
    require_sync(s)?;
    let operations = [
        ("add", AtomicOp::Add),
        ("min", AtomicOp::Min),
        ("max", AtomicOp::Max),
        ("and", AtomicOp::And),
        ("or", AtomicOp::Or),
        ("xor", AtomicOp::Xor),
    ];
    let Some(op) = s.one_of(&operations) else { return unknown("no operation") };
    let ty = s.ty()?;
    if !ty.is_integer() || ty.bits != 32 {
        return unknown("a reduction of this type");
    }
    warp(WarpOp::Reduce { op, ty, d: s.register(0, 32)?, a: s.source(1, ty)?, members: s.source(2, Type::B32)? })
}

pub(super) fn elect(s: &mut Statement<'_>) -> Decoded<Op> {
    require_sync(s)?;
    let (leader, elected) = s.register_and_predicate(0)?;
    let Some(elected) = elected else { return unknown("elect without a predicate") };
    warp(WarpOp::Elect { leader, elected, members: s.source(1, Type::B32)? })
}

pub(super) fn active_mask(s: &mut Statement<'_>) -> Decoded<Op> {
    s.ty()?;
    warp(WarpOp::ActiveMask { d: s.register(0, 32)? })
}
