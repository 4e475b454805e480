//! A body on the score.

use crate::attention::score::{NAMES, Operand, SCORE, Score};
use crate::body::{Fetch, Step};
use crate::declaration::{Complaint, Declaration, Statement, What};
use crate::expr::{Axis, Binding, Expr};

/// What statements make of a score: `let` after `let`, and then `score = …;`.
///
/// # Errors
/// Each statement that is no such, with what can be written.
pub fn score(
    declaration: &Declaration,
    operands: Vec<Operand>,
    statements: &[Statement],
) -> Result<Score, Vec<Complaint>> {
    let (mut bindings, mut value, mut complaints) = (Vec::new(), None, Vec::new());
    for Statement { what, node } in statements {
        let mut refuse = |message: String| complaints.push(node.complain(message));
        if value.is_some() {
            refuse("the score is what the last statement says; put this before it".to_owned());
            continue;
        }
        match what {
            What::Step(Step::Let { name, value }) => {
                bindings.push(Binding { name: name.clone(), value: value.clone() })
            }
            What::Step(Step::Store { output, row: None, fold: None, value: written }) if output == SCORE => {
                value = Some(written.clone());
            }
            What::Step(Step::Store { .. }) => {
                refuse("a body of attention writes the score alone: `score = …;`".to_owned())
            }
            _ => {
                refuse(
                    "a body of attention is arithmetic on one score; reductions, products and picked rows belong in \
                     `#[autokernel::rows]` and `#[autokernel::fused_matmul]`"
                        .to_owned(),
                );
                // What reads it is no other mistake.
                bindings.extend(name_of(what).map(|name| Binding { name, value: Expr::Literal(0.0) }));
            }
        }
        let read = match what {
            What::Step(Step::Let { value, .. } | Step::Store { value, .. }) => Some(value),
            _ => None,
        };
        if let Some(message) = read.and_then(|read| strange(read, &operands, &bindings)) {
            complaints.push(node.complain(message));
        }
    }
    let hidden = operands.iter().find(|operand| NAMES.contains(&operand.name.as_str()));
    if let Some(operand) = hidden {
        let message = format!("`{}` is a name of attention's own; give the parameter another", operand.name);
        complaints.push(declaration.parameter_list.complain(message));
    }
    let missing = || declaration.parameter_list.complain("the body says what becomes of the score: `score = …;`");
    match value {
        Some(value) if complaints.is_empty() => Ok(Score { operands, bindings, value }.without_idle_bindings()),
        None if complaints.is_empty() => Err(vec![missing()]),
        _ => Err(complaints),
    }
}

/// What the value of a statement is called that is no arithmetic.
fn name_of(what: &What) -> Option<String> {
    match what {
        What::Step(Step::Reduce { name, .. }) | What::Fetch(Fetch { name, .. }) | What::Product { name, .. } => {
            Some(name.clone())
        }
        _ => None,
    }
}

/// What an expression reads that no body can.
fn strange(expr: &Expr, operands: &[Operand], bindings: &[Binding]) -> Option<String> {
    if Axis::ALL.into_iter().any(|axis| expr.has_index(axis) || expr.has_extent(axis)) {
        return Some("scores stand at `query` and `key`, which are names here".to_owned());
    }
    let known = |name: &str| {
        NAMES.contains(&name)
            || operands.iter().any(|operand| operand.name == name)
            || bindings.iter().any(|binding| binding.name == name)
    };
    let strange = expr.variables().into_iter().find(|name| !known(name))?;
    Some(format!("`{strange}` is a whole tensor here; a body reads `{}` and its own operands", NAMES.join("`, `")))
}
