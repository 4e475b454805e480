//! A gate before the GPU: the kernel of a proposed schedule runs on an emulated GPU first, on small shapes at which all that
//! the schedule does comes to pass. What goes wrong there reaches no GPU, and is told with the line that did it.
//!
//! [`Gated`] puts a [`Gate`] before any [`Evaluator`](crate::evaluate::Evaluator); [`operands`] and `reference` are the check
//! of the result, which is that of the GPU's worker.

mod check;
mod emulated;
mod evaluator;
pub mod operands;
mod reference;

pub use check::Check;
pub use emulated::{Gate, reason};
pub use evaluator::Gated;
