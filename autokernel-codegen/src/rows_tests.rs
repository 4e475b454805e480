use autokernel_core::Arch;
use autokernel_ops::rows::{Reduction, Step};

use super::*;

fn read(source: &str) -> Result<Problem> {
    problem(&syn::parse_str(source).unwrap())
}

const SOFTMAX: &str = "fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}";

#[test]
fn a_body_becomes_steps_with_each_reduction_a_value_of_its_own() {
    let softmax = read(SOFTMAX).unwrap();
    assert_eq!(softmax.to_string(), "rows x: Matrix<bf16> -> out: Matrix<bf16>");
    let steps = &softmax.body().steps;
    let names = steps.iter().map(|step| match step {
        Step::Let { name, .. } => name.as_str(),
        Step::Reduce { name, .. } => name,
        Step::Store { output, .. } => output,
    });
    assert_eq!(names.collect::<Vec<_>>(), ["row_max", "e", "row_sum", "out"]);
}

#[test]
fn the_same_reduction_twice_is_one_and_others_of_its_kind_get_names_of_their_own() {
    let source = "fn f(x: &Matrix<f32>, out: &mut Column<f32>) { out = row_sum(x) * row_sum(x) + row_sum(x * x); }";
    let read = read(source).unwrap();
    let reduced = read.body().steps.iter().filter_map(|step| match step {
        Step::Reduce { name, reduction, .. } => Some((name.as_str(), *reduction)),
        _ => None,
    });
    assert_eq!(reduced.collect::<Vec<_>>(), [("row_sum", Reduction::Sum), ("row_sum_", Reduction::Sum)]);
}

#[test]
fn mistakes_in_a_body_are_told_with_what_can_be_written() {
    let matrix = "x: &Matrix<bf16>, out: &mut Matrix<bf16>";
    let cases = [
        (matrix, "out = x ^ 2.0;", "`+`, `-`, `*`, `/` and `%`"),
        (matrix, "let mask = x < 2.0; out = mask;", "this is a condition"),
        (matrix, "let mask: bool = x < 2.0; out = x;", "a name stands for a number"),
        (matrix, "if x < 2.0 { out = x; } else { out = 2.0; }", "`out = if … { … } else { … };`"),
        (matrix, "out = row_argmax(x);", "the first of the greatest"),
        (matrix, "x += 2.0; out = x;", "make it `x: &mut Matrix<bf16>`"),
        (matrix, "const x: f32 = 2.0; out = x;", "give it a name of its own"),
        (matrix, "out.t() = x;", "of a product that lies transposed"),
        ("x: &Matrix<bf16>, out: &mut Column<f32>", "out += row_sum(x);", "`before: &Column<f32>`"),
        ("x: &Matrix<bf16>, out: &mut Column<f32>", "out = out + row_sum(x);", "`before: &Column<f32>`"),
        ("x: &Matrix<bf16>, out: &mut Scalar<f32>", "out = row_sum(x);", "into a `&mut Row` of one element"),
        (
            "x: &Matrix<bf16>, out: &mut Scalar<f32>",
            "out = column_sum(row_sum(x));",
            "into a `&mut Row` of one element",
        ),
        ("x: &Matrix<bf16>, out: &mut Row<f32>", "out = column_max(row_max(x));", "into a `&mut Row` of one element"),
        (matrix, "out = y;", "only its parameters"),
        (matrix, "out = row_sum(x, x);", "takes the one number"),
        (matrix, "out = row_sum(row_sum(x));", "use the number itself"),
        (matrix, "out = if x > 0.0 { row_sum(x) } else { x };", "bind it before"),
        (matrix, "x", "goes nowhere"),
        (matrix, "let y = x; y += x; out = y;", "an output is written once"),
        (matrix, "let y = x; y *= 2.0; out = y;", "bind a new value"),
        (matrix, "out = x.t();", "`dot(x, w.t())`"),
        (matrix, "out = x + 0x10;", "write the number as `16.0`"),
        (matrix, "out[0] = x;", "rows are picked of an operand by an operand"),
        (matrix, "(out) = x;", "only an output is assigned to"),
        (matrix, "x = out;", "`x` is no output"),
        (matrix, "out = x; out = x;", "written twice"),
        (matrix, "let y = x;", "write `out = …;`"),
        (matrix, "out = x + 1;", "write the number as `1.0`"),
        (matrix, "out = x.powf(2.0);", "a square is `x * x`"),
        (matrix, "out = x.atan();", "methods of `f32`: abs"),
        (matrix, "out = x.relu();", "write `relu(x)`"),
        (matrix, "for i in 0..3 { out = x; }", "no loops"),
        ("x: &Matrix<bf16>, out: &mut Column<bf16>", "out = x;", "reduce it (`row_sum`"),
        ("x: &Matrix<bf16>, out: &mut Row<bf16>", "out = x;", "every row would write it"),
        ("x: &Column<bf16>, out: &mut Column<bf16>", "out = x;", "must be a `Matrix`"),
        ("x: &Matrix<f64>, out: &mut Matrix<bf16>", "out = x;", "use bf16, f16 or f32"),
        (
            "x: &Matrix<e4m3>, out: &mut Matrix<bf16>",
            "out = x;",
            "multiply matrices of e4m3 in `#[autokernel::fused_matmul]`",
        ),
        ("x: Matrix<bf16>, out: &mut Matrix<bf16>", "out = x;", "an operand is one of"),
        ("x: &Vec<bf16>, out: &mut Matrix<bf16>", "out = x;", "an operand is one of"),
    ];
    for (parameters, body, expected) in cases {
        let message = read(&format!("fn f({parameters}) {{ {body} }}")).unwrap_err().into_iter();
        let messages: Vec<String> = message.map(|error| error.to_string()).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{body}: {messages:?}");
    }
}

