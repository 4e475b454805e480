//! What a declaration of packing says.

use autokernel_core::Dtype;

use super::problem::Problem;
use crate::declaration::operands::element_type;
use crate::declaration::{Attribute, Complaint, Declaration, Form, Given, Parameter, Setting, TensorParameter, both};
use crate::weights::{GROUP, GROUPS, SCALES, ZERO};

/// The attribute.
pub const ATTRIBUTE: Attribute = Attribute {
    name: "packing",
    example: "#[autokernel::packing(group = 128)] \
              fn pack(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f32>);",
    form: Form::Bodyless,
    names: &[],
};

/// What the parameters look like, for messages.
const FORM: &str = "packing takes `w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f32>`, where groups have zero points \
     `zeros: &mut Matrix<i8>` too, and without `group` scales of rows, `scales: &mut Row<f32>`";

/// What weights may be.
const WEIGHTS: [Dtype; 3] = [Dtype::Bf16, Dtype::F16, Dtype::F32];
/// What they may become.
const NUMBERS: [Dtype; 2] = [Dtype::I8, Dtype::I4x2];

/// The problem that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let group = group(declaration).map_err(|complaint| vec![complaint]);
    let (group, operands) = both(group, operands(declaration))?;
    let Operands { w, packed, scales, zeros } = operands;
    let wanted = if group.is_some() { "Matrix" } else { "Row" };
    let lies_as_groups_do = |operand: &TensorParameter, what: &str| {
        let refused = || match group {
            Some(_) => format!("{what} of groups are `[k / group, n]`: write `&mut Matrix<…>`"),
            None => format!(
                "{what} of rows are `[n]`: write `&mut Row<…>`, or say of how many numbers a group is: `group = 128`"
            ),
        };
        if operand.container == wanted { Ok(()) } else { Err(operand.ty.complain(refused())) }
    };
    let mut complaints: Vec<Complaint> = lies_as_groups_do(scales.0, "scales").err().into_iter().collect();
    if let Some((zeros, _)) = zeros {
        complaints.extend(match (group, packed.1) {
            (None, _) => Some(zeros.node.complain("zero points are of groups: say of how many numbers, `group = 128`")),
            (Some(_), Dtype::I8) => Some(
                zeros
                    .node
                    .complain("zero points are of `i4x2`: numbers of 8 bits are symmetric about 0, so leave them out"),
            ),
            (Some(_), _) => lies_as_groups_do(zeros, "zero points").err(),
        });
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    Ok(Problem { dtype: w.1, packed: packed.1, group, scales: scales.1, zeros: zeros.is_some() })
}

/// What stands in the attribute's parentheses.
fn group(declaration: &Declaration) -> Result<Option<u32>, Complaint> {
    let mut group = None;
    for Setting { name, node, given } in &declaration.settings {
        let Given::Value(value) = given else { return Err(node.complain(SETTINGS)) };
        if name != GROUP {
            return Err(node.complain(SETTINGS));
        }
        let size = value.dimension()?;
        if !GROUPS.contains(&size) {
            return Err(value
                .node
                .complain(format!("a group is of 32, 64 or 128 numbers, not {size}, as products take them")));
        }
        if group.replace(size).is_some() {
            return Err(node.complain("`group` is given twice; remove one"));
        }
    }
    Ok(group)
}

const SETTINGS: &str =
    "the one setting of packing is `group = 128`, of how many numbers along K a scale is; without it of a row";

/// The parameters, each with the type of its elements.
struct Operands<'d> {
    w: (&'d TensorParameter, Dtype),
    packed: (&'d TensorParameter, Dtype),
    scales: (&'d TensorParameter, Dtype),
    zeros: Option<(&'d TensorParameter, Dtype)>,
}

fn operands(declaration: &Declaration) -> Result<Operands<'_>, Vec<Complaint>> {
    let refused = || vec![declaration.parameter_list.complain(FORM)];
    let (w, packed, scales, zeros) = match &declaration.parameters[..] {
        [Parameter::Tensor(w), Parameter::Tensor(packed), Parameter::Tensor(scales)] => (w, packed, scales, None),
        [Parameter::Tensor(w), Parameter::Tensor(packed), Parameter::Tensor(scales), Parameter::Tensor(zeros)] => {
            (w, packed, scales, Some(zeros))
        }
        _ => return Err(refused()),
    };
    let is_matrix = |tensor: &TensorParameter| tensor.container == "Matrix";
    let is_vector_or_matrix = |tensor: &TensorParameter| is_matrix(tensor) || tensor.container == "Row";
    let written = [Some(packed), Some(scales), zeros].into_iter().flatten().all(|tensor| tensor.mutable);
    if w.mutable || !written || !is_matrix(w) || !is_matrix(packed) {
        return Err(refused());
    }
    if ![Some(scales), zeros].into_iter().flatten().all(is_vector_or_matrix) {
        return Err(refused());
    }
    let typed = |tensor: &TensorParameter, all: &[Dtype], what: &str| {
        let dtype = element_type(&tensor.element, tensor.element_node)?;
        let complaint = || tensor.element_node.complain(format!("{what}, not {dtype}"));
        if all.contains(&dtype) { Ok(dtype) } else { Err(complaint()) }
    };
    let one = |complaint| vec![complaint];
    let of_w = typed(w, &WEIGHTS, "weights are packed from bf16, f16 or f32").map_err(one);
    let of_packed = typed(packed, &NUMBERS, "weights become i8, or i4x2 of 4 bits").map_err(one);
    let of_scales = typed(scales, &SCALES, "scales are bf16, f16 or f32").map_err(one);
    let of_zeros =
        zeros.map(|zeros| Ok((zeros, typed(zeros, &[ZERO], "zero points are i8").map_err(one)?))).transpose();
    let (((of_w, of_packed), of_scales), zeros) = both(both(both(of_w, of_packed), of_scales), of_zeros)?;
    Ok(Operands { w: (w, of_w), packed: (packed, of_packed), scales: (scales, of_scales), zeros })
}
