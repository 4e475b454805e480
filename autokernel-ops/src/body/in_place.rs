//! Outputs that are written over what the body reads: `x: &mut Matrix<bf16>` in `x = x + skip;`.

use autokernel_core::Role;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::{Body, Kind, Operand, Place};

/// An output that lies where an input does.
///
/// Both are operands of the kernel, and of one address in a launch. That is right where each element is read by whoever writes it, before
/// that: where the output is a matrix whose elements are read in their places alone, and in no pass behind the one that writes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPlace {
    /// The output.
    pub output: String,
    /// What it held before.
    pub before: String,
}

impl Checker<'_> {
    /// Complains of what is read of such an output elsewhere than where it is written.
    pub(super) fn in_place(&mut self, body: &Body) {
        for InPlace { output, before } in &body.in_place {
            let place = body
                .operands
                .iter()
                .position(|operand| operand.name == *output)
                .map_or(Place::Function, Place::Operand);
            let is_matrix = |it: &Operand| (it.kind, it.role, it.batched) == (Kind::Matrix, Role::Output, false);
            if !body.operand(output).is_some_and(is_matrix) {
                let message = format!(
                    "`{output}` is read and written, which only a `&mut Matrix` can be; pass what is read as an operand of its own"
                );
                self.complain(place, message);
            }
            if body.has_own_axis(output) || body.fetches.iter().any(|fetch| fetch.of == *before) {
                let message = format!(
                    "`{output}` is written, and read in other rows or columns, which may be written before; pass what is read as an \
                     operand of its own"
                );
                self.complain(place, message);
            }
            if body.fold_of(output).is_some() || body.made_scales.iter().any(|made| made.output == *output) {
                let message =
                    format!("`{output}` is made of many elements; pass what is read as an operand of its own");
                self.complain(place, message);
            }
        }
    }
}
