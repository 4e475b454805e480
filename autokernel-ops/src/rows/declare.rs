//! What a declaration of a row-wise kernel says.

use autokernel_core::{Dtype, Role};

use super::body::{Body, Kind, Operand};
use super::complaint::Place;
use super::problem::Problem;
use crate::declaration::{
    Attribute, Complaint, Declaration, Form, Node, Parameter, ScalarParameter, TensorParameter, both,
};

/// The attribute.
pub const ATTRIBUTE: Attribute = Attribute {
    name: "rows",
    example: "#[autokernel::rows] fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = 2.0 * x; }",
    form: Form::Body,
};

/// What a parameter looks like, for messages.
const FORMS: &str =
    "`x: &Matrix<bf16>`, `weight: &Row<bf16>`, `scale: &Column<f32>`, `eps: f32`, `out: &mut Matrix<bf16>`";

/// The problem that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy; none where only the body cannot be read.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let (operands, ()) = both(operands(&declaration.parameters), settings(declaration))?;
    let Some(body) = &declaration.body else { return Err(Vec::new()) };
    let steps = body.iter().map(|statement| statement.step.clone()).collect();
    let node = |place: Place| match place {
        Place::Function => declaration.parameter_list,
        Place::Operand(at) => declaration.parameters.get(at).map_or(declaration.parameter_list, node_of),
        Place::Step(at) => body.get(at).map_or(declaration.parameter_list, |statement| statement.node),
    };
    Problem::new(Body { operands, steps })
        .map_err(|complaints| complaints.into_iter().map(|it| node(it.place).complain(it.message)).collect())
}

fn settings(declaration: &Declaration) -> Result<(), Vec<Complaint>> {
    let refused = |setting: &crate::declaration::Setting| {
        setting.node.complain(format!("`rows` has no setting `{}`; the body says everything", setting.name))
    };
    let complaints: Vec<Complaint> = declaration.settings.iter().map(refused).collect();
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

fn operands(parameters: &[Parameter]) -> Result<Vec<Operand>, Vec<Complaint>> {
    let start = Ok(Vec::with_capacity(parameters.len()));
    parameters.iter().fold(start, |operands, parameter| {
        let (mut operands, operand) = both(operands, operand(parameter).map_err(|complaint| vec![complaint]))?;
        operands.push(operand);
        Ok(operands)
    })
}

fn operand(parameter: &Parameter) -> Result<Operand, Complaint> {
    let refused = |node: Node| node.complain(format!("an operand is one of {FORMS}"));
    match parameter {
        Parameter::Scalar(ScalarParameter { name, .. }) => {
            Ok(Operand { name: name.clone(), kind: Kind::Scalar, dtype: Dtype::F32, role: Role::Input })
        }
        Parameter::Tensor(TensorParameter { name, mutable, container, element, ty, element_node, .. }) => {
            let kind = Kind::of_container(container).ok_or_else(|| refused(*ty))?;
            let unknown = || element_node.complain(format!("`{element}` is not an element type; use bf16, f16 or f32"));
            let dtype = Dtype::from_name(element).ok_or_else(unknown)?;
            let role = if *mutable { Role::Output } else { Role::Input };
            Ok(Operand { name: name.clone(), kind, dtype, role })
        }
        Parameter::Other { node } => Err(refused(*node)),
    }
}

fn node_of(parameter: &Parameter) -> Node {
    match parameter {
        Parameter::Tensor(TensorParameter { node, .. })
        | Parameter::Scalar(ScalarParameter { node, .. })
        | Parameter::Other { node } => *node,
    }
}
