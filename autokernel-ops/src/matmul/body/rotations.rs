//! What is wrong with what a product's body sees of partners, and of tables whose columns repeat.

use super::written::Written;
use crate::body::check::Checker;
use crate::body::{Columns, Fetch, Place, Step};
use crate::weights::Weights;

/// Columns of which the tensor cores leave each lane some: a half of a head has whole ones.
const FRAGMENT: u32 = 8;
/// The most columns of a tile, which has whole heads.
const WIDEST: u32 = 256;

/// Every mistake in what `written` reads elsewhere than where it writes.
pub fn check(checker: &mut Checker<'_>, written: &Written) {
    let fetches = &written.body.fetches;
    if fetches.is_empty() {
        return;
    }
    one_product(checker, written);
    tables(checker, written);
    let Some((first_at, first)) = fetches.iter().enumerate().find(|(_, fetch)| fetch.columns.are_partners()) else {
        return;
    };
    for (at, fetch) in fetches.iter().enumerate().filter(|(_, fetch)| fetch.columns.are_partners()) {
        let place = Place::Fetch(at);
        if fetch.columns != first.columns {
            checker
                .complain(place, "a kernel has one kind of partners; rotate by the other one in a kernel of its own");
        }
        if let Columns::RotateHalf(head) = fetch.columns
            && (head > WIDEST || !head.is_multiple_of(2 * FRAGMENT))
        {
            let message = format!(
                "beside a product a head has a multiple of {} columns up to {WIDEST}, and this one {head}; rotate it in \
                 `#[autokernel::rows]`",
                2 * FRAGMENT
            );
            checker.complain(place, message);
        }
        value(checker, written, place, fetch);
    }
    if written.body.steps.iter().any(|step| matches!(step, Step::Reduce { .. })) {
        let message =
            "rows are reduced of what sees no partners; reduce what this kernel writes in `#[autokernel::rows]`";
        checker.complain(Place::Fetch(first_at), message);
    }
    let dtype_of = |name: &str| written.body.operand(name).map(|operand| operand.dtype);
    let factors: Vec<_> = written.factors().filter_map(dtype_of).collect();
    if factors.iter().skip(1).any(|second| Weights::beside(factors[0]).contains(second)) {
        let message = "partners lie apart where a product's weights are whole numbers; rotate in `#[autokernel::rows]`";
        checker.complain(Place::Fetch(first_at), message);
    }
}

/// What partners see of each other is computed, for each element, from no partner.
fn value(checker: &mut Checker<'_>, written: &Written, place: Place, fetch: &Fetch) {
    let body = &written.body;
    let is_sum = written.sums().any(|sum| sum == fetch.of);
    let bound = body.steps.iter().find(|step| matches!(step, Step::Let { name, .. } if *name == fetch.of));
    let seen = |name: &str| body.fetch(name).is_some_and(|fetch| fetch.columns.are_partners());
    let Some(bound) = bound else {
        if !is_sum && body.operand(&fetch.of).is_none() {
            checker.complain(place, format!("there is no value `{}` whose elements have partners", fetch.of));
        }
        return;
    };
    let mut names = vec![bound.name()];
    for step in body.steps.iter().rev() {
        if names.contains(&step.name()) && matches!(step, Step::Let { .. }) {
            names.extend(step.expr().variables());
        }
    }
    if let Some(it) = body.in_place.iter().find(|it| names.contains(&it.before.as_str())) {
        let message = format!(
            "`{}` is read by a partner, and may be written before; pass what is read as an operand of its own",
            it.output
        );
        checker.complain(place, message);
    }
    if names.iter().any(|name| seen(name)) {
        let message =
            format!("`{}` sees partners itself; what partners see of each other is computed without", fetch.of);
        checker.complain(place, message);
    }
    let differs = |name: &&str| {
        written.sums().any(|sum| sum == *name)
            || body.operand(name).is_some_and(|operand| operand.kind.varies_along_row())
            || body.fetch(name).is_some()
    };
    let has_column =
        body.steps.iter().any(|step| names.contains(&step.name()) && step.expr().has_index(crate::expr::Axis::Column));
    if !names.iter().any(differs) && !has_column {
        checker.complain(place, format!("`{}` is one number a row, which is its own partner", fetch.of));
    }
}

/// Tables are no factors, nor scales of these.
fn tables(checker: &mut Checker<'_>, written: &Written) {
    let is_factor = |name: &str| written.factors().chain(written.all_scales()).any(|factor| factor == name);
    for (at, Fetch { of, columns, .. }) in written.body.fetches.iter().enumerate() {
        if *columns == Columns::Repeat && is_factor(of) {
            checker.complain(Place::Fetch(at), format!("`{of}` is a factor of `dot`; pass it twice, under two names"));
        }
    }
}

fn one_product(checker: &mut Checker<'_>, written: &Written) {
    if written.is_of_many() {
        let message = "elements elsewhere are those of one product, and there are many here; read them in `#[autokernel::rows]`, \
                       on what this kernel writes";
        checker.complain(Place::Fetch(0), message);
    }
}
