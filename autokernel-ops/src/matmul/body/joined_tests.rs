use autokernel_core::{Arch, Arg, Dtype};
use expect_test::expect_file;

use super::*;
use crate::body;
use crate::expr::{Condition, Expr, Math};
use crate::matmul::body::print::Printed;
use crate::matmul::plan::Operands;
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Schedule, Sm80Schedule, Sm90Schedule};
use crate::matmul::{emit, extents};
use crate::rows::cases::{bind, name, number, reads, reduce, store, writes};

fn exp(of: Expr) -> Expr {
    Expr::Call(Math::Exp, vec![of])
}

fn ln(of: Expr) -> Expr {
    Expr::Call(Math::Ln, vec![of])
}

/// `let y = dot(x, w) + bias; let most = row_max(y); lse = most + row_sum((y - most).exp()).ln();`, where the maximum has a name beside
/// that of the reduction.
fn written() -> Written {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::Bf16),
        writes("lse", Kind::Column, Dtype::F32),
    ];
    let steps = vec![
        bind("y", name("dot") + name("bias")),
        reduce("reduced", Reduction::Max, name("y")),
        bind("most", name("reduced")),
        reduce("sum", Reduction::Sum, exp(name("y") - name("most"))),
        store("lse", name("most") + ln(name("sum"))),
    ];
    let product = Product::plain("dot", "x", "w");
    Written { product, second: None, body: body::Body { operands, steps, ..body::Body::default() } }
}

/// With an output of elements.
fn stored() -> Written {
    let mut written = written();
    written.body.operands.push(writes("out", Kind::Matrix, Dtype::Bf16));
    written.body.steps.insert(1, store("out", name("y")));
    written
}

fn problem(written: Written) -> Problem {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { body: Some(Body::new(written).unwrap().into()), ..plain }
}

fn messages(written: Written) -> Vec<String> {
    Body::new(written).unwrap_err().into_iter().map(|it| it.message).collect()
}

