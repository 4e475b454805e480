use autokernel_core::{Arch, Coarse, Dtype, Role};
use expect_test::expect_file;

use super::body::{Body, Product, Second, Written};
use super::emit::{emit, emit_reference};
use super::extents;
use super::plan::signature;
use super::problem::{Layout, Problem};
use super::schedule::{Schedule, Sm90Schedule};
use crate::body::{self, Columns, Fetch, Kind, Operand, Step};
use crate::expr::Expr;
use crate::operation::Class as _;

/// `out = dot(x * xs, (w * ws).t())`, or with a second product a body of both.
fn written(products: usize) -> Written {
    let operand =
        |name: &str, dtype, role| Operand { name: name.to_owned(), kind: Kind::Matrix, dtype, role, batched: false };
    let mut operands = Vec::new();
    for (factor, scales) in [("x", "xs"), ("w", "ws"), ("up", "us")].into_iter().take(1 + products) {
        operands.push(operand(factor, Dtype::E4m3, Role::Input));
        operands.push(operand(scales, Dtype::F32, Role::Input));
    }
    operands.push(operand("out", Dtype::Bf16, Role::Output));
    let names = ["dot", "dot2"].map(str::to_owned);
    let value = match products {
        1 => Expr::Variable(names[0].clone()),
        _ => Expr::Binary(
            crate::expr::BinaryOp::Multiply,
            Box::new(Expr::Variable(names[0].clone())),
            Box::new(Expr::Variable(names[1].clone())),
        ),
    };
    let steps = vec![Step::Store { output: "out".to_owned(), row: None, fold: None, value }];
    let [name, other] = names;
    let some = |name: &str| Some(name.to_owned());
    let product = Product { a_scales: some("xs"), scales: some("ws"), ..Product::plain(name, "x", "w") };
    let second = (products == 2).then(|| Second { name: other, b: "up".to_owned(), scales: some("us"), zeros: None });
    Written { product, second, body: body::Body { operands, steps, ..body::Body::default() } }
}

fn problem(products: usize) -> Problem {
    let plain = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap());
    Problem { block: Some(128), body: Some(Body::new(written(products)).unwrap().into()), ..plain }
}

#[test]
fn scales_of_blocks_of_either_factor_are_no_tables() {
    for scales in ["xs", "ws"] {
        let mut written = written(1);
        let (name, of) = ("table".to_owned(), scales.to_owned());
        written.body.fetches = vec![Fetch { name: name.clone(), of, row: None, columns: Columns::Repeat }];
        let value = Expr::Variable(name);
        written.body.steps = vec![Step::Store { output: "out".to_owned(), row: None, fold: None, value }];
        let told = Body::new(written).unwrap_err();
        let message = format!("`{scales}` is a factor of `dot`; pass it twice");
        assert!(told.iter().any(|it| it.message.contains(&message)), "{told:?}");
    }
}

#[test]
fn the_default_hopper_kernels_of_scaled_blocks_are_as_golden() {
    for (products, file) in [(1, "block_scales"), (2, "block_scales_two_products")] {
        let problem = problem(products);
        let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
        expect_file![format!("golden/{file}_sm90.cu")].assert_eq(&emit(&problem, &schedule).cuda);
        expect_file![format!("golden/{file}_reference.cu")].assert_eq(&emit_reference(&problem).cuda);
    }
}

#[test]
fn a_launch_is_told_that_the_last_block_of_an_axis_may_be_smaller() {
    let signature = signature(&problem(1));
    let coarse = |operand, axis| Coarse { operand, axis, indices: 128, together: 1, is_ragged: true };
    assert_eq!(signature.coarse, [coarse(1, 1), coarse(3, 0), coarse(3, 1)]);
    assert_eq!([1, 3].map(|operand| signature.operands[operand].axes.clone()), [vec![0, 2], vec![1, 2]]);
}

#[test]
fn scales_of_blocks_are_counted_as_what_is_read() {
    let plain = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap());
    let of = extents(100, 300, 1000);
    let read = |problem: &Problem| problem.class().work(&of).read_bytes;
    // 100 rows and 3 blocks of columns, 8 blocks along K each.
    assert_eq!(read(&problem(1)) - read(&plain), f64::from(4 * 8 * (100 + 3)));
}

#[test]
fn scaled_blocks_have_schedules_of_hopper_alone_and_borrow_none_of_other_products() {
    let plain = Problem::new(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap()).class();
    for products in [1, 2] {
        let class = problem(products).class();
        assert_eq!((class.distance(&plain), class.distance(&class)), (None, Some(0)));
        assert!(class.families(Arch::SM_80).is_empty());
        let portfolio = class.portfolio(Arch::SM_90A);
        assert!(portfolio.len() >= 4, "{}", portfolio.len());
        assert!(portfolio.iter().all(|schedule| class.check(schedule, Arch::SM_90A).is_ok()));
        let broken = |schedule| Schedule::Sm90(schedule).check(&class, Arch::SM_90A).unwrap_err().rule;
        let odd = Sm90Schedule { tile_n: 96, consumers: 2, ..Sm90Schedule::PLAIN };
        assert_eq!(broken(odd), "tile_n_begins_where_blocks_do");
        let held =
            Sm90Schedule { tile_m: 128, tile_n: 256, consumers: 2, swap_ab: true, stages: 2, ..Sm90Schedule::PLAIN };
        assert_eq!(broken(held), "block_scales_fit_registers");
    }
}
