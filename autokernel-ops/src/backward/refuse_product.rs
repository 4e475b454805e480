//! What of a product's body has no gradient, and what can be done instead.

use autokernel_core::Dtype;

use super::refuse::clash;
use crate::body::{Complaint, Kind, Operand, Place, Step};
use crate::matmul::body::Written;

/// What factors are whose product has gradients: those products are of the same types.
const FACTORS: [Dtype; 2] = [Dtype::Bf16, Dtype::F16];

/// What other kernels of gradients are called behind `backward_`.
const KERNELS: [&str; 2] = ["fused", "rows"];

/// What keeps the body of a product from having gradients; what rows do not have either is told elsewhere.
pub fn complaints(written: &Written) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = products(written);
    complaints.extend(many(written));
    complaints.extend(written.body.operands.iter().enumerate().filter_map(|(at, it)| operand(written, at, it)));
    complaints.extend(written.body.fetches.iter().enumerate().filter(|(_, fetch)| fetch.columns.are_partners()).map(
        |(at, fetch)| {
            let message = format!(
                "the gradient of `{}` goes to partners in other columns; write the product alone here, and rotate in \
                 `#[autokernel::rows]`, whose gradient is the rotation back: the same with `-sines`",
                fetch.of
            );
            Complaint::new(Place::Fetch(at), message)
        },
    ));
    complaints.extend(written.body.steps.iter().enumerate().filter_map(|(at, step)| statistic(written, at, step)));
    complaints
}

fn products(written: &Written) -> Vec<Complaint> {
    let factors: Vec<&str> = written.factors().collect();
    let [a, b] = [factors[0], factors[1]];
    let place = |name: &str| {
        let at = written.body.operands.iter().position(|operand| operand.name == name);
        at.map_or(Place::Function, Place::Operand)
    };
    if let Some(rows) = &written.product.rows {
        let message = format!(
            "`{rows}` picks rows of `{a}`, where gradients of several rows may meet; gather in `#[autokernel::rows]`, `gathered = {a}[{rows}];`, \
             and multiply that here"
        );
        return vec![Complaint::new(place(rows), message)];
    }
    if let Some(second) = &written.second {
        let b = &second.b;
        let message = format!(
            "the gradient of `{a}` is a sum of two products here, and a kernel has one; declare each product by itself, write what \
             joins them in `#[autokernel::rows(backward)]`, and add both products' gradients of `{a}`"
        );
        return vec![Complaint::new(place(b), message)];
    }
    if let Some(scales) = written.all_scales().next() {
        let message = format!(
            "`{b}` is scaled along K by `{scales}`, and such weights are not trained; write `dx = dot(dy, …)` of weights of 16 bits"
        );
        return vec![Complaint::new(place(b), message)];
    }
    let is_trained = |name: &&str| written.body.operand(name).is_none_or(|it| FACTORS.contains(&it.dtype));
    let other = [a, b].into_iter().find(|name| !is_trained(name));
    let told = other.map(|name| {
        let dtype = written.body.operand(name).map(|operand| operand.dtype.to_string()).unwrap_or_default();
        let message =
            format!("`{name}` holds {dtype}, and gradients are of products of bf16 or f16; write one of these");
        Complaint::new(place(name), message)
    });
    told.into_iter().collect()
}

/// Of a batch or groups, at what says so first.
fn many(written: &Written) -> Option<Complaint> {
    let operands = &written.body.operands;
    let sizes = written.sizes().next().map(|(number, _)| usize::from(number));
    let at = (0..operands.len()).find(|at| operands[*at].batched || sizes == Some(*at))?;
    let message = format!(
        "`{}` is of many products, whose gradients are not derived; write them, as in `dw = dot(x.t(), dy);` with the same `Index` \
         for groups",
        operands[at].name
    );
    Some(Complaint::new(Place::Operand(at), message))
}

fn operand(written: &Written, at: usize, operand: &Operand) -> Option<Complaint> {
    let name = &operand.name;
    let is_factor = written.factors().any(|factor| factor == name);
    if is_factor && KERNELS.contains(&name.as_str()) {
        let message = format!("`backward_{name}` is the name of another kernel here; give `{name}` another name");
        return Some(Complaint::new(Place::Operand(at), message));
    }
    is_factor.then(|| clash(&written.body, at)).flatten()
}

/// A number of each row that is reduced of what the kernel writes.
fn statistic(written: &Written, at: usize, step: &Step) -> Option<Complaint> {
    let Step::Store { output, .. } = step else { return None };
    let is_of_rows = |operand: &&Operand| matches!(operand.kind, Kind::Column | Kind::DeviceScalar);
    let operand = written.body.operand(output).filter(is_of_rows)?;
    let message = format!(
        "`{}` is reduced along rows, whose gradients need the whole row first; write it in `#[autokernel::rows(backward)]`, on what \
         this kernel writes",
        operand.name
    );
    Some(Complaint::new(Place::Step(at), message))
}

/// Of a product with which no output changes.
pub fn without_influence(written: &Written) -> Complaint {
    let (a, b) = (&written.product.a, &written.product.b);
    let message =
        format!("no output changes with `dot` of `{a}` and `{b}`, so that all gradients are 0; leave `backward` out");
    Complaint::new(Place::Function, message)
}
