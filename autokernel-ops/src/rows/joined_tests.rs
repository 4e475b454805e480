use autokernel_core::Dtype;

use super::*;
use crate::body::{Body, Kind, Step};
use crate::expr::{Expr, Math};
use crate::rows::cases::{bind, call, name, reads, reduce, softmax, store, writes};
use crate::rows::lower::lower;

fn find(steps: Vec<Step>) -> Option<Join> {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        writes("out", Kind::Matrix, Dtype::Bf16),
        writes("of_row", Kind::Column, Dtype::F32),
    ];
    Join::find(&lower(&Body { operands, steps, ..Body::default() }))
}

fn max() -> Step {
    reduce("max", Reduction::Max, name("x"))
}

fn exp(of: Expr) -> Expr {
    call(Math::Exp, of)
}

#[test]
fn a_maximum_and_exponentials_relative_to_it_are_one() {
    let join = Join::find(&lower(&softmax())).unwrap();
    assert_eq!((join.pair, join.pass, &*join.first, &*join.second), (Pair::Exponentials, 0, "max_", "sum_"));
    assert!(join.is_relative("e_") && join.may_keep("e_", 1) && join.may_keep("anything", 0));
    assert!(!join.may_keep("other_", 1) && join.may_keep("other_", 2));
}

#[test]
fn a_mean_and_squares_about_it_are_one() {
    let centred = || name("centred");
    let join = find(vec![
        bind("y", name("x") * Expr::Literal(2.0)),
        reduce("mean", Reduction::Mean, name("y")),
        bind("centred", name("y") - name("mean")),
        reduce("variance", Reduction::Mean, centred() * centred()),
        store("out", centred() / name("variance")),
    ]);
    let join = join.unwrap();
    assert_eq!((join.pair, &*join.first, &*join.second), (Pair::Squares, "mean_", "variance_"));
    assert!(!join.may_keep("centred_", 1), "it is relative to the mean of one thread");
}

#[test]
fn what_is_computed_counts_and_not_how_it_is_called() {
    let join = find(vec![
        reduce("greatest", Reduction::Max, name("x") * Expr::Literal(0.5)),
        bind("top", name("greatest")),
        bind("scaled", name("x") * Expr::Literal(0.5)),
        bind("below", name("scaled") - name("top")),
        reduce("total", Reduction::Sum, exp(name("below"))),
        store("of_row", name("total") + name("top")),
    ]);
    let join = join.unwrap();
    assert_eq!((&*join.first, join.aliases), ("greatest_", vec!["top_".to_owned()]));
}

#[test]
fn sums_of_anything_else_stay_apart() {
    let sum = |of: Expr| reduce("sum", Reduction::Sum, of);
    let below = || name("x") - name("max");
    for term in [
        below(),
        exp(name("max") - name("x")),
        exp(below() * Expr::Literal(2.0)),
        exp(below()) * name("x"),
        exp(name("x") * Expr::Literal(2.0) - name("max")),
    ] {
        let found = find(vec![max(), sum(term.clone()), store("of_row", name("sum"))]);
        assert_eq!(found, None, "{term:?}");
    }
    let greatest = reduce("sum", Reduction::Max, exp(below()));
    assert_eq!(find(vec![max(), greatest, store("of_row", name("sum"))]), None);
}

#[test]
fn what_is_written_or_reduced_beside_the_second_one_keeps_it_apart() {
    let below = || name("x") - name("max");
    let sum = || reduce("sum", Reduction::Sum, exp(below()));
    assert_eq!(find(vec![max(), sum(), store("out", below()), store("of_row", name("sum"))]), None);
    let beside = reduce("least", Reduction::Min, below());
    assert_eq!(find(vec![max(), sum(), beside, store("of_row", name("sum") + name("least"))]), None);
    assert!(find(vec![max(), sum(), store("of_row", name("sum"))]).is_some());
}

#[test]
fn chains_of_names_that_double_are_given_up() {
    let chain = |letter: char| {
        let first = bind(&format!("{letter}0"), name("x") + name("x"));
        let next = move |at: u32| {
            let before = || name(&format!("{letter}{at}"));
            bind(&format!("{letter}{}", at + 1), before() + before())
        };
        std::iter::once(first).chain((0..40).map(next))
    };
    let mut steps: Vec<Step> = chain('a').chain(chain('b')).collect();
    steps.extend([
        reduce("max", Reduction::Max, name("a40")),
        reduce("sum", Reduction::Sum, exp(name("b40") - name("max"))),
        store("of_row", name("sum")),
    ]);
    assert_eq!(find(steps), None);
}

#[test]
fn a_pass_of_many_reductions_has_no_place_for_a_second_one() {
    let may = |passes: &[Vec<Reduction>]| may_join(passes, &Pair::ALL);
    assert!(may(&[vec![Reduction::Max], vec![Reduction::Sum]]));
    assert!(may(&[vec![Reduction::Min, Reduction::Mean], vec![Reduction::Mean], vec![]]));
    assert!(!may(&[vec![Reduction::Max], vec![Reduction::Sum, Reduction::Sum]]));
    assert!(!may(&[vec![Reduction::Sum], vec![Reduction::Sum]]));
    assert!(!may(&[vec![Reduction::Max]]) && !may(&[]));
}
