//! What a declaration says of weights: second factors of another type than the first one.

use autokernel_core::Dtype;

use super::known::twice;
use crate::body::Operand;
use crate::declaration::{Complaint, Declaration, Given, Node};
use crate::matmul::body::Product;
use crate::matmul::inputs::along_k;
use crate::matmul::problem::Layout;
use crate::weights::{GROUP, GROUPS, Scales, Weights};

/// The setting that says how many numbers along K have a scale, and where it stands.
#[derive(Clone, Copy)]
pub struct Group {
    pub size: u32,
    pub node: Node,
}

impl Group {
    /// Takes the setting itself.
    ///
    /// # Errors
    /// No size of a group, or a second one.
    pub fn read(before: Option<Group>, node: Node, given: &Given) -> Result<Self, Complaint> {
        let [small, middle, large] = GROUPS;
        let sizes = format!("{small}, {middle} or {large}");
        let Given::Value(value) = given else {
            return Err(node.complain(format!("give the numbers of a group: `{GROUP} = 128`; there are {sizes}")));
        };
        if before.is_some() {
            return Err(twice(GROUP, node));
        }
        let size = value.dimension()?;
        if !GROUPS.contains(&size) {
            return Err(value.node.complain(format!("a group has {sizes} numbers along K")));
        }
        Ok(Group { size, node })
    }
}

/// What the second factor of `product` holds, where that is another type than `input`.
///
/// # Errors
/// Scales without the size of their groups, that size without scales, or another layout than wgmma takes.
pub fn weights(
    declaration: &Declaration,
    product: &Product,
    operands: &[Operand],
    (input, layout, node): (Dtype, Layout, Node),
    group: Option<Group>,
) -> Result<Option<Weights>, Complaint> {
    let dtype = |name: &str| operands.iter().find(|operand| operand.name == name).map(|operand| operand.dtype);
    let Product { a, b, scales, zeros, .. } = product;
    let scales = match (scales, group) {
        (None, None) => None,
        (Some(name), Some(group)) => {
            dtype(name).map(|dtype| Scales { group: group.size, dtype, zeros: zeros.is_some() })
        }
        (Some(name), None) => {
            let message = format!(
                "of how many numbers along K is an element of `{name}`? write `{GROUP} = 128` in the attribute's parentheses"
            );
            return Err(declaration.arguments.complain(message));
        }
        (None, Some(group)) => {
            let message = format!("no scales of groups stand in the body; write `dot({a}, ({b} * scales).t())` there");
            return Err(group.node.complain(message));
        }
    };
    let weights = dtype(b).and_then(|dtype| Weights::of(input, dtype, scales));
    match weights {
        Some(Weights { dtype, .. }) if layout != Layout::Nt => Err(node.complain(format!(
            "{}; store `{a}` as `[m, k]` and `{b}` as `[n, k]`, and write `dot({a}, {b}.t())`",
            along_k(dtype)
        ))),
        weights => Ok(weights),
    }
}
