//! Loads, stores and atomics (PTX ISA, "Data Movement and Conversion Instructions").

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Atomic, AtomicOp, CopyOp, Load, Op, Order, Store};
use crate::isa::operand::Source;
use crate::isa::types::{Space, Type};

/// Modifiers of loads and stores that change only which cache holds what.
const CACHE_HINTS: &[&str] = &[
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_first",
    "L2::evict_last",
    "L2::evict_normal",
    "unified",
];
/// Whom an order reaches: everyone is reached here.
const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];

const ORDERS: &[(&str, Order)] = &[
    ("weak", Order::Weak),
    ("relaxed", Order::Relaxed),
    ("volatile", Order::Relaxed),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcquireRelease),
];

const OPERATIONS: &[(&str, AtomicOp)] = &[
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exchange),
    ("cas", AtomicOp::CompareExchange),
    ("inc", AtomicOp::Increment),
    ("dec", AtomicOp::Decrement),
];

/// What all accesses have in common: order, space, elements, type.
fn access(s: &mut Statement<'_>) -> Decoded<(Order, Space, usize, Type)> {
    s.hints(CACHE_HINTS);
    let order = s.one_of(ORDERS).unwrap_or(Order::Weak);
    s.hints(SCOPES);
    let space = s.space().unwrap_or(Space::Generic);
    let count = s.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = s.ty()?;
    if ty.bits < 8 || ty.bytes() as usize * count > 32 {
        return unknown("an access of this size");
    }
    Ok((order, space, count, ty))
}

pub(super) fn ld(s: &mut Statement<'_>) -> Decoded<Op> {
    let (order, space, count, ty) = access(s)?;
    Ok(Op::Load(Box::new(Load { space, ty, d: s.destinations(0, count, ty)?, address: s.address(1)?, order })))
}

pub(super) fn st(s: &mut Statement<'_>) -> Decoded<Op> {
    if s.flag("async") {
        return Ok(Op::Copy(Box::new(store_counted(s)?)));
    }
    let (order, space, count, ty) = access(s)?;
    Ok(Op::Store(Box::new(Store { space, ty, values: s.values(1, count, ty)?, address: s.address(0)?, order })))
}

/// `st.async`.
fn store_counted(s: &mut Statement<'_>) -> Decoded<CopyOp> {
    if !s.flag("mbarrier::complete_tx::bytes") {
        return unknown("no `.mbarrier::complete_tx::bytes`");
    }
    let (order, space, count, ty) = access(s)?;
    if order != Order::Weak || space != Space::SharedCluster {
        return unknown("not weak, or not to `.shared::cluster`");
    }
    let values = s.values(1, count, ty)?;
    Ok(CopyOp::StoreCounted { to: s.address(0)?, ty, values, barrier: s.address(2)? })
}

pub(super) fn atom(s: &mut Statement<'_>) -> Decoded<Op> {
    atomic(s, true)
}

pub(super) fn red(s: &mut Statement<'_>) -> Decoded<Op> {
    atomic(s, false)
}

fn atomic(s: &mut Statement<'_>, returns: bool) -> Decoded<Op> {
    let Some(op) = s.one_of(OPERATIONS) else { return unknown("no operation") };
    s.hints(&["noftz"]);
    let (order, space, count, ty) = access(s)?;
    let floats = ty.is_float() && op == AtomicOp::Add && (ty.bits <= 32 || ty == Type::F64);
    let integers = ty.is_integer() && ty.bits >= 32;
    if count != 1 || !floats && !integers {
        return unknown("an atomic of this type");
    }
    let at = usize::from(returns);
    let d = if returns { s.optional_register(0, ty.bits)? } else { None };
    let address = s.address(at)?;
    let a = s.source(at + 1, ty)?;
    let b = if op == AtomicOp::CompareExchange { s.source(at + 2, ty)? } else { Source::Constant(0) };
    let order = if order == Order::Weak { Order::Relaxed } else { order };
    Ok(Op::Atomic(Box::new(Atomic { space, ty, op, d, address, a, b, order })))
}

pub(super) fn prefetch(s: &mut Statement<'_>) -> Decoded<Op> {
    if s.flag("tensormap") {
        s.space();
        return Ok(Op::PrefetchMap { address: s.address(0)? });
    }
    s.hints(&["L1", "L2", "L2::evict_last", "L2::evict_normal"]);
    s.space();
    s.address(0)?;
    Ok(Op::Prefetch)
}
