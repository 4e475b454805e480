//! Control flow, barriers, fences and what concerns a whole kernel.

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{BarrierOp, Fence, Op, WarpOp};
use crate::isa::types::Type;

pub(super) fn bra(s: &mut Statement<'_>) -> Decoded<Op> {
    s.hints(&["uni"]);
    s.label(0)?;
    // The label is resolved when the whole body has been read.
    Ok(Op::Branch { target: u32::MAX })
}

pub(super) fn exit(s: &mut Statement<'_>) -> Decoded<Op> {
    s.hints(&["uni"]);
    Ok(Op::Exit)
}

pub(super) fn trap(_: &mut Statement<'_>) -> Decoded<Op> {
    Ok(Op::Trap)
}

pub(super) fn bar(s: &mut Statement<'_>) -> Decoded<Op> {
    if s.flag("warp") {
        if !s.flag("sync") {
            return unknown("no `.sync`");
        }
        return Ok(Op::Warp(Box::new(WarpOp::Synchronise { members: s.source(0, Type::B32)? })));
    }
    s.hints(&["cta"]);
    block_barrier(s)
}

pub(super) fn barrier(s: &mut Statement<'_>) -> Decoded<Op> {
    if s.flag("cluster") {
        return cluster_barrier(s);
    }
    s.hints(&["cta", "aligned"]);
    block_barrier(s)
}

fn block_barrier(s: &mut Statement<'_>) -> Decoded<Op> {
    let id = s.source(0, Type::U32)?;
    if s.flag("sync") {
        let threads = if s.operand_count() > 1 { Some(s.source(1, Type::U32)?) } else { None };
        return Ok(Op::Barrier(BarrierOp::Sync { id, threads }));
    }
    if s.flag("arrive") {
        return Ok(Op::Barrier(BarrierOp::Arrive { id, threads: s.source(1, Type::U32)? }));
    }
    unknown("neither .sync nor .arrive")
}

fn cluster_barrier(s: &mut Statement<'_>) -> Decoded<Op> {
    s.hints(&["aligned"]);
    if s.flag("arrive") {
        let relaxed = s.flag("relaxed");
        s.hints(&["release"]);
        return Ok(Op::Barrier(BarrierOp::ClusterArrive { release: !relaxed }));
    }
    if s.flag("wait") {
        s.hints(&["acquire"]);
        return Ok(Op::Barrier(BarrierOp::ClusterWait { acquire: true }));
    }
    unknown("neither .arrive nor .wait")
}

pub(super) fn fence(s: &mut Statement<'_>) -> Decoded<Op> {
    if s.flag("proxy") {
        if !s.flag("async") {
            return unknown("a proxy other than .async");
        }
        s.hints(&["global", "shared::cta", "shared::cluster"]);
        return Ok(Op::Fence(Fence::ProxyAsync));
    }
    if s.flag("mbarrier_init") {
        s.hints(&["release", "cluster"]);
        return Ok(Op::Fence(Fence::MbarrierInit));
    }
    s.hints(&["sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys"]);
    Ok(Op::Fence(Fence::Memory))
}

pub(super) fn membar(s: &mut Statement<'_>) -> Decoded<Op> {
    s.hints(&["cta", "gl", "sys"]);
    Ok(Op::Fence(Fence::Memory))
}

pub(super) fn setmaxnreg(s: &mut Statement<'_>) -> Decoded<Op> {
    let increases = s.flag("inc");
    if !increases && !s.flag("dec") {
        return unknown("neither .inc nor .dec");
    }
    s.hints(&["sync", "aligned", "u32"]);
    let count = s.small_constant(0, 256)?;
    if !(24..=256).contains(&count) || count % 8 != 0 {
        return unknown("a count that is no multiple of 8 from 24 to 256");
    }
    Ok(Op::MoveRegisters { count, increases })
}

pub(super) fn grid_dependency(s: &mut Statement<'_>) -> Decoded<Op> {
    let waits = s.flag("wait");
    if !waits && !s.flag("launch_dependents") {
        return unknown("neither .wait nor .launch_dependents");
    }
    Ok(Op::GridDependency { waits })
}

pub(super) fn nanosleep(s: &mut Statement<'_>) -> Decoded<Op> {
    let ty = s.ty()?;
    s.source(0, ty)?;
    Ok(Op::Sleep)
}
