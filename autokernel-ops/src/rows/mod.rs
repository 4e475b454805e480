//! Row-wise kernels: element-wise arithmetic and reductions along rows, from a body in plain Rust.

#[cfg(test)]
pub(crate) mod cases;
mod complaint;
mod declare;
pub mod emit;
mod joined;
mod lanes;
mod lower;
mod operation;
pub mod oracle;
pub mod own_axes;
pub mod passes;
pub mod plan;
mod print;
mod probes;
pub mod problem;
mod reference;
pub mod schedule;
pub mod sm80;
pub mod sm90;

pub use crate::body::{Body, Complaint, Kind, Operand, Place, Reduction, Step};
pub use passes::Keep;
pub use problem::{Class, Problem};
pub use schedule::Schedule;
pub use sm80::{RULES as SM80_RULES, Sm80Schedule};
pub use sm90::{RULES as SM90_RULES, Sm90Schedule};
