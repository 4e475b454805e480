//! The family of `sm90_attention.cuh`: TMA, mbarriers, wgmma; Hopper only.

mod default;
pub mod plan;
mod rules;
mod schedule;
mod space;

pub use rules::RULES;
pub use schedule::Sm90Schedule;
pub use space::schedules;
