//! Operands as a text has them (PTX ISA, "Instruction Operands").

use super::operand::{Guard, Predicate, Register, Source};

/// An operand whose names are resolved but whose use is not yet known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(Register),
    Predicate(Guard),
    /// `%r1|%p1`.
    WithPredicate(Register, Option<Predicate>),
    /// `%p1|%p2`; none for `_`.
    Predicates(Option<Predicate>, Option<Predicate>),
    /// Special registers, symbols and integers.
    Source(Source),
    Single(u32),
    Double(f64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `[base + offset]`, or `[base, {coordinates}]`.
    Address {
        base: Source,
        offset: i64,
        at: Vec<Operand>,
    },
    /// `_`
    Sink,
    /// A name that nothing declares: a label.
    Label(String),
}
