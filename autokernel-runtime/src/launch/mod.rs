//! What a launch plan comes to for given operands, wherever it is carried out: pure arithmetic, no driver.

pub(crate) mod grid;
pub(crate) mod pad_rows;
mod parameter;
mod region;
pub(crate) mod rules;
pub(crate) mod standins;
mod transfer;

pub(crate) use parameter::{Parameter, Sources};
pub(crate) use region::Region;
pub(crate) use transfer::{TensorMap, Transfer};

/// The most operands of one kernel.
pub(crate) const MAX_OPERANDS: usize = 8;
