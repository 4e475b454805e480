//! What gradients are called.

use crate::body::{Body, Operand};

/// Names that Rust keeps for itself, of those that gradients have.
const KEYWORDS: [&str; 2] = ["do", "dyn"];

/// What the gradient of an operand is called.
pub fn name_of(operand: &Operand) -> String {
    let name = format!("d{}", operand.name.trim_start_matches("r#"));
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// The operand of the body that one of a gradient's kernel is, or whose gradient it is; none of a number of the row.
pub fn source<'b>(body: &'b Body, name: &str) -> Option<&'b Operand> {
    body.operands.iter().find(|operand| operand.name == name || name_of(operand) == name)
}
