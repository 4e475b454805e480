//! What is wrong with the body of a product that its syntax does not show.

use autokernel_core::{Dtype, Role};

use super::written::Written;
use crate::body::check::Checker;
use crate::body::{Body, Complaint, ELEMENTS, Kind, Operand, Place, Step};
use crate::expr::Expr;
use crate::matmul::inputs::{INPUTS, not_multiplied};

/// Every mistake; none in a body that can be compiled.
pub fn complaints(written: &Written) -> Vec<Complaint> {
    let body = &written.body;
    let mut checker = Checker::new(body);
    for sum in written.sums() {
        checker.bind(Place::Function, sum, true);
    }
    factors(&mut checker, written);
    batch(&mut checker, written);
    for (at, operand) in body.operands.iter().enumerate() {
        if operand.role == Role::Output && !matches!(operand.kind, Kind::Matrix | Kind::DeviceScalar) {
            let message = "a product has an element for each row and column; write a `&mut Matrix`";
            checker.complain(Place::Operand(at), message);
        }
        let is_factor = written.factors().any(|factor| factor == operand.name);
        if operand.kind == Kind::Index {
            let message =
                "an index picks rows in `#[autokernel::rows]`: gather before this kernel, or scatter behind it";
            checker.complain(Place::Operand(at), message);
        } else if !is_factor && !ELEMENTS.contains(&operand.dtype) {
            let message =
                format!("{} is a type of the factors of `dot` alone; make this bf16, f16 or f32", operand.dtype);
            checker.complain(Place::Operand(at), message);
        }
    }
    for (at, step) in body.steps.iter().enumerate() {
        self::step(&mut checker, written, at, step);
    }
    unused(&mut checker, written);
    checker.finish()
}

fn factors<'b>(checker: &mut Checker<'b>, written: &'b Written) {
    let names: Vec<&str> = written.factors().collect();
    let found: Vec<Option<(usize, Dtype)>> = names.iter().map(|name| factor(checker, &written.body, name)).collect();
    let a = names[0];
    for (b, second) in names.iter().zip(&found).skip(1) {
        match (found[0], *second) {
            (Some((at, _)), Some((other, _))) if at == other => {
                let message = format!("`{a}` is both factors of `dot`; pass it twice, under two names");
                checker.complain(Place::Operand(at), message);
            }
            (Some((_, left)), Some((at, right))) if left != right => {
                let message = format!("`{a}` holds {left} and `{b}` holds {right}; give both the same type");
                checker.complain(Place::Operand(at), message);
            }
            _ => {}
        }
    }
    if let [_, b, second] = names[..]
        && b == second
    {
        let place = found[1].map_or(Place::Function, |(at, _)| Place::Operand(at));
        checker
            .complain(place, format!("`{b}` is the second factor of both products; one `dot({a}, {b})` serves both"));
    }
}

/// Whether a launch computes many products is what a factor says, and all else follows.
fn batch(checker: &mut Checker<'_>, written: &Written) {
    let operands = &written.body.operands;
    let is_factor = |operand: &Operand| written.factors().any(|factor| factor == operand.name);
    let many = operands.iter().any(|operand| operand.batched && is_factor(operand));
    for (at, operand) in operands.iter().enumerate().filter(|(_, operand)| !is_factor(operand)) {
        let (container, one) = (operand.container(), operand.kind.name());
        if operand.batched && !many {
            let message = format!("no factor of `dot` is a `Batch`, so there is one product; write a `{one}`");
            checker.complain(Place::Operand(at), message);
        }
        if many && !operand.batched && (operand.kind, operand.role) == (Kind::Matrix, Role::Output) {
            let message = format!(
                "each product of the batch has its result, and a `{container}` holds one; write a `&mut Batch`"
            );
            checker.complain(Place::Operand(at), message);
        }
    }
}

/// The number and type of the operand called `name`, which is multiplied.
fn factor<'b>(checker: &mut Checker<'b>, body: &'b Body, name: &str) -> Option<(usize, Dtype)> {
    let found = body.operands.iter().enumerate().find(|(_, operand)| operand.name == name);
    let Some((at, Operand { kind: Kind::Matrix, role: Role::Input, dtype, .. })) = found else {
        let place = found.map_or(Place::Function, |(at, _)| Place::Operand(at));
        checker.complain(place, format!("a factor of `dot` is a matrix that is read: `{name}: &Matrix<bf16>`"));
        return None;
    };
    if !INPUTS.contains(dtype) {
        checker.complain(Place::Operand(at), not_multiplied());
    }
    Some((at, *dtype))
}

fn step<'b>(checker: &mut Checker<'b>, written: &Written, at: usize, step: &'b Step) {
    let is_factor = |name: &str| written.factors().any(|factor| factor == name);
    if let Some(factor) = step.expr().variables().into_iter().find(|name| is_factor(name)) {
        let message = format!(
            "`{factor}` is a factor of `dot`: its elements have no place in the result. To add it, pass it as another \
             operand too"
        );
        checker.complain(Place::Step(at), message);
    }
    let varies = checker.varies(at, step.expr());
    match step {
        Step::Let { name, .. } => checker.bind(Place::Step(at), name, varies),
        Step::Reduce { name, reduction, .. } => {
            let message = format!(
                "`{}` reduces a row, of which a tile of a product holds a part; it belongs in `#[autokernel::rows]`, on \
                 what this kernel writes",
                reduction.name()
            );
            checker.complain(Place::Step(at), message);
            checker.bind(Place::Step(at), name, varies);
        }
        Step::Store { output, .. } => {
            checker.store(at, output, None);
        }
    }
}

/// What is passed and not read is read by nobody: most likely it was forgotten.
fn unused(checker: &mut Checker<'_>, written: &Written) {
    let body = &written.body;
    let read = body.needed_steps().map(Step::expr).flat_map(Expr::variables);
    let used: Vec<&str> = written.factors().chain(read).collect();
    for (at, Operand { name, role, .. }) in body.operands.iter().enumerate() {
        if *role == Role::Input && !used.contains(&name.as_str()) {
            let message = format!("`{name}` is never used; use it in what is written, or remove the parameter");
            checker.complain(Place::Operand(at), message);
        }
    }
}
