use autokernel_core::Arch;
use expect_test::{Expect, ExpectFile, expect, expect_file};

use super::differences::{Shape, check};
use super::*;
use crate::body::{Reduction, Step};
use crate::epilogue::Epilogue;
use crate::expr::{BinaryOp, CompareOp, Condition, Expr, Function, Math};
use crate::rows::cases::{self, bind, call, name, number, reads, reduce, store, writes};
use crate::rows::emit::kernel;
use crate::rows::passes::{Keep, Program};
use crate::rows::{Problem, Sm80Schedule};

fn of(operands: Vec<Operand>, steps: Vec<Step>) -> Body {
    Body { operands, steps, ..Body::default() }
}

fn x_to_out(steps: Vec<Step>) -> Body {
    of(vec![reads("x", Kind::Matrix, Dtype::F32), writes("out", Kind::Matrix, Dtype::F32)], steps)
}

fn log_softmax() -> Body {
    x_to_out(vec![
        reduce("max", Reduction::Max, name("x")),
        bind("y", name("x") - name("max")),
        reduce("sum", Reduction::Sum, call(Math::Exp, name("y"))),
        store("out", name("y") - call(Math::Ln, name("sum"))),
    ])
}

fn layer_norm() -> Body {
    of(
        vec![
            reads("x", Kind::Matrix, Dtype::Bf16),
            reads("weight", Kind::Row, Dtype::Bf16),
            reads("bias", Kind::Row, Dtype::Bf16),
            writes("out", Kind::Matrix, Dtype::Bf16),
        ],
        vec![
            reduce("mean", Reduction::Mean, name("x")),
            bind("centred", name("x") - name("mean")),
            reduce("variance", Reduction::Mean, name("centred") * name("centred")),
            bind("deviation", call(Math::Sqrt, name("variance") + number(1e-5))),
            store("out", name("centred") / name("deviation") * name("weight") + name("bias")),
        ],
    )
}

fn positive(value: Expr) -> Condition {
    Condition::Compare(CompareOp::Greater, value, number(0.0))
}

fn silu(value: &str) -> Expr {
    name(value) / (number(1.0) + call(Math::Exp, Expr::Negate(Box::new(name(value)))))
}

fn silu_mul() -> Body {
    of(
        vec![
            reads("gate", Kind::Matrix, Dtype::F16),
            reads("up", Kind::Matrix, Dtype::F16),
            writes("out", Kind::Matrix, Dtype::F16),
        ],
        vec![store("out", silu("gate") * name("up"))],
    )
}

/// `out = gelu(x + bias) * skip;`, as the parser puts the epilogue in.
fn gelu_mul() -> Body {
    let gelu = "gelu".parse::<Epilogue>().unwrap();
    let Function { parameter, bindings, result } = gelu.function();
    let mut steps = vec![bind(parameter, name("input") + name("bias"))];
    steps.extend(bindings.iter().map(|binding| bind(&binding.name, binding.value.clone())));
    steps.push(store("out", result.clone() * name("skip")));
    let inputs = [("input", Kind::Matrix), ("bias", Kind::Row), ("skip", Kind::Matrix)];
    let inputs = inputs.map(|(name, kind)| reads(name, kind, Dtype::Bf16));
    of(inputs.into_iter().chain([writes("out", Kind::Matrix, Dtype::Bf16)]).collect(), steps)
}

