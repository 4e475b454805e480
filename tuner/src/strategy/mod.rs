//! Who proposes what to try next.
//!
//! A strategy is asked for schedules and told what became of them. It never measures, so the same strategy works on a
//! GPU, on a recording, and on several GPUs at once.

mod ask_tell;
mod brief;
mod categories;
mod effects;
mod ground;
mod hybrid;
pub mod lattice;
mod llm;
mod local;
mod moves;
pub mod prior;
mod random;
mod seeds;
mod start;
mod surrogate;
#[cfg(test)]
mod tests;

pub use ask_tell::{Proposal, Strategy};
pub use brief::Brief;
pub use hybrid::Hybrid;
pub use llm::Llm;
pub use local::Local;
pub use random::Random;
pub use seeds::{Neighbours, known, neighbours};
pub use surrogate::Surrogate;