#[test]
fn rows_that_an_index_picks_are_fetched_once_and_written_where_it_says() {
    let source = "fn f(table: &Matrix<f32>, ids: &Index, to: &Index, out: &mut Matrix<f32>) {
        out[to] = table[ids] * table[ids] + ids;
    }";
    let read = read(source).unwrap();
    let body = read.body();
    let [fetch] = &body.fetches[..] else { panic!("{:?}", body.fetches) };
    assert_eq!((&*fetch.name, &*fetch.of, fetch.row.as_deref()), ("table_at_ids", "table", Some("ids")));
    assert_eq!(body.row_of_output("out"), Some("to"));
    assert_eq!(read.to_string(), "rows table: Matrix<f32>, ids: Index, to: Index -> out: Matrix<f32>");
}

#[test]
fn mistakes_with_indices_are_told_with_what_can_be_written() {
    let operands = "x: &Matrix<f32>, scale: &Row<f32>, ids: &Index, out: &mut Matrix<f32>";
    let cases = [
        (operands, "out = x[0];", "rows are picked of an operand by an operand"),
        (operands, "out = (x + x)[ids];", "rows are picked of an operand by an operand"),
        (operands, "out = x[scale];", "`scale` is no index"),
        (operands, "out = scale[ids];", "`scale` is a `Row`, which has no rows to pick"),
        (operands, "out = y[ids];", "`y` is no operand"),
        (operands, "out = x + x[ids];", "pass it twice"),
        (operands, "let y = out[ids]; out = x;", "`out` is written, and read in other rows"),
        (operands, "out[scale] = x;", "`scale` is no index"),
        (operands, "out = rotate_half(x, 7);", "a head of 7 columns has no halves"),
        (operands, "out = rotate_half(x, 2.0);", "write the columns of a head as a number"),
        (operands, "out = rotate_half(x);", "`rotate_half` takes 2 arguments, not 1"),
        (operands, "out = rotate_pairs(x * 2.0);", "takes by its name"),
        (operands, "out = rotate_pairs(ids) + x;", "`ids` has no columns"),
        (operands, "out = x * scale + repeat_columns(scale);", "pass it twice"),
        ("x: &Matrix<f32>, out: &mut Column<f32>", "out = row_sum(repeat_columns(x));", "whose columns do not repeat"),
        (operands, "let x = x * 2.0; out = x[ids];", "`x` is a value here"),
        ("x: &Matrix<f32>, out: &mut Matrix<f32>", "out = column_sum(x);", "make `out` a `&mut Row`"),
        ("x: &Matrix<f32>, out: &mut Row<f32>", "out = column_sum(x) * 2.0;", "an output is given all of it"),
        ("x: &Matrix<f32>, out: &mut Row<f32>", "out = column_sum(x - row_mean(x));", "does nothing else"),
        (
            "x: &Matrix<f32>, out: &mut Row<f32>, y: &mut Matrix<f32>",
            "out = column_sum(x); y = x;",
            "does nothing else",
        ),
        ("x: &Matrix<f32>, c: &Column<f32>, out: &mut Row<f32>", "out = column_sum(c);", "one number a row"),
        (
            "x: &Matrix<f32>, out: &mut Row<f32>",
            "out = column_max(rotate_pairs(x));",
            "reads each element in its place",
        ),
        ("x: &Matrix<f32>, ids: &mut Index, out: &mut Matrix<f32>", "out = x;", "an `Index` is only read"),
        ("x: &Matrix<i32>, out: &mut Matrix<f32>", "out = x;", "`i32` is not an element type"),
        ("x: &Matrix<f32>, ids: &Index<i32>, out: &mut Matrix<f32>", "out = x[ids];", "an operand is one of"),
    ];
    for (parameters, body, expected) in cases {
        let message = read(&format!("fn f({parameters}) {{ {body} }}")).unwrap_err().into_iter();
        let messages: Vec<String> = message.map(|error| error.to_string()).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{body}: {messages:?}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let source = "fn f(x: &Vec<bf16>, out: &mut Matrix<bf16>) { out = 1; let y = 2; }";
    assert_eq!(read(source).unwrap_err().into_iter().count(), 3);
}

#[test]
fn a_body_of_as_many_operands_as_there_may_be_has_a_schedule_on_every_arch() {
    for ty in ["f32", "bf16"] {
        let parameters: String = (0..19).map(|number| format!("x{number}: &Matrix<{ty}>, ")).collect();
        let sum = (0..19).map(|number| format!("x{number}")).collect::<Vec<_>>().join(" + ");
        for body in [sum.clone(), format!("({sum}).exp() / row_sum(({sum}).exp()) + row_max({sum})")] {
            let source = format!("fn f({parameters}out: &mut Matrix<{ty}>) {{ out = {body}; }}");
            let class = problem::Problem::from(read(&source).unwrap()).class();
            for arch in [Arch::SM_80, Arch::SM_90A] {
                assert_eq!(class.check(&class.default_schedule(arch), arch), Ok(()), "{source}, {arch}");
            }
        }
    }
}