/// Bodies whose gradients are those of kernels that people write.
fn bodies() -> Vec<(&'static str, Body)> {
    let two = |function, a, b| Expr::Call(function, vec![a, b]);
    vec![
        ("softmax", cases::softmax()),
        ("log_softmax", log_softmax()),
        ("add_rms_norm", cases::add_rms_norm()),
        ("layer_norm", layer_norm()),
        ("silu_mul", silu_mul()),
        ("gelu_mul", gelu_mul()),
        (
            "functions",
            x_to_out(vec![
                bind("a", call(Math::Tanh, name("x")) + call(Math::Erf, name("x")) * call(Math::Sin, name("x"))),
                bind("b", call(Math::Cos, name("a")) - call(Math::Recip, name("x") * name("x") + number(1.0))),
                bind("c", two(Math::Max, name("a"), name("b")) / (two(Math::Min, name("x"), name("a")) - number(9.0))),
                store("out", Expr::Call(Math::MulAdd, vec![call(Math::Abs, name("c")), name("a"), name("b")])),
            ]),
        ),
        (
            "whole numbers and remainders",
            x_to_out(vec![
                bind("whole", call(Math::Floor, name("x") * number(3.0)) - call(Math::Trunc, name("x"))),
                bind("by", name("x") * name("x") + number(0.5)),
                bind("rest", Expr::Binary(BinaryOp::Remainder, Box::new(name("x")), Box::new(name("by")))),
                store("out", name("whole") * name("x") + name("rest") * call(Math::Ceil, name("x"))),
            ]),
        ),
        (
            "branches",
            x_to_out(vec![
                bind("root", call(Math::Ln, name("x"))),
                bind(
                    "y",
                    Expr::If(Box::new(positive(name("x"))), Box::new(name("root")), Box::new(name("x") * name("x"))),
                ),
                store("out", name("y") * name("x")),
            ]),
        ),
        (
            "extremes",
            x_to_out(vec![
                reduce("most", Reduction::Max, name("x")),
                reduce("least", Reduction::Min, name("x") * name("x")),
                store("out", name("x") * name("most") + name("least")),
            ]),
        ),
        (
            "columns",
            of(
                vec![
                    reads("x", Kind::Matrix, Dtype::F32),
                    reads("scale", Kind::Column, Dtype::F32),
                    writes("out", Kind::Matrix, Dtype::F32),
                    writes("mean", Kind::Column, Dtype::F32),
                    writes("total", Kind::Column, Dtype::F32),
                ],
                vec![
                    bind("y", name("x") * name("scale") + name("scale")),
                    reduce("of_row", Reduction::Mean, name("y") * name("y")),
                    reduce("sum", Reduction::Sum, name("y")),
                    store("mean", call(Math::Sqrt, name("of_row"))),
                    store("total", name("sum") * name("sum")),
                    store("out", name("y") / name("sum") + name("scale")),
                ],
            ),
        ),
        ("reciprocals", {
            let (sum, mean) = (Reduction::Sum, Reduction::Mean);
            let operands = vec![
                reads("x", Kind::Matrix, Dtype::F32),
                reads("scale", Kind::Column, Dtype::F32),
                writes("logs", Kind::Column, Dtype::F32),
                writes("shares", Kind::Column, Dtype::F32),
                writes("roots", Kind::Column, Dtype::F32),
            ];
            let square = || name("x") * name("x") + number(1.0);
            of(
                operands,
                vec![
                    reduce("least", Reduction::Min, name("x")),
                    reduce("log", sum, call(Math::Ln, name("x") - name("least") + number(1.0))),
                    store("logs", name("log")),
                    reduce("m", mean, name("x")),
                    reduce("share", sum, name("m") / square()),
                    store("shares", name("share")),
                    reduce("root", sum, call(Math::Sqrt, square() + name("scale") * name("scale"))),
                    store("roots", name("root")),
                ],
            )
        }),
    ]
}

#[test]
fn gradients_are_what_central_differences_in_fp64_say() {
    for (called, body) in bodies() {
        let all: Vec<usize> = (0..body.operands.len()).filter(|&at| body.operands[at].role == Role::Input).collect();
        let told = [(1, 1), (2, 3), (3, 7), (4, 33)].map(|(rows, columns)| {
            let shape = Shape { rows, columns, seed: 7 };
            let Gradient { by_rows, by_columns } = gradient(&body, Some(&all)).unwrap();
            check(&body, by_rows.iter().chain(&by_columns), shape).unwrap_or_else(|report| panic!("{called}: {report}"))
        });
        assert!(told.iter().sum::<usize>() > 100, "{called}: {told:?}");
    }
}

