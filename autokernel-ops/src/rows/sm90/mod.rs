//! Hopper's family of row-wise kernels: rows that bulk copies bring to blocks that stay, `rows_sm90.cuh`.

mod default;
pub mod emit;
mod model;
mod rules;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod space;

pub use default::portfolio;
pub use model::Image;
pub use rules::{RULES, serves};
pub use schedule::Sm90Schedule;
pub use space::schedules;
