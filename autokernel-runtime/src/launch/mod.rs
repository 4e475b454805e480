//! What a launch plan comes to for given operands, wherever it is carried out: pure arithmetic, no driver.

pub(crate) mod grid;
pub(crate) mod pad_rows;
mod parameter;
mod region;
pub(crate) mod rules;
pub(crate) mod standins;
mod transfer;
pub(crate) mod workspace;

pub(crate) use parameter::{Parameter, Sources};
pub(crate) use region::Region;
pub(crate) use transfer::{TensorMap, Transfer};

use crate::Argument;

/// The most operands of one kernel: as many as a body may have.
pub(crate) const MAX_OPERANDS: usize = autokernel_ops::body::check::MAX_OPERANDS;

/// The numbers among the operands of a launch, each at its operand's place.
pub(crate) fn scalars_of(arguments: &[Argument<'_>]) -> [f32; MAX_OPERANDS] {
    let mut scalars = [0.0; MAX_OPERANDS];
    for (slot, argument) in scalars.iter_mut().zip(arguments) {
        *slot = argument.scalar().unwrap_or_default();
    }
    scalars
}