/// Bodies with values that are no number or infinite, and that nothing chooses.
fn passed_over() -> Vec<(&'static str, Body)> {
    let if_positive =
        |of: &str, then, otherwise| Expr::If(Box::new(positive(name(of))), Box::new(then), Box::new(otherwise));
    let leaky = |of: &str| if_positive(of, name(of), number(0.2) * name(of));
    let two = |function, a, b| Expr::Call(function, vec![a, b]);
    let root = || bind("root", call(Math::Sqrt, name("x")));
    vec![
        (
            "the greatest of logarithms",
            of(
                vec![
                    reads("row", Kind::Matrix, Dtype::F32),
                    reads("x", Kind::Row, Dtype::F32),
                    writes("out", Kind::Matrix, Dtype::F32),
                ],
                vec![
                    bind("l", leaky("x")),
                    bind("p", name("l") * call(Math::Ln, name("x"))),
                    reduce("most", Reduction::Max, leaky("p")),
                    store("out", name("most") * name("row") - name("x")),
                ],
            ),
        ),
        (
            "a root that two choose",
            x_to_out(vec![
                root(),
                reduce("most", Reduction::Max, name("root")),
                bind("y", if_positive("x", name("root"), name("x") * name("x"))),
                store("out", name("y") * name("most")),
            ]),
        ),
        (
            "a root that two choose, scaled on its way",
            x_to_out(vec![
                root(),
                bind("scaled", name("root") * number(3.0)),
                reduce("least", Reduction::Min, call(Math::Recip, name("scaled"))),
                bind("y", if_positive("x", name("scaled"), name("x"))),
                store("out", name("y") * name("least") + two(Math::Max, name("scaled"), name("x"))),
            ]),
        ),
    ]
}

#[test]
fn what_nothing_chooses_has_no_part_in_a_gradient_though_it_is_no_number() {
    for (called, body) in passed_over() {
        let all: Vec<usize> = (0..body.operands.len()).filter(|&at| body.operands[at].role == Role::Input).collect();
        let Gradient { by_rows, by_columns } = gradient(&body, Some(&all)).unwrap();
        let told = [3, 5, 8, 13].map(|columns| {
            let shape = Shape { rows: 3, columns, seed: columns as u64 };
            check(&body, by_rows.iter().chain(&by_columns), shape).unwrap_or_else(|report| {
                let kernels: Vec<String> = by_rows.iter().chain(&by_columns).map(steps).collect();
                panic!("{called}: {report}\n{}", kernels.join("\n"))
            })
        });
        assert!(told.iter().sum::<usize>() > 50, "{called}: {told:?}");
    }
}

#[test]
fn gradients_are_kernels_that_can_be_compiled() {
    for (called, body) in bodies() {
        let Gradient { by_rows, by_columns } = gradient(&body, None).unwrap();
        for part in by_rows.into_iter().chain(by_columns) {
            Problem::new(part).unwrap_or_else(|complaints| panic!("{called}: {complaints:?}"));
        }
    }
}

#[test]
fn a_softmax_goes_backward_in_as_many_passes_as_forward() {
    let passes = |body: &Body| Program::new(body, Keep::Values).passes.len();
    for body in [cases::softmax(), log_softmax(), layer_norm(), cases::add_rms_norm(), silu_mul()] {
        let backward = gradient(&body, None).unwrap().by_rows.unwrap();
        assert_eq!(passes(&backward), passes(&body), "{backward:#?}");
    }
}

