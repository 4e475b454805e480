//! The operands that a function's parameters declare.

use autokernel_core::{Dtype, Role};

use super::{Complaint, Declaration, Node, Parameter, ScalarParameter, TensorParameter, both};
use crate::body::{Kind, Operand, Place};

/// What a parameter looks like, for messages.
const FORMS: &str = "`x: &Matrix<bf16>`, `weight: &Row<bf16>`, `scale: &Column<f32>`, `eps: f32`, `step: &Scalar<f32>`, `picks: &Index`, \
     `out: &mut Matrix<bf16>`";

/// An operand for each parameter, in order.
///
/// # Errors
/// All those that are no operand, each with the forms there are.
pub fn operands(parameters: &[Parameter]) -> Result<Vec<Operand>, Vec<Complaint>> {
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
        Parameter::Index { name, mutable, .. } => {
            let role = if *mutable { Role::Output } else { Role::Input };
            Ok(Operand { name: name.clone(), kind: Kind::Index, dtype: Dtype::I32, role, batched: false })
        }
        Parameter::Scalar(ScalarParameter { name, .. }) => {
            let (name, kind, dtype) = (name.clone(), Kind::Scalar, Dtype::F32);
            Ok(Operand { name, kind, dtype, role: Role::Input, batched: false })
        }
        Parameter::Tensor(TensorParameter { name, mutable, container, element, ty, element_node, .. }) => {
            let (kind, batched) = Kind::of_container(container).ok_or_else(|| refused(*ty))?;
            let dtype = element_type(element, *element_node)?;
            let role = if *mutable { Role::Output } else { Role::Input };
            Ok(Operand { name: name.clone(), kind, dtype, role, batched })
        }
        Parameter::PageTable { node, .. } | Parameter::Routes { node, .. } | Parameter::Other { node } => {
            Err(refused(*node))
        }
    }
}

/// The element type called `element`, which stands at `node`.
///
/// # Errors
/// There is none of that name.
pub fn element_type(element: &str, node: Node) -> Result<Dtype, Complaint> {
    let unknown = || {
        node.complain(format!(
            "`{element}` is not an element type; use bf16, f16 or f32, or for the factors of a product e4m3, e5m2, i8 or i4x2"
        ))
    };
    Dtype::from_name(element).ok_or_else(unknown)
}

/// Where the part of a declaration stands that a complaint is about; its steps stand at `steps`.
pub fn node_at(declaration: &Declaration, steps: &[Node], place: Place) -> Node {
    let found = match place {
        // A room that knows fetches knows where they stand.
        Place::Function | Place::Fetch(_) => None,
        Place::Operand(at) => declaration.parameters.get(at).map(node_of),
        Place::Step(at) => steps.get(at).copied(),
    };
    found.unwrap_or(declaration.parameter_list)
}

fn node_of(parameter: &Parameter) -> Node {
    match parameter {
        Parameter::Tensor(TensorParameter { node, .. })
        | Parameter::Scalar(ScalarParameter { node, .. })
        | Parameter::Index { node, .. }
        | Parameter::PageTable { node, .. }
        | Parameter::Routes { node, .. }
        | Parameter::Other { node } => *node,
    }
}
