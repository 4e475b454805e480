use autokernel_core::Dtype;

use super::*;
use crate::body::Kind;
use crate::rows::cases::{self, bind, name, number, reads, reduce, store, writes};

fn pass_of(body: &Body, output: &str) -> Option<usize> {
    lower(body).stores.iter().find(|(_, (name, _))| name == output).map(|(pass, _)| *pass)
}

fn over(output: &str, before: &str) -> InPlace {
    InPlace { output: output.to_owned(), before: before.to_owned() }
}

/// `sum = x + skip` of [`cases::add_rms_norm`], which its last pass reads again.
#[test]
fn what_is_written_over_an_input_waits_for_the_last_pass_that_reads_it() {
    let apart = cases::add_rms_norm();
    assert_eq!(pass_of(&apart, "sum"), Some(0));
    assert_eq!(pass_of(&Body { in_place: vec![over("sum", "x")], ..apart }, "sum"), Some(1));
}

/// `let sum = x + y; y = y * 2; out = x / row_sum(x); x = sum;`, where `x` waits for `out`, and so reads `y` behind a pass that
/// would have written it.
#[test]
fn what_a_store_that_waits_reads_waits_for_it() {
    let x = || name("x_before");
    let body = Body {
        operands: vec![
            writes("y", Kind::Matrix, Dtype::F32),
            writes("x", Kind::Matrix, Dtype::F32),
            writes("out", Kind::Matrix, Dtype::F32),
            reads("y_before", Kind::Matrix, Dtype::F32),
            reads("x_before", Kind::Matrix, Dtype::F32),
        ],
        steps: vec![
            bind("sum", x() + name("y_before")),
            store("y", name("y_before") * number(2.0)),
            reduce("total", Reduction::Sum, x()),
            store("out", x() / name("total")),
            store("x", name("sum")),
        ],
        in_place: vec![over("y", "y_before"), over("x", "x_before")],
        ..Body::default()
    };
    assert_eq!(["y", "out", "x"].map(|output| pass_of(&body, output)), [Some(1); 3]);
}

#[test]
fn a_long_chain_of_values_is_followed_once() {
    let mut steps = vec![bind("a0", name("x_before"))];
    for at in 1..64 {
        let last = name(&format!("a{}", at - 1));
        steps.push(bind(&format!("a{at}"), last.clone() * last));
    }
    steps.extend([reduce("total", Reduction::Sum, name("a63")), store("x", name("a63") / name("total"))]);
    let body = Body {
        operands: vec![writes("x", Kind::Matrix, Dtype::F32), reads("x_before", Kind::Matrix, Dtype::F32)],
        steps,
        in_place: vec![over("x", "x_before")],
        ..Body::default()
    };
    assert_eq!(pass_of(&body, "x"), Some(1));
}