/// The steps of a kernel of a gradient, as CUDA's functions spell them.
fn steps(body: &Body) -> String {
    let spelled = |expr: &Expr| crate::expr::cuda::Spelling::Exact.number(expr).replace("autokernel::math::", "");
    let line = |step: &Step| match step {
        Step::Let { name, value } => format!("{name} = {}\n", spelled(value)),
        Step::Reduce { name, reduction, of } => format!("{name} = {} {}\n", reduction.name(), spelled(of)),
        Step::Store { output, fold: Some(fold), value, .. } => {
            format!("{output} := {} {}\n", fold.column_name(), spelled(value))
        }
        Step::Store { output, value, .. } => format!("{output} := {}\n", spelled(value)),
    };
    body.steps.iter().map(line).collect()
}

fn expect_gradient(body: &Body, by_rows: &Expect, by_columns: &Expect) {
    let gradient = gradient(body, None).unwrap();
    let written = |body: Option<Body>| {
        body.map_or_else(String::new, |body| {
            let operands: Vec<String> = body.operands.iter().map(ToString::to_string).collect();
            format!("({})\n{}", operands.join(", "), steps(&body))
        })
    };
    by_rows.assert_eq(&written(gradient.by_rows));
    by_columns.assert_eq(&written(gradient.by_columns));
}

