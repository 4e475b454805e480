//! mbarriers, and addresses in a peer's shared memory.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Arrive, MbarrierOp, Op, Phase};
use crate::isa::operand::Source;
use crate::isa::types::{Space, Type};

pub(super) fn mbarrier(s: &mut Statement<'_>) -> Decoded<Op> {
    let operations = [
        ("init", init as fn(&mut Statement<'_>, Space) -> Decoded<MbarrierOp>),
        ("inval", invalidate),
        ("arrive", arrive),
        ("arrive_drop", arrive_drop),
        ("expect_tx", expect),
        ("try_wait", try_wait),
        ("test_wait", test_wait),
    ];
    let Some(operation) = s.one_of(&operations) else { return unknown("no such operation of an mbarrier") };
    let space = s.space().unwrap_or(Space::Generic);
    if !s.flag("b64") {
        return unknown("no `.b64`");
    }
    operation(s, space).map(|op| Op::Mbarrier(Box::new(op)))
}

fn init(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    Ok(MbarrierOp::Init { address: s.address(0)?, space, count: s.source(1, Type::U32)? })
}

fn invalidate(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    Ok(MbarrierOp::Invalidate { address: s.address(0)?, space })
}

fn expect(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    s.hints(&["relaxed", "cta", "cluster"]);
    Ok(MbarrierOp::ExpectBytes { address: s.address(0)?, space, bytes: s.source(1, Type::U32)? })
}

fn arrive(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    arrival(s, space, false)
}

fn arrive_drop(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    arrival(s, space, true)
}

/// With or without the state as first operand; then the address, then a count or the bytes to expect.
fn arrival(s: &mut Statement<'_>, space: Space, drops: bool) -> Decoded<MbarrierOp> {
    let expects = s.flag("expect_tx");
    s.hints(&["noComplete", "cta", "cluster"]);
    let relaxed = s.flag("relaxed");
    s.hints(&["release"]);
    let at = usize::from(!s.is_address(0));
    let state = if at == 1 { s.optional_register(0, 64)? } else { None };
    let address = s.address(at)?;
    let number = if s.operand_count() > at + 1 { Some(s.source(at + 1, Type::U32)?) } else { None };
    let (count, expect_bytes) = match (expects, number) {
        (true, None) => return unknown("expect_tx without a number of bytes"),
        (true, bytes) => (Source::Constant(1), bytes),
        (false, count) => (count.unwrap_or(Source::Constant(1)), None),
    };
    Ok(MbarrierOp::Arrive(Arrive { address, space, count, expect_bytes, state, drops, release: !relaxed }))
}

fn try_wait(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    wait(s, space, true)
}

fn test_wait(s: &mut Statement<'_>, space: Space) -> Decoded<MbarrierOp> {
    wait(s, space, false)
}

fn wait(s: &mut Statement<'_>, space: Space, may_block: bool) -> Decoded<MbarrierOp> {
    let parity = s.flag("parity");
    let relaxed = s.flag("relaxed");
    s.hints(&["acquire", "cta", "cluster"]);
    let done = s.predicate_register(0)?;
    let address = s.address(1)?;
    let phase = if parity { Phase::Parity(s.source(2, Type::U32)?) } else { Phase::State(s.source(2, Type::B64)?) };
    if may_block && s.operand_count() > 3 {
        s.source(3, Type::U32)?; // how long it may block: as long as it likes
    }
    Ok(MbarrierOp::Wait { done, address, space, phase, may_block, acquire: !relaxed })
}

pub(super) fn mapa(s: &mut Statement<'_>) -> Decoded<Op> {
    let generic = s.space().is_none();
    let ty = s.ty()?;
    Ok(Op::MapToPeer { d: s.register(0, ty.bits)?, a: s.source(1, ty)?, rank: s.source(2, Type::U32)?, generic })
}

pub(super) fn get_rank(s: &mut Statement<'_>) -> Decoded<Op> {
    s.space();
    let ty = s.ty()?;
    Ok(Op::RankOfAddress { d: s.register(0, 32)?, a: s.source(1, ty)? })
}
