//! The portable family of row-wise kernels, whose threads load what they read: `rows_sm80.cuh`, and `columns_sm80.cuh` of reductions
//! along columns.

pub mod columns;
mod default;
pub mod emit;
mod model;
mod rules;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod space;
mod turns;

pub use model::{Image, LAUNCH_US, portfolio};
pub use rules::{RULES, available, registers, resident_blocks};
pub use schedule::{MOST_COLUMNS, Sm80Schedule};
pub use space::schedules;
