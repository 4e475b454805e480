//! Who proposes what to try next.
//!
//! A strategy is asked for schedules and told what became of them. It never measures, so the same strategy works on a
//! GPU, on a recording, and on several GPUs at once.

mod ask_tell;
mod asked;
mod brief;
mod categories;
mod effects;
mod ground;
mod hybrid;
mod lattice;
mod llm;
mod local;
mod moves;
mod prior;
mod random;
mod seeds;
mod start;
mod started;
mod surrogate;
#[cfg(test)]
pub(crate) mod tests;

pub use ask_tell::{Proposal, Strategy};
pub(crate) use asked::Asked;
pub use brief::Brief;
pub(crate) use llm::Llm;
pub(crate) use prior::Prior;
pub(crate) use seeds::{Neighbours, known};
pub(crate) use started::Started;