#[test]
fn the_kernels_of_a_log_sum_exp_without_elements_are_as_golden() {
    let problem = problem(written());
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["../golden/log_sum_exp_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["../golden/log_sum_exp_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["../golden/log_sum_exp_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

#[test]
fn a_sum_of_exponentials_relative_to_a_maximum_is_found_by_what_it_computes() {
    let found = |steps: Vec<Step>| {
        let mut written = written();
        written.body.steps = steps;
        Body::new(written).is_ok_and(|body| !body.joins().is_empty())
    };
    let (y, most) = (|| name("dot") + name("bias"), || reduce("most", Reduction::Max, name("dot") + name("bias")));
    let sum = |of| [reduce("sum", Reduction::Sum, of), store("lse", name("sum"))];
    let steps = |first: Vec<Step>, of| [first, sum(of).to_vec()].concat();
    assert!(found(written().body.steps));
    assert!(found(steps(vec![most()], exp(y() - name("most")))), "without names");
    let shifted =
        vec![bind("y", y()), most(), bind("shifted", name("y") - name("most")), bind("e", exp(name("shifted")))];
    assert!(found(steps(shifted, name("e"))), "by names of its parts");
    let mean = [reduce("sum", Reduction::Mean, exp(y() - name("most"))), store("lse", name("sum"))];
    assert!(found([vec![most()], mean.to_vec()].concat()), "their mean");
    assert!(!found(steps(vec![most()], exp(name("dot") - name("most")))), "of other elements");
    assert!(!found(steps(vec![most()], exp(name("most") - y()))), "the other way round");
    assert!(!found(steps(vec![most()], y() - name("most"))), "without the exponential");
    let least = reduce("most", Reduction::Min, y());
    assert!(!found(steps(vec![least], exp(y() - name("most")))), "relative to another reduction");
}

#[test]
fn what_a_maximum_is_taken_from_is_late_but_in_a_sum_that_is_joined_with_it() {
    let late = "behind a row's last column";
    let changed = |change: &dyn Fn(&mut body::Body)| {
        let mut written = stored();
        change(&mut written.body);
        messages(written)
    };
    let squared = changed(&|body| {
        body.steps.truncate(4);
        let e = || exp(name("y") - name("most"));
        body.steps.extend([reduce("sum", Reduction::Sum, e() * e()), store("lse", name("sum"))]);
    });
    assert!(squared.iter().any(|message| message.contains(late)), "{squared:?}");
    let written_too = changed(&|body| {
        body.steps.retain(|step| step.name() != "out");
        body.steps.insert(3, bind("e", exp(name("y") - name("most"))));
        body.steps[4] = reduce("sum", Reduction::Sum, name("e"));
        body.steps.push(store("out", name("e")));
    });
    assert!(written_too.iter().any(|message| message.contains(late)), "{written_too:?}");
    let doubled = changed(&|body| {
        body.steps.insert(4, bind("e", exp(name("y") - name("most"))));
        body.steps[5] = reduce("sum", Reduction::Sum, name("e"));
        body.steps.push(bind("idle", name("e") * number(2.0)));
    });
    assert!(doubled.iter().any(|message| message.contains(late)), "{doubled:?}");
    let of_what_is_late = changed(&|body| {
        body.steps.truncate(2);
        let centred = || name("y") - name("mean");
        body.steps.extend([
            reduce("mean", Reduction::Mean, name("y")),
            bind("z", centred()),
            reduce("most", Reduction::Max, name("z")),
            reduce("sum", Reduction::Sum, exp(name("z") - name("most"))),
            store("lse", name("most") + ln(name("sum"))),
        ]);
    });
    assert!(of_what_is_late.iter().any(|message| message.contains(late)), "{of_what_is_late:?}");
}

#[test]
fn elements_are_told_of_the_maximum_alone() {
    let body = Body::new(stored()).unwrap();
    let names = |steps: Vec<&Step>| steps.iter().map(|step| step.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(body.steps_of_elements()), ["y", "out", "reduced", "sum"]);
    assert_eq!(names(body.steps_of_rows()), ["most", "lse"]);
    let text = print::body(&body, Printed::Kernel { part_columns: 64, loaded: None, registers: 32 });
    assert!(text.contains("const float sum_ = reduced_;"), "{text}");
    assert!(text.contains("return statistic == 1 ? 0 : -1;"), "{text}");
    let condition = Condition::And(
        Box::new(Condition::Not(Box::new(Condition::Compare(crate::expr::CompareOp::Less, name("y"), number(0.0))))),
        Box::new(Condition::Compare(crate::expr::CompareOp::Less, name("y"), number(1.0))),
    );
    let mut branching = stored();
    let positive = Expr::If(Box::new(condition), Box::new(name("y")), Box::new(number(0.0)));
    branching.body.steps[2] = reduce("reduced", Reduction::Max, positive.clone());
    branching.body.steps[4] = reduce("sum", Reduction::Sum, exp(positive - name("most")));
    assert_eq!(Body::new(branching).unwrap().joins().len(), 1);
}

#[test]
fn a_product_without_elements_has_no_c_nor_room_for_it() {
    let (stored, alone) = (problem(stored()), problem(written()));
    assert_eq!((stored.class().writes_c(), alone.class().writes_c()), (true, false));
    assert_eq!((Operands::of(&alone).c, Operands::of_class(&alone.class()).c), (None, None));
    assert_eq!((alone.output, alone.class().outputs().count()), (Dtype::Bf16, 1));
    let schedules = [Schedule::Sm90(Sm90Schedule::PLAIN), SM80];
    for schedule in schedules {
        let (_, plan) = emit::kernel(&alone, &schedule);
        let is_of_output = |arg: &Arg| matches!(arg, Arg::Pointer { operand: 3 } | Arg::Map { operand: 3, .. });
        let [product] = &plan.kernels[..] else { panic!("{} kernels", plan.kernels.len()) };
        assert!(product.args.iter().all(|field| !matches!(field.arg, Arg::IsMapped { .. })));
        assert!(product.args.iter().any(|field| is_of_output(&field.arg)));
    }
    let shared = |problem: &Problem| Sm90Schedule::PLAIN.shared_bytes(&problem.class());
    assert!(shared(&alone) + 16_384 <= shared(&stored), "{} {}", shared(&alone), shared(&stored));
    let work = crate::operation::Class::work(&alone.class(), &extents(10, 20, 30));
    assert_eq!(work.written_bytes, 4.0 * 10.0);
}

const SM80: Schedule = Schedule::Sm80(Sm80Schedule {
    tile_m: 64,
    tile_n: 64,
    tile_k: 32,
    warps_m: 2,
    warps_n: 2,
    stages: 3,
    raster: Sm90Schedule::PLAIN.raster,
});

#[test]
fn the_reference_of_a_product_without_elements_has_room_for_them() {
    let (_, plan) = emit::reference(&problem(written()));
    let extents = extents(70, 333, 8);
    let blocks = plan.kernels.iter().map(|kernel| kernel.grid.blocks(&extents, 132)).max().unwrap();
    assert!(plan.workspace[0].size(&extents, blocks) >= 4 * 70 * 333);
    assert_eq!(plan.workspace.len(), 3);
}

#[test]
fn a_log_sum_exp_of_huge_elements_is_told_and_of_infinite_ones_is_what_rust_makes_of_them() {
    let body = Body::new(written()).unwrap();
    let lse = |row: &[f64]| {
        let sums: Vec<_> = row.iter().map(|x| vec![crate::expr::ball::Ball::exact(*x)]).collect();
        oracle::of_row(&body, (0, 1), &sums, &|_, _| 0.0).remove(0)
    };
    let of_two = lse(&[1e4, 1e4]);
    assert!((of_two.value - (1e4 + 2f64.ln())).abs() <= of_two.error && of_two.error < 0.1, "{of_two:?}");
    assert_eq!(lse(&[f64::NEG_INFINITY, 3.0]).value, 3.0);
    for row in [[f64::INFINITY, 0.0], [f64::NEG_INFINITY; 2], [f64::NAN, 0.0]] {
        assert!(lse(&row).value.is_nan() && lse(&row).is_special(), "{row:?}");
    }
}
