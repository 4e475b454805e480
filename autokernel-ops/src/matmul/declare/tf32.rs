//! What a declaration says of factors of `f32`: that they may be multiplied as tf32.

use autokernel_core::Dtype;

use crate::declaration::{Complaint, Declaration, Given, Node};
use crate::matmul::inputs::{TF32, multiplied_as_tf32};

/// Takes the setting itself.
///
/// # Errors
/// It has a value.
pub fn apply(node: Node, given: &Given) -> Result<(), Complaint> {
    match given {
        Given::Nothing => Ok(()),
        Given::Value(_) | Given::Arguments(_) => Err(node.complain("`tf32` takes no value; write `tf32` alone")),
    }
}

/// Refuses factors, each with its type and where it stands, that are multiplied as tf32 where that is not asked for.
///
/// # Errors
/// One for each such factor.
pub fn check(
    declaration: &Declaration,
    factors: impl IntoIterator<Item = (Dtype, Node)>,
) -> Result<(), Vec<Complaint>> {
    let is_asked_for = declaration.settings.iter().any(|setting| setting.name == TF32);
    let wide = factors.into_iter().filter(|(dtype, _)| *dtype == Dtype::F32 && !is_asked_for);
    let refused: Vec<Complaint> = wide.map(|(_, node)| node.complain(multiplied_as_tf32())).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}