#[test]
fn the_gradient_of_a_softmax_is_the_known_one() {
    expect_gradient(
        &cases::softmax(),
        &expect![[r#"
        (x: Matrix<bf16>, dout: Matrix<bf16>, dx: Matrix<bf16>)
        greatest_1 = row_max x
        e_1 = exp((x - greatest_1))
        sum_1 = row_sum e_1
        sum_2 = row_sum (dout * e_1)
        dx := (((dout - (sum_2 / sum_1)) * e_1) / sum_1)
    "#]],
        &expect![],
    );
}

#[test]
fn the_gradient_of_a_norm_gives_what_that_of_its_weight_needs() {
    expect_gradient(
        &layer_norm(),
        &expect![[r#"
        (x: Matrix<bf16>, weight: Row<bf16>, dout: Matrix<bf16>, dx: Matrix<bf16>, of_row_1: Column<f32>, deviation: Column<f32>)
        mean_1 = row_mean x
        centred_1 = (x - mean_1)
        mean_2 = row_mean (centred_1 * centred_1)
        deviation_1 = sqrt((mean_2 + 1e-5f))
        part_1 = (dout * weight)
        mean_3 = row_mean (part_1 * centred_1)
        mean_4 = row_mean part_1
        dx := (((part_1 / deviation_1) - ((((mean_3 / deviation_1) / deviation_1) / deviation_1) * centred_1)) - (mean_4 / deviation_1))
        of_row_1 := mean_1
        deviation := deviation_1
    "#]],
        &expect![[r#"
        (x: Matrix<bf16>, dout: Matrix<bf16>, of_row_1: Column<f32>, deviation: Column<f32>, dweight: Row<bf16>, dbias: Row<bf16>)
        centred_1 = (x - of_row_1)
        dweight := column_sum ((dout * centred_1) / deviation)
        dbias := column_sum dout
    "#]],
    );
    expect_gradient(
        &cases::add_rms_norm(),
        &expect![[r#"
        (x: Matrix<bf16>, skip: Matrix<bf16>, weight: Row<bf16>, dsum: Matrix<bf16>, dout: Matrix<bf16>, dx: Matrix<bf16>, dskip: Matrix<bf16>, of_row_1: Column<f32>)
        y_1 = (x + skip)
        mean_1 = row_mean (y_1 * y_1)
        part_1 = sqrt((mean_1 + 1e-6f))
        part_2 = (dout * weight)
        mean_2 = row_mean (part_2 * y_1)
        part_3 = ((dsum + (part_2 / part_1)) - ((((mean_2 / part_1) / part_1) / part_1) * y_1))
        dx := part_3
        dskip := part_3
        of_row_1 := part_1
    "#]],
        &expect![[r#"
        (x: Matrix<bf16>, skip: Matrix<bf16>, dout: Matrix<bf16>, of_row_1: Column<f32>, dweight: Row<bf16>)
        y_1 = (x + skip)
        dweight := column_sum ((dout * y_1) / of_row_1)
    "#]],
    );
}

#[test]
fn the_gradient_of_an_activation_is_the_one_that_does_not_overflow() {
    expect_gradient(
        &silu_mul(),
        &expect![[r#"
        (gate: Matrix<f16>, up: Matrix<f16>, dout: Matrix<f16>, dgate: Matrix<f16>, dup: Matrix<f16>)
        part_1 = (1.0f + exp((-gate)))
        part_2 = (1.0f / part_1)
        dgate := ((dout * up) * (part_2 * (1.0f + (gate * (1.0f - part_2)))))
        dup := (dout * (gate / part_1))
    "#]],
        &expect![],
    );
}

#[test]
fn kernels_of_gradients_are_as_golden() {
    let compare = |body: Body, by_rows: ExpectFile, by_columns: Option<ExpectFile>| {
        let emitted = |body: Body| {
            let problem = Problem::new(body).unwrap();
            kernel(&problem, &Sm80Schedule::default_for(&problem.class(), Arch::SM_80)).0.cuda
        };
        let gradient = gradient(&body, None).unwrap();
        by_rows.assert_eq(&emitted(gradient.by_rows.unwrap()));
        assert_eq!(by_columns.is_some(), gradient.by_columns.is_some());
        if let (Some(expected), Some(body)) = (by_columns, gradient.by_columns) {
            expected.assert_eq(&emitted(body));
        }
    };
    compare(cases::softmax(), expect_file!["golden/softmax.cu"], None);
    let of_rows = expect_file!["golden/layer_norm_rows.cu"];
    compare(layer_norm(), expect_file!["golden/layer_norm.cu"], Some(of_rows));
    let of_rows = expect_file!["golden/add_rms_norm_rows.cu"];
    compare(cases::add_rms_norm(), expect_file!["golden/add_rms_norm.cu"], Some(of_rows));
    compare(gelu_mul(), expect_file!["golden/gelu_mul.cu"], Some(expect_file!["golden/gelu_mul_rows.cu"]));
}

/// A matrix with as many `steps` of a value and the column's number, of which the last is written.
fn of_a_column(steps: usize, next: impl Fn(&str) -> Expr) -> Body {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::F32),
        reads("c", Kind::Column, Dtype::F32),
        writes("out", Kind::Matrix, Dtype::F32),
    ];
    let mut body = vec![bind("v0", name("x") * name("c"))];
    body.extend((0..steps).map(|step| bind(&format!("v{}", step + 1), next(&format!("v{step}")))));
    body.push(store("out", name(&format!("v{steps}"))));
    of(operands, body)
}

#[test]
fn values_that_are_made_of_one_another_twice_cost_as_many_steps_as_there_are() {
    let begun = std::time::Instant::now();
    for (steps, next) in [
        (30, (|value| name(value) * name(value)) as fn(&str) -> Expr),
        (30, |value| name(value) + name("c") * name(value)),
        (30, |value| name("c") / name("x") * name(value) * name(value)),
    ] {
        let body = of_a_column(steps, next);
        let gradient = gradient(&body, Some(&[0, 1])).unwrap();
        let of_column = gradient.by_rows.unwrap();
        assert!(of_column.outputs().any(|output| output.kind == Kind::Column), "{of_column:?}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn gradients_of_values_that_are_made_of_one_another_twice_are_what_differences_say() {
    for next in [(|value| name(value) * name(value)) as fn(&str) -> Expr, |value| name(value) + name("c") * name(value)]
    {
        let body = of_a_column(3, next);
        let Gradient { by_rows, by_columns } = gradient(&body, Some(&[0, 1])).unwrap();
        let shape = Shape { rows: 3, columns: 9, seed: 1 };
        let told = check(&body, by_rows.iter().chain(by_columns.iter()), shape).unwrap();
        assert!(told >= 3, "{told}");
    }
}
