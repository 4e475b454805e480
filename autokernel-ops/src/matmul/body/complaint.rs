//! What is wrong with the body of a product that its syntax does not show.

use autokernel_core::{Dtype, Role};

use super::behind::behind_reductions;
use super::class::BodyClass;
use super::written::Written;
use super::{gathered, joined, made_scales, rotations, scales, zeros};
use crate::body::check::Checker;
use crate::body::{Body, Complaint, ELEMENTS, InPlace, Kind, NARROW, Operand, Place, Reduction, Rotated, Step};
use crate::expr::Axis;
use crate::matmul::inputs::{INPUTS, in_words, not_multiplied, other};
use crate::matmul::many::Many;
use crate::weights::Weights;

/// Every mistake; none in a body that can be compiled.
pub fn complaints(written: &Written) -> Vec<Complaint> {
    let body = &written.body;
    let mut checker = Checker::new(body, Rotated::Values);
    for sum in written.sums() {
        checker.bind(Place::Function, sum, true);
    }
    factors(&mut checker, written);
    scales::check(&mut checker, written);
    zeros::check(&mut checker, written);
    batch(&mut checker, written);
    gathered::check(&mut checker, written);
    for (at, operand) in body.operands.iter().enumerate() {
        if (operand.role, operand.kind) == (Role::Output, Kind::Row) {
            let message = "a product has an element for each row and column; write a `&mut Matrix`, and reduce its columns in \
                           `#[autokernel::rows]`: `out = column_sum(…);`";
            checker.complain(Place::Operand(at), message);
        }
        let is_factor = written.factors().any(|factor| factor == operand.name);
        let is_narrow = NARROW.contains(&operand.dtype) && (operand.kind, operand.role) == (Kind::Matrix, Role::Output);
        let is_zeros = written.zeros().any(|zeros| zeros == operand.name);
        if operand.kind != Kind::Index && !is_factor && !is_zeros && !is_narrow && !ELEMENTS.contains(&operand.dtype) {
            let message = if NARROW.contains(&operand.dtype) {
                format!(
                    "{} is a type of the factors of `dot` and of a `&mut Matrix` that is written; make this bf16, f16 or f32",
                    operand.dtype
                )
            } else {
                format!("{} is a type of the factors of `dot` alone; make this bf16, f16 or f32", operand.dtype)
            };
            checker.complain(Place::Operand(at), message);
        }
    }
    let joins = joined::joins(body);
    let of_terms = joined::names_of_terms(body, &joins);
    let may_be_late = |step: &Step| joins.iter().any(|join| join.sum == step.name()) || of_terms.contains(step.name());
    for (at, step) in body.steps.iter().enumerate() {
        self::step(&mut checker, written, at, (step, may_be_late(step)));
    }
    made_scales::check(&mut checker, written);
    in_place(&mut checker, written);
    statistics(&mut checker, written);
    rotations::check(&mut checker, written);
    unused(&mut checker, written);
    checker.finish()
}

/// All of a factor is read for each element.
fn in_place(checker: &mut Checker<'_>, written: &Written) {
    let body = &written.body;
    for InPlace { output, before } in &body.in_place {
        if written.factors().chain(written.all_scales()).any(|multiplied| multiplied == before) {
            let at = body.operands.iter().position(|operand| operand.name == *output);
            let message = format!(
                "`{output}` is written, and in a factor of `dot`, which every tile reads; write to an output of its own"
            );
            checker.complain(at.map_or(Place::Function, Place::Operand), message);
        }
    }
}

/// What one number a row asks for: one product.
fn statistics(checker: &mut Checker<'_>, written: &Written) {
    let operands = &written.body.operands;
    let is_of_rows = |it: &Operand| it.role == Role::Output && matches!(it.kind, Kind::Column | Kind::DeviceScalar);
    let Some((at, of_rows)) = operands.iter().enumerate().find(|(_, operand)| is_of_rows(operand)) else { return };
    if written.is_of_many() {
        let message = format!(
            "`{}` is reduced of one product, and there are many here; reduce what this kernel writes in `#[autokernel::rows]`",
            of_rows.name
        );
        checker.complain(Place::Operand(at), message);
    }
}

fn factors<'b>(checker: &mut Checker<'b>, written: &'b Written) {
    let names: Vec<&str> = written.factors().collect();
    let found: Vec<Option<(usize, Dtype)>> =
        names.iter().enumerate().map(|(at, name)| factor(checker, &written.body, name, at > 0)).collect();
    let a = names[0];
    for (b, second) in names.iter().zip(&found).skip(1) {
        match (found[0], *second) {
            (Some((at, _)), Some((other, _))) if at == other => {
                let message = format!("`{a}` is both factors of `dot`; pass it twice, under two names");
                checker.complain(Place::Operand(at), message);
            }
            (Some((_, left)), Some((at, right))) if left != right && seconds(left).all(|dtype| dtype != right) => {
                let message = format!("`{a}` holds {left} and `{b}` holds {right}; {}", may_stand_beside(left));
                checker.complain(Place::Operand(at), message);
            }
            _ => {}
        }
    }
    if let ([_, b, second], [_, Some((_, left)), Some((at, right))]) = (&names[..], &found[..])
        && left != right
        && found[0].is_some_and(|(_, input)| seconds(input).any(|dtype| [*left, *right].contains(&dtype)))
    {
        let message = format!("`{b}` holds {left} and `{second}` holds {right}; give both the same type");
        checker.complain(Place::Operand(*at), message);
    }
    if let [_, b, second] = names[..]
        && b == second
    {
        let place = found[1].map_or(Place::Function, |(at, _)| Place::Operand(at));
        checker
            .complain(place, format!("`{b}` is the second factor of both products; one `dot({a}, {b})` serves both"));
    }
}

