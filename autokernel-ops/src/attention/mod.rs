//! Attention: `O = softmax(scale · Q Kᵀ + mask) V` for every head of every batch, without the scores ever being in memory.

mod declare;
mod dims;
pub mod emit;
mod fields;
mod lower;
mod model;
mod operation;
pub mod oracle;
mod panel;
pub mod plan;
mod print;
mod probes;
pub mod problem;
pub mod schedule;
pub mod score;
pub mod sequences;
mod sharing;
mod signature;
pub mod sm80;
pub mod sm90;

pub use problem::{Class, Problem};
pub use schedule::Schedule;
pub use signature::{DIMS, extents, signature};
pub use sm80::{RULES as SM80_RULES, Sm80Schedule};
pub use sm90::{RULES as SM90_RULES, Sm90Schedule};

#[cfg(test)]
mod tests;
