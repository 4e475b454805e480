//! Comparisons (PTX ISA, "Comparison and Selection Instructions").

use super::statement::{Decoded, Statement, unknown};
use crate::isa::instruction::{Compare, Logic, Op};
use crate::isa::lanes::{LanewiseTest, lanewise_test};
use crate::isa::semantics::float::{double, flush, single};
use crate::isa::semantics::half::widen;
use crate::isa::types::{Kind, Type};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// True also if an operand is NaN.
    UnorderedEqual,
    UnorderedNotEqual,
    UnorderedLess,
    UnorderedLessEqual,
    UnorderedGreater,
    UnorderedGreaterEqual,
    /// Neither is NaN.
    Numbers,
    /// One is NaN.
    Unordered,
}

const RELATIONS: &[(&str, Relation)] = &[
    ("eq", Relation::Equal),
    ("ne", Relation::NotEqual),
    ("lt", Relation::Less),
    ("le", Relation::LessEqual),
    ("gt", Relation::Greater),
    ("ge", Relation::GreaterEqual),
    ("lo", Relation::Less),
    ("ls", Relation::LessEqual),
    ("hi", Relation::Greater),
    ("hs", Relation::GreaterEqual),
    ("equ", Relation::UnorderedEqual),
    ("neu", Relation::UnorderedNotEqual),
    ("ltu", Relation::UnorderedLess),
    ("leu", Relation::UnorderedLessEqual),
    ("gtu", Relation::UnorderedGreater),
    ("geu", Relation::UnorderedGreaterEqual),
    ("num", Relation::Numbers),
    ("nan", Relation::Unordered),
];

const COMBINATIONS: &[(&str, Logic)] = &[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)];

/// The test of numbers that `$read` makes of the operands.
macro_rules! ordered {
    ($relation:expr, |$bits:ident| $read:expr) => {
        match $relation {
            Relation::Equal => ordered!(@test |$bits| $read, |a, b| a == b),
            Relation::NotEqual => ordered!(@test |$bits| $read, |a, b| a < b || a > b),
            Relation::Less => ordered!(@test |$bits| $read, |a, b| a < b),
            Relation::LessEqual => ordered!(@test |$bits| $read, |a, b| a <= b),
            Relation::Greater => ordered!(@test |$bits| $read, |a, b| a > b),
            Relation::GreaterEqual => ordered!(@test |$bits| $read, |a, b| a >= b),
            Relation::UnorderedEqual => ordered!(@test |$bits| $read, |a, b| !(a < b || a > b)),
            Relation::UnorderedNotEqual => ordered!(@test |$bits| $read, |a, b| a != b),
            Relation::UnorderedLess => ordered!(@test |$bits| $read, |a, b| !(a >= b)),
            Relation::UnorderedLessEqual => ordered!(@test |$bits| $read, |a, b| !(a > b)),
            Relation::UnorderedGreater => ordered!(@test |$bits| $read, |a, b| !(a <= b)),
            Relation::UnorderedGreaterEqual => ordered!(@test |$bits| $read, |a, b| !(a < b)),
            Relation::Numbers => ordered!(@test |$bits| $read, |a, b| a == a && b == b),
            Relation::Unordered => ordered!(@test |$bits| $read, |a, b| a != a || b != b),
        }
    };
    (@test |$bits:ident| $read:expr, |$a:ident, $b:ident| $test:expr) => {
        lanewise_test!(|$a, $b| {
            let $a = { let $bits = $a; $read };
            let $b = { let $bits = $b; $read };
            $test
        })
    };
}

// What NaN makes of a comparison matters here, and what may be simplified for numbers may not.
#[allow(clippy::eq_op, clippy::nonminimal_bool, clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons)]
fn test(relation: Relation, ty: Type, flushes: bool) -> Decoded<LanewiseTest> {
    Ok(match (ty.kind, ty.bits) {
        (Kind::Signed, 16) => ordered!(relation, |bits| bits as i16),
        (Kind::Signed, 32) => ordered!(relation, |bits| bits as i32),
        (Kind::Signed, 64) => ordered!(relation, |bits| bits as i64),
        (Kind::Bits | Kind::Unsigned, _) => ordered!(relation, |bits| bits),
        (Kind::Float, 32) if ty.lanes == 1 && flushes => ordered!(relation, |bits| flush(single(bits))),
        (Kind::Float, 32) if ty.lanes == 1 => ordered!(relation, |bits| single(bits)),
        (Kind::Float, 64) => ordered!(relation, |bits| double(bits)),
        (Kind::Float, 16) => ordered!(relation, |bits| widen(Kind::Float, bits)),
        (Kind::Brain, 16) => ordered!(relation, |bits| widen(Kind::Brain, bits)),
        _ => return unknown("setp of this type"),
    })
}

pub(super) fn setp(s: &mut Statement<'_>) -> Decoded<Op> {
    let Some(relation) = s.one_of(RELATIONS) else { return unknown("no relation") };
    let logic = s.one_of(COMBINATIONS);
    let (flushes, ty) = (s.flag("ftz"), s.ty()?);
    let test = test(relation, ty, flushes)?;
    let (d, opposite) = s.predicate_pair(0)?;
    let (a, b) = (s.source(1, ty)?, s.source(2, ty)?);
    let combine = match logic {
        Some(logic) => Some((logic, s.predicate(3)?)),
        None => None,
    };
    Ok(Op::Compare(Box::new(Compare { test, a, b, combine, d, opposite })))
}
