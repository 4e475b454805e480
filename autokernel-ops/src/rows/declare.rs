//! What a declaration of a row-wise kernel says.

use super::problem::Problem;
use crate::body::{Body, Place};
use crate::declaration::operands::{node_at, operands};
use crate::declaration::{self, Attribute, Complaint, Declaration, Form, Setting, What, both};

/// The attribute.
pub const ATTRIBUTE: Attribute = Attribute {
    name: "rows",
    example: "#[autokernel::rows] fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = 2.0 * x; }",
    form: Form::Body,
    names: &[],
};

/// The problem that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy; none where only the body cannot be read.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let (operands, ()) = both(operands(&declaration.parameters), settings(declaration))?;
    let declaration::Body::Statements(statements) = &declaration.body else { return Err(Vec::new()) };
    let (mut steps, mut nodes, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (mut fetches, mut fetched_at, mut in_place) = (Vec::new(), Vec::new(), Vec::new());
    for statement in statements {
        match &statement.what {
            What::Step(step) => {
                steps.push(step.clone());
                nodes.push(statement.node);
            }
            What::Fetch(fetch) => {
                fetches.push(fetch.clone());
                fetched_at.push(statement.node);
            }
            What::InPlace(written) => in_place.push(written.clone()),
            What::MadeScales { scales, .. } => {
                let message = format!(
                    "`{scales}` would be made of blocks, which `#[autokernel::fused_matmul]` does; here write the scale and what \
                     is divided by it: `{scales} = row_max(…);`"
                );
                refused.push(statement.node.complain(message));
            }
            What::Product { .. } => {
                let message = "a product of matrices belongs in `#[autokernel::fused_matmul]`; this attribute reads \
                               each operand where it writes";
                refused.push(statement.node.complain(message));
            }
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let node = |place: Place| match place {
        Place::Fetch(at) => fetched_at.get(at).copied().unwrap_or(declaration.parameter_list),
        place => node_at(declaration, &nodes, place),
    };
    let complain = |it: crate::body::Complaint| node(it.place).complain(it.message);
    Problem::new(Body { operands, fetches, steps, made_scales: Vec::new(), in_place })
        .map_err(|complaints| complaints.into_iter().map(complain).collect())
}

fn settings(declaration: &Declaration) -> Result<(), Vec<Complaint>> {
    let refused = |setting: &Setting| {
        setting.node.complain(format!(
            "`rows` has no setting `{}`; there are `backward` and types, `T = [bf16, f32]`, and the body says all else",
            setting.name
        ))
    };
    let complaints: Vec<Complaint> = declaration.settings.iter().map(refused).collect();
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}
