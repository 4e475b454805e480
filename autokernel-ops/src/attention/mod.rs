//! Attention: `O = softmax(scale · Q Kᵀ + mask) V` for every head of every batch, without the scores ever being in memory.

mod declare;
mod default;
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
mod rules;
pub mod schedule;
pub mod score;
pub mod sequences;
mod sharing;
mod signature;
pub mod sm80;
mod space;

pub use problem::{Class, Problem};
pub use rules::RULES;
pub use schedule::{AttentionSchedule, Schedule};
pub use signature::{DIMS, signature};
pub use sm80::{RULES as SM80_RULES, Sm80Schedule};

#[cfg(test)]
mod tests;
