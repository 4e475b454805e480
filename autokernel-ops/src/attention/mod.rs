//! Attention: `O = softmax(scale · Q Kᵀ + mask) V` for every head of every batch, without the scores ever being in memory.

mod declare;
mod default;
pub mod emit;
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
mod space;

pub use plan::DIMS;
pub use problem::{Class, Problem};
pub use rules::RULES;
pub use schedule::{AttentionSchedule, AttentionSchedule as Schedule};

#[cfg(test)]
mod tests;