/// The types that a second factor may have beside a first one of such elements, its own apart.
fn seconds(input: Dtype) -> impl Iterator<Item = Dtype> {
    Weights::beside(input).iter().copied().chain(other(input))
}

/// What a second factor may be beside a first one of such elements.
pub fn may_stand_beside(input: Dtype) -> String {
    match &seconds(input).collect::<Vec<_>>()[..] {
        [] => "give both the same type".to_owned(),
        others => format!("give both the same type, or the second {}", in_words(others)),
    }
}

/// Whether a launch computes many products is what a factor says, and all else follows; with an index, which rows belong to which.
fn batch(checker: &mut Checker<'_>, written: &Written) {
    let operands = &written.body.operands;
    let factors: Vec<&str> = written.factors().collect();
    let is_factor = |operand: &Operand| factors.contains(&operand.name.as_str());
    let is_table = |operand: &Operand| written.all_scales().any(|scales| scales == operand.name);
    let has_batch = operands.iter().any(|operand| operand.batched && is_factor(operand));
    let many = BodyClass::of(written).many();
    for (at, operand) in operands.iter().enumerate() {
        let (container, one) = (operand.container(), operand.kind.name());
        let is_output = (operand.kind, operand.role) == (Kind::Matrix, Role::Output);
        let is_first = operand.name == factors[0];
        let message = match (many, operand.batched) {
            (Many::Groups, false) if is_factor(operand) && !is_first => format!(
                "with an `Index` each group of rows has its own `{}`; write a `Batch`, of a matrix for each group",
                operand.name
            ),
            (Many::Groups, true)
                if !is_factor(operand)
                    && !is_table(operand)
                    && !matches!(operand.kind, Kind::Row | Kind::DeviceScalar) =>
            {
                format!(
                    "rows of all groups lie in one matrix: write a `{one}`, which has them all, not a `{container}`"
                )
            }
            (Many::GroupsAlongK, true) if is_factor(operand) => format!(
                "an `Index` divides the rows of `{}`, which are summed: those of all groups lie in one matrix; write a `{one}`, \
                 not a `{container}`",
                operand.name
            ),
            (Many::GroupsAlongK, false) if is_output => {
                format!("each group has its result, and a `{container}` holds one; write a `&mut Batch`")
            }
            (Many::Batch, true) if !is_factor(operand) && !has_batch => {
                format!("no factor of `dot` is a `Batch`, so there is one product; write a `{one}`")
            }
            (Many::Batch | Many::Masked, false) if has_batch && is_output => {
                format!("each product of the batch has its result, and a `{container}` holds one; write a `&mut Batch`")
            }
            _ => continue,
        };
        checker.complain(Place::Operand(at), message);
    }
    for (at, _) in written.sizes().skip(1) {
        checker
            .complain(Place::Operand(at.into()), "one `Index` says which rows are of which product; remove the other");
    }
}

/// The number and type of the operand called `name`, which is multiplied.
fn factor<'b>(checker: &mut Checker<'b>, body: &'b Body, name: &str, is_second: bool) -> Option<(usize, Dtype)> {
    let found = body.operands.iter().enumerate().find(|(_, operand)| operand.name == name);
    let Some((at, Operand { kind: Kind::Matrix, role: Role::Input, dtype, .. })) = found else {
        let place = found.map_or(Place::Function, |(at, _)| Place::Operand(at));
        checker.complain(place, format!("a factor of `dot` is a matrix that is read: `{name}: &Matrix<bf16>`"));
        return None;
    };
    let is_weights = is_second && *dtype == Dtype::I4x2;
    if !INPUTS.contains(dtype) && !is_weights {
        checker.complain(Place::Operand(at), not_multiplied());
    }
    Some((at, *dtype))
}

