use autokernel_ops::body::Body;

use super::{Kernels, Spec, attribute};
use crate::function::Functions;
use crate::problem::Problem;

fn kernels(arguments: &str, function: &str) -> syn::Result<Kernels> {
    let [arguments, function] = [arguments, function].map(|text| text.parse().unwrap());
    Spec::parse_kernels(attribute("rows").unwrap(), arguments, function, &Functions::default())
}

fn body(spec: &Spec) -> &Body {
    match &spec.problem {
        Problem::Rows(problem) => problem.body(),
        other => panic!("{other}"),
    }
}

const NORM: &str = "pub fn norm<T, W>(x: &Matrix<T>, weight: &Row<W>, eps: f32, y: &mut Matrix<T>) {
    let rms = (row_mean(x * x) + eps).sqrt();
    y = x / rms * weight;
}";

#[test]
fn gradients_are_kernels_of_the_functions_own_types_in_its_module() {
    let kernels = kernels("backward, T = [bf16, f32], W = [f32]", NORM).unwrap();
    let named = |specs: &[Spec]| -> Vec<String> {
        specs.iter().map(|spec| format!("{}: {}", spec.name(), spec.problem)).collect()
    };
    assert_eq!(kernels.written.len(), 2);
    let derived: Vec<Vec<String>> = kernels.derived.iter().map(|specs| named(specs)).collect();
    assert_eq!(
        derived,
        [
            [
                "norm::backward<bf16, f32>: rows x: Matrix<bf16>, weight: Row<f32>, eps: f32, dy: Matrix<bf16> -> dx: \
                 Matrix<bf16>, rms: Column<f32>",
                "norm::backward<f32, f32>: rows x: Matrix<f32>, weight: Row<f32>, eps: f32, dy: Matrix<f32> -> dx: \
                 Matrix<f32>, rms: Column<f32>",
            ],
            [
                "norm::backward_rows<bf16, f32>: rows x: Matrix<bf16>, dy: Matrix<bf16>, rms: Column<f32> -> dweight: Row<f32>",
                "norm::backward_rows<f32, f32>: rows x: Matrix<f32>, dy: Matrix<f32>, rms: Column<f32> -> dweight: Row<f32>",
            ],
        ]
    );
}

#[test]
fn an_operand_that_is_named_has_a_gradient_alone() {
    let kernels = kernels("backward(x), T = [f32], W = [bf16]", NORM).unwrap();
    let names: Vec<String> = kernels.derived.iter().flatten().map(Spec::name).collect();
    assert_eq!(names, ["norm::backward<f32, bf16>"]);
    assert_eq!(body(&kernels.derived[0][0]).outputs().count(), 1);
}

#[test]
fn a_kernel_without_the_setting_has_no_gradients() {
    assert!(kernels("T = [f32], W = [bf16]", NORM).unwrap().derived.is_empty());
}

#[test]
fn what_has_no_gradient_is_told_with_its_remedy() {
    const X: &str = "x: &Matrix<f32>, ids: &Index, k: f32, y: &mut Matrix<f32>";
    for (arguments, parameters, text, expected) in [
        ("backward()", X, "y = x;", "`backward(x, weight)`"),
        ("backward(2)", X, "y = x;", "`backward(x, weight)`"),
        ("backward(z)", X, "y = x;", "there is no operand `z`; `backward(…)` names some of `x`, `ids`, `k`"),
        ("backward(x, x)", X, "y = x;", "`x` is named twice"),
        ("backward, backward(x)", X, "y = x;", "`backward` is given twice"),
        ("backward", "ot: &Matrix<f32>, y: &mut Matrix<f32>", "y = ot;", "is called `dot`, a word of bodies"),
        ("backward(y)", X, "y = x;", "`y` is written"),
        ("backward(k)", X, "y = x * k;", "`k` is one number"),
        ("backward(ids)", X, "y = x * ids;", "`ids` is an `Index`"),
        ("backward", X, "y = x[ids];", "elements of `x` go to other rows or columns"),
        ("backward", X, "y = x + rotate_pairs(x);", "elements of `x` go to other rows or columns"),
        ("backward", X, "y[ids] = x;", "rows of `y` are picked by `ids`"),
        ("backward", X, "y = if x > 0.0 { 1.0 } else { -1.0 };", "no output changes with `x`"),
        ("backward", "x: &Matrix<f32>, y: &mut Row<f32>", "y = column_max(x);", "take `column_sum`"),
        ("backward", "x: &Matrix<f32>, y: &mut Matrix<e4m3>", "y = x;", "`y` is e4m3"),
        (
            "backward",
            "x: &Matrix<f32>, dx: &Matrix<f32>, y: &mut Matrix<f32>",
            "y = x * dx;",
            "give that one another name",
        ),
        (
            "backward(b)",
            "x: &Matrix<f32>, b: &Row<f32>, y: &mut Column<f32>",
            "y = row_sum(x + b);",
            "is the same in each of its columns",
        ),
        ("backward", "x: &Column<f32>, y: &mut Matrix<f32>", "y = x;", "nothing that is read here has a gradient"),
        (
            "backward(w)",
            "x: &Matrix<f32>, ids: &Index, w: &Row<f32>, y: &mut Matrix<f32>",
            "y = x[ids] * w;",
            "reads each element in its place",
        ),
    ] {
        let errors = kernels(arguments, &format!("fn f({parameters}) {{ {text} }}")).err();
        let messages: Vec<String> = errors.into_iter().flatten().map(|error| error.to_string()).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{text}: {messages:?}");
    }
}

#[test]
fn gradients_and_numbers_of_rows_have_names_that_rust_takes_whatever_the_body_calls_its_own() {
    let declared = |text: &str| {
        let kernels = kernels("backward", text).unwrap();
        kernels.derived.iter().flatten().map(|spec| spec.problem.to_string()).collect::<Vec<_>>().join("\n")
    };
    let keywords = declared("fn f(yn: &Matrix<f32>, o: &mut Matrix<f32>) { o = yn.exp(); }");
    assert!(keywords.contains("do") && keywords.contains("dyn"), "{keywords}");
    for own in ["r#type", "__", "row_sum_", "z_"] {
        let text = format!(
            "fn f(x: &Matrix<f32>, w: &Row<f32>, y: &mut Matrix<f32>, z: &mut Column<bf16>) {{
                let {own} = row_mean(x * x);
                z = {own};
                y = x / {own} * w;
            }}"
        );
        assert!(declared(&text).contains("Column<f32>"), "{own}: a number of the row is f32, and no gradient");
    }
}

#[test]
fn other_attributes_have_no_such_setting() {
    let function = "fn f(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);";
    let [arguments, function] = ["backward", function].map(|text| text.parse().unwrap());
    let functions = Functions::default();
    assert!(Spec::parse_kernels(attribute("matmul").unwrap(), arguments, function, &functions).is_err());
}
