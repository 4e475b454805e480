//! What is wrong with the body of a row-wise kernel that its syntax does not show.

use autokernel_core::Role;

use crate::body::check::{ALL_ROWS, Checker};
use crate::body::{Body, Complaint, ELEMENTS, Kind, NARROW, Operand, Place, Rotated, Step};

/// Every mistake in `body`; none in one that can be compiled.
pub fn complaints(body: &Body) -> Vec<Complaint> {
    let mut checker = Checker::new(body, Rotated::Operands);
    operands(&mut checker, body);
    for (at, step) in body.steps.iter().enumerate() {
        self::step(&mut checker, at, step);
    }
    by_columns(&mut checker, body);
    checker.finish()
}

/// What reduces along columns goes another way over the matrix than what does so along rows.
fn by_columns(checker: &mut Checker<'_>, body: &Body) {
    if !body.is_by_columns() {
        return;
    }
    for (at, step) in body.steps.iter().enumerate() {
        let is_apart = match step {
            Step::Let { .. } | Step::Store { fold: Some(_), .. } => true,
            Step::Store { fold: None, .. } | Step::Reduce { .. } => false,
        };
        if !is_apart {
            let message = "a kernel that reduces along columns does nothing else; write this in a kernel of its own, and pass \
                           what it gives as an operand";
            checker.complain(Place::Step(at), message);
        }
    }
    if !body.fetches.is_empty() {
        let message = "a kernel that reduces along columns reads each element in its place; gather, or rotate, in a kernel of \
                       its own";
        checker.complain(Place::Fetch(0), message);
    }
}

fn operands(checker: &mut Checker<'_>, body: &Body) {
    for (at, operand) in body.operands.iter().enumerate() {
        let is_folded = body.fold_of(&operand.name).is_some();
        if (operand.kind, operand.role) == (Kind::Row, Role::Output) && !is_folded {
            let message = "a `Row` has one element a column, so every row would write it; write a `&mut Matrix`, or \
                           reduce along the row into a `&mut Column`, or along columns: `out = column_sum(…);`";
            checker.complain(Place::Operand(at), message);
        }
        if operand.batched {
            let message = format!(
                "a row-wise kernel takes no `{}`; pass a `{}`, for all matrices of a `Batch` its `as_matrix()`",
                operand.container(),
                operand.kind.name()
            );
            checker.complain(Place::Operand(at), message);
        }
        let is_narrow = NARROW.contains(&operand.dtype) && operand.role == Role::Output;
        if is_narrow && (operand.kind != Kind::Matrix || body.has_own_axis(&operand.name)) {
            let message = format!(
                "{} is written to a `&mut Matrix`, row by row as they are read; make this bf16, f16 or f32",
                operand.dtype
            );
            checker.complain(Place::Operand(at), message);
        } else if operand.kind != Kind::Index && !is_narrow && !ELEMENTS.contains(&operand.dtype) {
            let message = format!(
                "row-wise kernels read bf16, f16 and f32, and write e4m3, e5m2 and i8 too; convert this operand, or multiply matrices of \
                 {} in `#[autokernel::fused_matmul]`",
                operand.dtype
            );
            checker.complain(Place::Operand(at), message);
        }
    }
    let says_columns = |operand: &Operand| operand.kind == Kind::Matrix && !body.is_repeated(&operand.name);
    if !body.operands.iter().any(says_columns) {
        let message = "one operand must be a `Matrix`, whose columns do not repeat: it says how long the rows are";
        checker.complain(Place::Function, message);
    }
}

fn step<'b>(checker: &mut Checker<'b>, at: usize, step: &'b Step) {
    let varies = checker.varies(at, step.expr());
    match step {
        Step::Let { name, .. } => checker.bind(Place::Step(at), name, varies),
        Step::Reduce { name, reduction, .. } => {
            if !varies {
                let reduction = reduction.name();
                let message = format!(
                    "`{reduction}` is given one number a row, which does not vary along it; use the number itself"
                );
                checker.complain(Place::Step(at), message);
            }
            checker.bind(Place::Step(at), name, false);
        }
        Step::Store { output, row, fold: Some(fold), .. } => {
            let stored = checker.store(at, output, row.as_deref());
            let (name, is_row) = (fold.column_name(), stored.is_none_or(|operand| operand.kind == Kind::Row));
            if stored.is_some_and(|operand| operand.kind == Kind::DeviceScalar) {
                let message = format!(
                    "`{name}` gives one number a column here, and only beside a product one of all rows; {ALL_ROWS}"
                );
                checker.complain(Place::Step(at), message);
            } else if !is_row || row.is_some() {
                checker.complain(
                    Place::Step(at),
                    format!("`{name}` gives one number a column; make `{output}` a `&mut Row`"),
                );
            } else if !varies {
                let message =
                    format!("`{name}` is given one number a row, which every column would repeat; {ALL_ROWS}");
                checker.complain(Place::Step(at), message);
            }
        }
        Step::Store { output, row, .. } => {
            let stored = checker.store(at, output, row.as_deref());
            if varies && stored.is_some_and(|operand| operand.kind == Kind::Column) {
                let message = format!(
                    "`{output}` has one element a row, and this value varies along it; reduce it (`row_sum`, \
                     `row_mean`, `row_max`, `row_min`) or make `{output}` a `&mut Matrix`"
                );
                checker.complain(Place::Step(at), message);
            }
        }
    }
}

#[cfg(test)]
#[path = "complaint_tests.rs"]
mod tests;
