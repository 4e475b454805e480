use autokernel_core::Dtype;

use super::*;
use crate::body::{Operand, Reduction};
use crate::expr::Expr;
use crate::rows::cases::{self, bind, name, reads, reduce, store, writes};

/// The one complaint about a body.
fn complaint(operands: Vec<Operand>, steps: Vec<Step>) -> (Place, String) {
    let found = complaints(&Body { operands, steps, ..Body::default() });
    assert_eq!(found.len(), 1, "{found:?}");
    (found[0].place, found[0].message.clone())
}

fn x() -> Operand {
    reads("x", Kind::Matrix, Dtype::Bf16)
}

fn out() -> Operand {
    writes("out", Kind::Matrix, Dtype::Bf16)
}

#[test]
fn bodies_without_mistakes_are_left_alone() {
    for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics()] {
        assert_eq!(complaints(&body), []);
    }
}

#[test]
fn mistakes_in_operands_are_complained_about_at_the_operand() {
    let row = writes("out", Kind::Row, Dtype::F32);
    let (place, message) = complaint(vec![x(), row], vec![store("out", name("x"))]);
    assert_eq!(place, Place::Operand(1));
    assert!(message.contains("`&mut Column`"), "{message}");

    let (place, message) = complaint(vec![x(), out()], vec![]);
    assert_eq!(place, Place::Operand(1));
    assert!(message.contains("write `out = …;`"), "{message}");

    let (place, message) = complaint(vec![x(), x(), out()], vec![store("out", name("x"))]);
    assert_eq!((place, message.contains("declared twice")), (Place::Operand(1), true));

    let (place, message) = complaint(vec![x()], vec![]);
    assert_eq!((place, message.contains("writes at least one operand")), (Place::Function, true));

    let columns = vec![reads("x", Kind::Column, Dtype::F32), writes("out", Kind::Column, Dtype::F32)];
    let (place, message) = complaint(columns, vec![store("out", name("x"))]);
    assert_eq!((place, message.contains("must be a `Matrix`")), (Place::Function, true));
}

#[test]
fn mistakes_in_steps_are_complained_about_at_the_step() {
    let column = || vec![x(), writes("out", Kind::Column, Dtype::F32)];
    let cases: [(Vec<Operand>, Vec<Step>, usize, &str); 8] = [
        (vec![x(), out()], vec![store("out", name("y"))], 0, "there is no `y`"),
        (vec![x(), out()], vec![store("out", name("x")), bind("z", name("out"))], 1, "bind its value first"),
        (vec![x(), out()], vec![store("out", name("x")), store("out", name("x"))], 1, "written twice"),
        (vec![x(), out()], vec![store("out", name("x")), store("x", name("x"))], 1, "`x` is no output"),
        (vec![x(), out()], vec![bind("x", name("x")), store("out", name("x"))], 0, "bound twice"),
        (column(), vec![store("out", name("x"))], 0, "reduce it (`row_sum`"),
        (
            column(),
            vec![
                reduce("s", Reduction::Sum, name("x")),
                reduce("t", Reduction::Sum, name("s")),
                store("out", name("t")),
            ],
            1,
            "use the number itself",
        ),
        (
            column(),
            vec![reduce("s", Reduction::Sum, Expr::Literal(1.0)), store("out", name("s"))],
            0,
            "does not vary along it",
        ),
    ];
    for (operands, steps, at, expected) in cases {
        let (place, message) = complaint(operands, steps);
        assert_eq!(place, Place::Step(at), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_reduction_of_what_is_written_already_is_told_to_bind_it_and_not_that_it_does_not_vary() {
    let operands = vec![x(), out(), writes("largest", Kind::Column, Dtype::F32)];
    let steps =
        vec![store("out", name("x")), reduce("most", Reduction::Max, name("out")), store("largest", name("most"))];
    let (place, message) = complaint(operands, steps);
    assert_eq!(place, Place::Step(1));
    assert_eq!(message, "`out` is read behind where it is written; bind its value first: `let y = …; out = y;`");
}
