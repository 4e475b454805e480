//! Attention: `O = softmax(scale · Q Kᵀ + mask) V` for every head of every batch, without the scores ever being in memory.

mod declare;
mod default;
pub mod emit;
mod fields;
mod model;
mod operation;
pub mod oracle;
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
mod space;

pub use problem::{Class, Problem};
pub use rules::RULES;
pub use schedule::{AttentionSchedule, AttentionSchedule as Schedule};
pub use signature::{DIMS, signature};

#[cfg(test)]
mod tests;