/// A step, and whether it may need a reduction though it is of an element: as the term of a sum that is joined with that.
fn step<'b>(checker: &mut Checker<'b>, written: &Written, at: usize, (step, may_be_late): (&'b Step, bool)) {
    let is_factor = |name: &str| written.factors().chain(written.all_scales()).any(|factor| factor == name);
    if let Some(factor) = step.expr().variables().into_iter().find(|name| is_factor(name)) {
        let message = format!(
            "`{factor}` is a factor of `dot`: its elements have no place in the result. To add it, pass it as another \
             operand too"
        );
        checker.complain(Place::Step(at), message);
    }
    if let Some(message) = of_an_index(written, step).or_else(|| of_rows_of_groups(written, step)) {
        checker.complain(Place::Step(at), message);
    }
    let varies = checker.varies(at, step.expr());
    let behind = behind_reductions(&written.body);
    let is_behind = step.expr().variables().iter().any(|name| behind.contains(name));
    match step {
        Step::Let { name, .. } => {
            if is_behind && varies && !may_be_late {
                checker.complain(Place::Step(at), LATE);
            }
            checker.bind(Place::Step(at), name, varies);
        }
        Step::Reduce { name, .. } => {
            if is_behind && !may_be_late {
                checker.complain(Place::Step(at), LATE);
            }
            checker.bind(Place::Step(at), name, false);
        }
        Step::Store { output, fold, .. } => {
            let kind = checker.store(at, output, None).map(|operand| operand.kind);
            if let Some(fold) = fold {
                self::fold(checker, at, (*fold, output, kind), varies);
            }
            if kind == Some(Kind::Matrix) && is_behind {
                checker.complain(Place::Step(at), LATE);
            }
            if kind == Some(Kind::Column) && varies {
                let message = format!(
                    "`{output}` has one number for each row, and this has one for each element; reduce it, `{output} = \
                     row_sum(…);`, or write a `&mut Matrix`"
                );
                checker.complain(Place::Step(at), message);
            } else if matches!(kind, Some(Kind::Column | Kind::DeviceScalar)) && !varies && !reduces(&written.body) {
                let of_each = if kind == Some(Kind::Column) { "has" } else { "is made of" };
                let message = format!(
                    "`{output}` {of_each} one number for each row, and nothing that is written is reduced along rows; compute it in \
                     `#[autokernel::rows]`"
                );
                checker.complain(Place::Step(at), message);
            }
        }
    }
}

/// What is said of elements that would be made of whole numbers which say which rows are of which product.
fn of_an_index(written: &Written, step: &Step) -> Option<String> {
    let is_index = |name: &&str| written.body.operand(name).is_some_and(|operand| operand.kind == Kind::Index);
    let index = step.expr().variables().into_iter().find(is_index)?;
    let (what, element) = match BodyClass::of(written).many() {
        _ if written.product.rows.as_deref() == Some(index) => {
            ("which rows are multiplied", "numbers of rows as a `Column`")
        }
        Many::Masked => ("how many rows of each product count", "numbers of its rows as a `ColumnBatch`"),
        Many::GroupsAlongK => ("where groups along k begin", "numbers of rows as a `Column`"),
        _ => ("where groups of rows begin", "numbers of rows as a `Column`"),
    };
    Some(format!("`{index}` is an `Index`, which says {what} and is no number of an element; pass {element} too"))
}

/// What is said of the number of rows where an index says how many there are of each product.
fn of_rows_of_groups(written: &Written, step: &Step) -> Option<String> {
    let (_, index) = written.sizes().next()?;
    step.expr().has_extent(Axis::Row).then(|| {
        format!(
            "`{}` says which rows are of which product, so that `rows()` is none of them; pass the number as an `f32`",
            index.name
        )
    })
}

/// What one number of each row comes to goes into a number of its own. Of a `Row` more is said where it is declared.
fn fold(checker: &mut Checker<'_>, at: usize, (fold, output, kind): (Reduction, &str, Option<Kind>), varies: bool) {
    let name = fold.column_name();
    if matches!(kind, Some(Kind::Matrix | Kind::Column)) {
        let message = format!(
            "`{name}` of what a product's rows come to is one number; make `{output}` a `&mut Scalar<f32>`, and reduce columns in \
             `#[autokernel::rows]`"
        );
        checker.complain(Place::Step(at), message);
    } else if varies && kind == Some(Kind::DeviceScalar) {
        let of_row = fold.name();
        let message = format!(
            "beside a product `{name}` takes one number of each row, and this has one for each element; reduce rows first: `{output} = \
             {name}({of_row}(…));`"
        );
        checker.complain(Place::Step(at), message);
    }
}

/// Whether something that is written is reduced along rows.
fn reduces(body: &Body) -> bool {
    body.needed_steps().any(|step| matches!(step, Step::Reduce { .. }))
}

/// What an element cannot be made of.
const LATE: &str = "a reduction along rows is known behind a row's last column, when its elements are written: it goes into a `&mut \
                    Column`, and what elements are made of with it belongs in `#[autokernel::rows]`, on what this kernel writes";

/// What is passed and not read is read by nobody: most likely it was forgotten.
fn unused(checker: &mut Checker<'_>, written: &Written) {
    let body = &written.body;
    let read = body.needed_steps().map(Step::expr).flat_map(|expr| body.names_in(expr));
    let picks = written.product.rows.as_deref();
    let used: Vec<&str> = written.factors().chain(written.all_scales()).chain(picks).chain(read).collect();
    for (at, Operand { name, role, kind, .. }) in body.operands.iter().enumerate() {
        if *role == Role::Input && *kind != Kind::Index && !used.contains(&name.as_str()) {
            let message = format!("`{name}` is never used; use it in what is written, or remove the parameter");
            checker.complain(Place::Operand(at), message);
        }
    }
}
