//! What a body reads beside the names that every body has.

use crate::attention::score::{Kind, Operand, Score};
use crate::body::cuda::element;

/// What is passed for each operand, in their order.
pub fn operands(score: &Score) -> String {
    let values = (0..).zip(&score.operands).map(|(number, operand)| of_head(number, operand.kind));
    values.collect::<Vec<_>>().join(", ")
}

/// What a head has of the operand with that number.
fn of_head(number: u8, kind: Kind) -> String {
    let name = field(number);
    match kind {
        Kind::Number | Kind::DeviceScalar => of_launch(number, kind),
        Kind::PerHead => format!("static_cast<const float*>(args.{name})[head]"),
        Kind::PerDistance => {
            let (row, columns) = (row_of(number), columns_of(number));
            format!("autokernel::attention::PerDistance::of(args.{name}, args.{row}, args.{columns}, head)")
        }
    }
}

/// The number that a launch has of the operand with that number.
pub fn of_launch(number: u8, kind: Kind) -> String {
    let name = field(number);
    if kind == Kind::DeviceScalar { format!("*static_cast<const float*>(args.{name})") } else { format!("args.{name}") }
}

/// Fields of a struct for the operands.
pub fn fields(score: &Score) -> String {
    let field = |Operand { name, kind }: &Operand| match kind {
        Kind::Number | Kind::DeviceScalar | Kind::PerHead => format!(" float {};", element(name)),
        Kind::PerDistance => format!(" autokernel::attention::PerDistance {};", element(name)),
    };
    score.operands.iter().map(field).collect()
}

/// Fields of a struct that are called so.
pub fn floats(names: impl IntoIterator<Item = String>) -> String {
    names.into_iter().map(|name| format!(" float {name};")).collect()
}

/// The kind of the operand of the body that is called so.
pub fn kind_of(score: &Score, name: &str) -> Option<Kind> {
    score.operands.iter().find(|operand| operand.name == name).map(|operand| operand.kind)
}

/// The field of the operand with that number among a body's.
pub fn field(number: u8) -> String {
    format!("operand{number}")
}

/// That of how far apart its rows lie.
pub fn row_of(number: u8) -> String {
    format!("operand{number}_row")
}

/// That of how many columns it has.
pub fn columns_of(number: u8) -> String {
    format!("operand{number}_columns")
}
