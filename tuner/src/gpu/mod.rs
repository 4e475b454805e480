//! Measuring on a GPU of this machine.
//!
//! [`worker`] is a process of its own that loads, checks and times candidates, told so in [`protocol`]'s JSON lines;
//! [`pool`] starts, watches and replaces it; [`compile`] runs nvcc ahead on every core; [`Bench`] is the three together.
//! [`GpuEvaluator`] puts a bench behind the [`Evaluator`](crate::evaluate::Evaluator) of a search, and [`record`]
//! measures whole spaces with it, for replay where there is no GPU.

mod bench;
pub mod cli;
pub mod compile;
mod evaluator;
pub mod pool;
mod problem;
pub mod process;
pub mod protocol;
pub mod record;
pub mod sampling;
pub mod tuning;
pub mod worker;

pub use bench::{Bench, FINAL_ROUNDS};
pub use evaluator::GpuEvaluator;
pub(crate) use problem::{dtype as runtime_dtype, shape as runtime_shape};
