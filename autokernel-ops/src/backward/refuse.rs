//! What has no gradient, and what can be done instead.

use autokernel_core::Role;

use super::names::name_of;
use crate::body::{Body, Complaint, Fetch, Kind, NARROW, Operand, Place, Reduction, Step};

/// The only word of bodies that begins as names of gradients do.
pub(super) const PRODUCT: &str = "dot";

/// What keeps the operands of those numbers from having gradients.
pub fn complaints(body: &Body, wanted: &[usize]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if wanted.is_empty() {
        let message = "nothing that is read here has a gradient: it is a `Matrix`'s, a `Row`'s or a `Column`'s; leave `backward` out";
        complaints.push(complain(Place::Function, message));
    }
    for &at in wanted {
        complaints.extend(operand(body, at));
    }
    complaints.extend(body.steps.iter().enumerate().filter_map(|(at, step)| store(at, step)));
    complaints.extend(outputs(body));
    complaints
}

fn complain(place: Place, message: impl Into<String>) -> Complaint {
    Complaint::new(place, message)
}

fn operand(body: &Body, at: usize) -> Option<Complaint> {
    let operand = &body.operands[at];
    let name = &operand.name;
    let of_kind = match (operand.role, operand.kind) {
        (Role::Output, _) => Some(format!(
            "`{name}` is written; its gradient is what the kernel is given, and `backward(…)` names what is read"
        )),
        (_, Kind::Matrix | Kind::Row | Kind::Column) => None,
        (_, Kind::Index) => Some(format!("`{name}` is an `Index`, whose numbers have no gradient; leave it out")),
        (_, Kind::Scalar | Kind::DeviceScalar) => Some(format!(
            "`{name}` is one number, whose gradient is a sum over rows and columns; pass a `Column` of as many equal numbers, and sum \
             its gradient"
        )),
    };
    if let Some(message) = of_kind {
        return Some(complain(Place::Operand(at), message));
    }
    let fetch = body.fetches.iter().position(|fetch| fetch.of == *name);
    let fetched = fetch.map(|at| {
        let message = format!(
            "elements of `{name}` go to other rows or columns here, to which a kernel of rows writes nothing; leave `{name}` out of \
             the operands that `backward(…)` names, and write its gradient as a kernel of its own"
        );
        complain(Place::Fetch(at), message)
    });
    fetched.or_else(|| clash(body, at))
}

/// Where the operand's gradient is called as something else is.
pub(super) fn clash(body: &Body, at: usize) -> Option<Complaint> {
    let (name, gradient) = (&body.operands[at].name, name_of(&body.operands[at]));
    let message = if gradient == PRODUCT {
        format!("the gradient of `{name}` is called `{gradient}`, a word of bodies; give `{name}` another name")
    } else if body.operands.iter().any(|other| other.name == gradient) {
        format!("the gradient of `{name}` is called `{gradient}`, as another operand is; give that one another name")
    } else {
        return None;
    };
    Some(complain(Place::Operand(at), message))
}

fn store(at: usize, step: &Step) -> Option<Complaint> {
    let message = match step {
        Step::Store { row: Some(index), output, .. } => format!(
            "rows of `{output}` are picked by `{index}`, which may leave some out, or write one twice; write this in a kernel of its \
             own, and gather in its backward pass: `d = d{output}[{index}];`"
        ),
        Step::Store { fold: Some(fold @ (Reduction::Mean | Reduction::Max | Reduction::Min)), .. } => {
            let name = fold.column_name();
            format!(
                "`{name}` has no gradient here, as a kernel of rows knows neither how many rows there are nor which one is it; \
                 take `column_sum`, or write the gradient as a kernel of its own"
            )
        }
        _ => return None,
    };
    Some(complain(Place::Step(at), message))
}

fn outputs(body: &Body) -> Vec<Complaint> {
    let outputs = body.operands.iter().enumerate().filter(|(_, operand)| operand.role == Role::Output);
    let complaint = |(at, operand): (usize, &Operand)| {
        if NARROW.contains(&operand.dtype) {
            let message = format!(
                "`{}` is {}, and a gradient of that type is none; write bf16, f16 or f32, and quantise in a kernel of its own",
                operand.name, operand.dtype
            );
            return Some(complain(Place::Operand(at), message));
        }
        clash(body, at)
    };
    outputs.filter_map(complaint).collect()
}

/// Of an operand with which nothing changes.
pub fn without_influence(at: usize, operand: &Operand) -> Complaint {
    let name = &operand.name;
    let message = format!(
        "no output changes with `{name}`, so that its gradient is 0 everywhere; name the others alone, as in `backward(x)`, or use it"
    );
    complain(Place::Operand(at), message)
}

/// Of a row whose gradient is one number.
pub fn same_in_each_column(at: usize, operand: &Operand) -> Complaint {
    let name = &operand.name;
    let message = format!(
        "the gradient of `{name}` is the same in each of its columns: what is made of it is summed along the row, and of nothing \
         else; name the others alone, as in `backward(x)`"
    );
    complain(Place::Operand(at), message)
}

/// Of a row whose gradient needs elements of other rows or columns.
pub fn fetched_by_columns(body: &Body, fetch: &Fetch) -> Complaint {
    let at = body.fetches.iter().position(|other| other == fetch).unwrap_or(0);
    let message = "the gradient of a `Row` is a sum along columns, which reads each element in its place; name the others alone, \
                   as in `backward(x)`, or gather in a kernel of its own";
    complain(Place::Fetch(at), message)
}
