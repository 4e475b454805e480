//! Measuring on a GPU of this machine.
//!
//! `worker` is a process of its own that loads, checks and times candidates, told so in [`protocol`]'s JSON lines;
//! [`pool`] starts, watches and replaces it; [`compile`] runs nvcc; [`Bench`] does both at once, on every core and every
//! GPU it was given.
//! [`GpuEvaluator`] puts a bench behind the [`Evaluator`](crate::evaluate::Evaluator) of a search, and [`record`]
//! measures whole spaces with it, for replay where there is no GPU.

mod bench;
mod candidates;
pub mod cli;
pub mod compile;
pub mod deadline;
mod devices;
mod evaluator;
mod fanout;
mod load;
mod meter;
pub mod pool;
pub mod process;
pub mod protocol;
pub mod record;
mod rounds;
pub mod sampling;
mod seeds;
mod settling;
mod worker;

pub use bench::Bench;
#[cfg(feature = "study")]
pub(crate) use candidates::candidates;
pub use devices::Devices;
pub use evaluator::GpuEvaluator;
pub use seeds::Seeds;
