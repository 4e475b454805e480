//! The family of `sm80_attention.cuh`: mma.sync, ldmatrix, cp.async; Ampere and every later GPU.

pub mod default;
pub mod plan;
mod rules;
mod schedule;
mod space;

pub use rules::RULES;
pub use schedule::Sm80Schedule;
pub use space::schedules;
