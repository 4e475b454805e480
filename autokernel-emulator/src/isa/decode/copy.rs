//! Asynchronous copies (PTX ISA, "Asynchronous copy", "Tensor copy").

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{CopyOp, Op};
use crate::isa::operand::{PredicateSource, Source};
use crate::isa::types::{Space, Type};

/// The most groups that a wait may leave.
const MAX_PENDING: u32 = 1 << 20;

pub(super) fn cp(s: &mut Statement<'_>) -> Decoded<Op> {
    if !s.flag("async") {
        return unknown("no `.async`");
    }
    let op = if s.flag("bulk") { bulk(s) } else { narrow(s) }?;
    Ok(Op::Copy(Box::new(op)))
}

/// `cp.async` without `.bulk`.
fn narrow(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    if s.flag("commit_group") {
        return Ok(CopyOp::AsyncCommit);
    }
    if s.flag("wait_group") {
        return Ok(CopyOp::AsyncWait { pending: s.small_constant(0, MAX_PENDING)? });
    }
    if s.flag("wait_all") {
        return Ok(CopyOp::AsyncWaitAll);
    }
    if s.flag("mbarrier") {
        let counted = s.flag("noinc");
        if !s.flag("arrive") || !s.flag("b64") {
            return unknown("this form of cp.async.mbarrier");
        }
        let space = s.space().unwrap_or(Space::Generic);
        return Ok(CopyOp::AsyncArrive { barrier: s.address(0)?, space, counted });
    }
    let past_l1 = s.flag("cg");
    if !past_l1 && !s.flag("ca") {
        return unknown("neither .ca nor .cg");
    }
    s.hints(&["L2::64B", "L2::128B", "L2::256B"]);
    require_spaces(s, Space::Shared, Space::Global)?;
    let bytes = s.small_constant(2, 16)?;
    if !(bytes == 16 || !past_l1 && (bytes == 4 || bytes == 8)) {
        return unknown(format!("a copy of {bytes} bytes"));
    }
    let (mut source_bytes, mut ignore) = (None, PredicateSource::Constant(false));
    if s.operand_count() > 3 {
        if s.is_predicate(3) {
            ignore = s.predicate(3)?;
        } else {
            source_bytes = Some(s.source(3, Type::U32)?);
        }
    }
    Ok(CopyOp::Async { to: s.address(0)?, from: s.address(1)?, bytes, source_bytes, ignore })
}

/// The destination's space stands before the source's.
fn require_spaces(s: &mut Statement<'_>, to: Space, from: Space) -> Decoded<()> {
    if s.space() == Some(to) && s.space() == Some(from) { Ok(()) } else { unknown("these state spaces") }
}

fn bulk(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    if s.flag("commit_group") {
        return Ok(CopyOp::BulkCommit);
    }
    if s.flag("wait_group") {
        let reads_only = s.flag("read");
        return Ok(CopyOp::BulkWait { pending: s.small_constant(0, MAX_PENDING)?, reads_only });
    }
    match (s.flag("prefetch"), s.flag("tensor")) {
        (true, true) => tensor_prefetch(s),
        (true, false) => prefetch(s),
        (false, true) => tensor(s),
        (false, false) => linear(s),
    }
}

fn linear(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    let (to, from) = (s.space(), s.space());
    let multicast = s.flag("multicast::cluster");
    let (destination, source, bytes) = (s.address(0)?, s.address(1)?, s.source(2, Type::U32)?);
    if (to, from) == (Some(Space::Global), Some(Space::Shared)) {
        return if s.flag("bulk_group") {
            Ok(CopyOp::BulkToGlobal { to: destination, from: source, bytes })
        } else {
            unknown("a store without .bulk_group")
        };
    }
    let from_shared = match from {
        Some(Space::Global) => false,
        Some(Space::Shared) => true,
        _ => return unknown("these state spaces"),
    };
    if !matches!(to, Some(Space::SharedCluster | Space::Shared)) || !s.flag("mbarrier::complete_tx::bytes") {
        return unknown("a load into anything but shared memory, or without an mbarrier");
    }
    let barrier = s.address(3)?;
    let multicast = if multicast { Some(s.source(4, Type::U16)?) } else { None };
    Ok(CopyOp::BulkToShared { to: destination, from: source, bytes, barrier, from_shared, multicast })
}

/// `cp.async.bulk.prefetch`: bytes to L2.
fn prefetch(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    require_global_to_l2(s)?;
    Ok(CopyOp::BulkPrefetch { from: s.address(0)?, bytes: s.source(1, Type::U32)? })
}

fn require_global_to_l2(s: &mut Statement<'_>) -> Decoded<()> {
    if s.flag("L2") && s.space() == Some(Space::Global) {
        Ok(())
    } else {
        unknown("a prefetch from anything but global memory to L2")
    }
}

/// A tensor's number of dimensions.
const DIMENSIONS: &[(&str, usize)] = &[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];

fn tensor(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    let Some(dimensions) = s.one_of(DIMENSIONS) else { return unknown("no number of dimensions") };
    s.hints(&["tile"]);
    let op = match (s.space(), s.space()) {
        (Some(Space::Global), Some(Space::Shared)) => tensor_store(s)?,
        (Some(Space::SharedCluster | Space::Shared), Some(Space::Global)) => tensor_load(s)?,
        _ => return unknown("these state spaces"),
    };
    let coordinates: &[Source] = match &op {
        CopyOp::TensorLoad { at, .. } | CopyOp::TensorStore { at, .. } => at,
        _ => &[],
    };
    require_coordinates(coordinates, dimensions)?;
    Ok(op)
}

/// `cp.async.bulk.prefetch.tensor`: a box to L2.
fn tensor_prefetch(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    let Some(dimensions) = s.one_of(DIMENSIONS) else { return unknown("no number of dimensions") };
    s.hints(&["tile"]);
    require_global_to_l2(s)?;
    let (map, at) = s.tensor(0)?;
    require_coordinates(&at, dimensions)?;
    Ok(CopyOp::TensorPrefetch { map, at })
}

fn require_coordinates(at: &[Source], dimensions: usize) -> Decoded<()> {
    if at.len() == dimensions { Ok(()) } else { unknown(format!("{} coordinates", at.len())) }
}

fn tensor_store(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    if !s.flag("bulk_group") {
        return unknown("a store without .bulk_group");
    }
    let (map, at) = s.tensor(0)?;
    Ok(CopyOp::TensorStore { map, at, from: s.address(1)? })
}

fn tensor_load(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    if !s.flag("mbarrier::complete_tx::bytes") {
        return unknown("a load without an mbarrier");
    }
    let multicast = s.flag("multicast::cluster");
    let hinted = s.flag("L2::cache_hint");
    let to = s.address(0)?;
    let (map, at) = s.tensor(1)?;
    let barrier = s.address(2)?;
    let multicast = if multicast { Some(s.source(3, Type::U16)?) } else { None };
    if hinted {
        s.source(3 + usize::from(multicast.is_some()), Type::B64)?;
    }
    Ok(CopyOp::TensorLoad { to, map, at, barrier, multicast })
}
