//! Matrix instructions (PTX ISA, "Warp Level Matrix", "Asynchronous Warpgroup Level Matrix Instructions").

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{MatrixOp, Op, Wgmma, WgmmaA};
use crate::isa::operand::PredicateSource;
use crate::isa::types::{Space, Type};

/// `.sync.aligned`, which both have.
fn require_aligned(s: &mut Statement<'_>) -> Decoded<()> {
    if s.flag("sync") && s.flag("aligned") { Ok(()) } else { unknown("no `.sync.aligned`") }
}

/// Matrices, whether transposed, and the state space.
fn matrices(s: &mut Statement<'_>) -> Decoded<(usize, bool, Space)> {
    require_aligned(s)?;
    if !s.flag("m8n8") || !s.flag("b16") {
        return unknown("matrices other than m8n8 of b16");
    }
    let Some(count) = s.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]) else { return unknown("no number of matrices") };
    let transposed = s.flag("trans");
    Ok((count, transposed, s.space().unwrap_or(Space::Generic)))
}

pub(super) fn ldmatrix(s: &mut Statement<'_>) -> Decoded<Op> {
    let (count, transposed, space) = matrices(s)?;
    let d = s.vector_registers(0, count)?;
    Ok(Op::Matrix(Box::new(MatrixOp::Load { d, space, address: s.address(1)?, transposed })))
}

pub(super) fn stmatrix(s: &mut Statement<'_>) -> Decoded<Op> {
    let (count, transposed, space) = matrices(s)?;
    let values = s.values(1, count, Type::B32)?;
    Ok(Op::Matrix(Box::new(MatrixOp::Store { values, space, address: s.address(0)?, transposed })))
}

/// Types of factors that both multiply into fp32 sums.
const MULTIPLIED: [Type; 5] = [Type::BF16, Type::F16, Type::E4M3, Type::E5M2, Type::TF32];
/// Of these, those that are multiplied by each other too.
const MIXED: [Type; 2] = [Type::E4M3, Type::E5M2];

/// Whether both are multiplied into fp32 sums.
fn are_multiplied(a: Type, b: Type) -> bool {
    (a == b && MULTIPLIED.contains(&a)) || (MIXED.contains(&a) && MIXED.contains(&b))
}

/// Bytes of K of one `mma`.
const MMA_BYTES: [u32; 2] = [16, 32];

/// `m16n8k…` of 16 or 32 bytes of K: floats with fp32 sums, and whole numbers with those of 32 bits, which wrap around.
pub(super) fn mma(s: &mut Statement<'_>) -> Decoded<Op> {
    require_aligned(s)?;
    let depth = |word: &str| word.strip_prefix("m16n8k")?.parse::<u32>().ok();
    let Some(k) = s.pick(depth) else { return unknown("this shape") };
    if !s.flag("row") || !s.flag("col") {
        return unknown("layouts other than .row.col");
    }
    let types @ [ty, _] = match (s.ty()?, s.ty()?, s.ty()?, s.ty()?) {
        (Type::F32, a, b, Type::F32) if are_multiplied(a, b) => [a, b],
        (Type::S32, Type::S8, Type::S8, Type::S32) => [Type::S8; 2],
        _ => return unknown("these element types"),
    };
    let bytes = k.saturating_mul(ty.bytes());
    if !MMA_BYTES.contains(&bytes) {
        return unknown("this shape");
    }
    let sum = if ty == Type::S8 { Type::S32 } else { Type::F32 };
    let a_registers = bytes as usize / 8;
    let (d, a) = (s.vector_registers(0, 4)?, s.values(1, a_registers, Type::B32)?);
    let (b, c) = (s.values(2, a_registers / 2, Type::B32)?, s.values(3, 4, sum)?);
    Ok(Op::Matrix(Box::new(MatrixOp::Multiply { k, types, d, a, b, c })))
}

pub(super) fn wgmma(s: &mut Statement<'_>) -> Decoded<Op> {
    require_aligned(s)?;
    if s.flag("fence") {
        return Ok(Op::WgmmaFence);
    }
    if s.flag("commit_group") {
        return Ok(Op::WgmmaCommit);
    }
    if s.flag("wait_group") {
        return Ok(Op::WgmmaWait { pending: s.small_constant(0, 7)? });
    }
    if !s.flag("mma_async") {
        return unknown("this wgmma");
    }
    multiply(s).map(|wgmma| Op::Wgmma(Box::new(wgmma)))
}

/// Bytes of K of one wgmma.
const DEPTH_BYTES: u32 = 32;

fn multiply(s: &mut Statement<'_>) -> Decoded<Wgmma> {
    let shape = |word: &str| {
        let (n, k) = word.strip_prefix("m64n")?.split_once('k')?;
        Some((n.parse::<u32>().ok()?, k.parse::<u32>().ok()?))
    };
    let Some((n, k)) = s.pick(shape) else { return unknown("this shape") };
    let types @ [ty, _] = match (s.ty()?, s.ty()?, s.ty()?) {
        (Type::F32, a, b) if are_multiplied(a, b) => [a, b],
        (Type::S32, Type::S8, Type::S8) => [Type::S8; 2],
        _ => return unknown("these element types"),
    };
    let has_width = if ty == Type::S8 { n % 16 == 0 || n == 8 || n == 24 } else { n % 8 == 0 };
    if !(8..=256).contains(&n) || !has_width || k * ty.bytes() != DEPTH_BYTES {
        return unknown("this shape");
    }
    let d = s.vector_registers(0, n as usize / 2)?;
    let from_registers = s.is_vector(1);
    if from_registers && ty.bytes() != 2 {
        return unknown("elements of A in registers of other than 16 bits");
    }
    let a = if from_registers {
        WgmmaA::Fragment(s.values(1, 4, Type::B32)?)
    } else {
        WgmmaA::Descriptor(s.source(1, Type::B64)?)
    };
    let b = s.source(2, Type::B64)?;
    let accumulate = if s.operand_count() > 3 { s.predicate(3)? } else { PredicateSource::Constant(true) };
    let has_signs = ty != Type::S8;
    let (negate_a, negate_b) = if has_signs { (sign(s, 4)?, sign(s, 5)?) } else { (false, false) };
    let has_order = ty.bytes() == 2; // others lie along K
    let a_is_m_major = has_order && !from_registers && major(s, 6)?;
    let b_is_n_major = has_order && major(s, if from_registers { 6 } else { 7 })?;
    Ok(Wgmma { n, types, d, a, b, accumulate, negate_a, negate_b, a_is_m_major, b_is_n_major })
}

/// Whether the factor is −1.
fn sign(s: &mut Statement<'_>, at: usize) -> Decoded<bool> {
    match s.constant(at)? {
        1 => Ok(false),
        u64::MAX => Ok(true),
        other => unknown(format!("a factor of {}", other as i64)),
    }
}

/// Whether an operand is transposed: M- or N-major.
fn major(s: &mut Statement<'_>, at: usize) -> Decoded<bool> {
    Ok(s.small_constant(at, 1)? == 1)
}
