//! What a body reads beside the names that every body has.

use crate::attention::score::{Kind, Score};

/// What is passed for each operand, in their order.
pub fn operands(score: &Score) -> String {
    let values = (0..).zip(&score.operands).map(|(number, operand)| match operand.kind {
        Kind::Number => format!("args.{}", field(number)),
        Kind::PerHead => format!("static_cast<const float*>(args.{})[head]", field(number)),
    });
    values.collect::<Vec<_>>().join(", ")
}

/// Fields of a struct that are called so.
pub fn floats(names: impl IntoIterator<Item = String>) -> String {
    names.into_iter().map(|name| format!(" float {name};")).collect()
}

/// Whether an operand of the body is called so.
pub fn is_operand(score: &Score, name: &str) -> bool {
    score.operands.iter().any(|operand| operand.name == name)
}

/// The field of the operand with that number among a body's.
pub fn field(number: u8) -> String {
    format!("operand{number}")
}
