//! Instructions as the interpreter runs them: decoded once, every name and modifier resolved.

pub(crate) mod decode;
pub(crate) mod instruction;
pub(crate) mod lanes;
pub(crate) mod matrix_layout;
pub(crate) mod operand;
pub(crate) mod rounding;
pub(crate) mod semantics;
pub(crate) mod types;
pub(crate) mod written;

pub(crate) use instruction::{Instruction, Op};
pub(crate) use operand::{Address, Axis, Guard, Predicate, Register, Source, Special, Symbol};
pub(crate) use types::Type;
