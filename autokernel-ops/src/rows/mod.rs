//! Row-wise kernels: element-wise arithmetic and reductions along rows, from a body in plain Rust.

#[cfg(test)]
pub(crate) mod cases;
mod columns;
mod complaint;
mod declare;
mod default;
pub mod emit;
mod family;
mod joined;
mod knobs;
mod lanes;
mod lower;
mod model;
mod operation;
pub mod oracle;
pub mod own_axes;
pub mod passes;
pub mod plan;
mod print;
mod probes;
pub mod problem;
mod reference;
mod rules;
pub mod schedule;
#[cfg(test)]
mod schedule_tests;
pub mod sm90;
pub mod space;
mod turns;

pub use crate::body::{Body, Complaint, Kind, Operand, Place, Reduction, Step};
pub use family::Schedule;
pub use problem::{Class, Problem};
pub use rules::RULES;
pub use schedule::{Keep, RowsSchedule};
pub use sm90::{RULES as SM90_RULES, RingSchedule};
