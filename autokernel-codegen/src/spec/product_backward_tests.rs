use expect_test::{Expect, expect};
use quote::ToTokens;

use super::{Kernels, Spec, attribute};
use crate::function::{FunctionText, Functions};
use crate::problem::Problem;
use crate::product::differences::{Sizes, check};
use crate::product::kernels_of_gradients;

const UP: &str = "pub fn up<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<f32>, h: &mut Matrix<T>) {
    let z = dot(x, w.t()) + bias;
    h = gelu_tanh(z);
}";

fn kernels(arguments: &str, function: &str) -> syn::Result<Kernels> {
    let [arguments, function] = [arguments, function].map(|text| text.parse().unwrap());
    let text = "fn squashed(x: f32, limit: f32) -> f32 { limit * (x / limit).tanh() }".to_owned();
    let functions = [FunctionText { file: "lib.rs".to_owned(), text, inside: None }];
    Spec::parse_kernels(attribute("fused_matmul").unwrap(), arguments, function, &Functions::new(&functions))
}

/// The name of each kernel, with what it takes and how its factors lie.
fn listed(kernels: &Kernels) -> String {
    let listed = kernels.derived.iter().flatten().map(|spec| {
        let text = match &spec.problem {
            Problem::Matmul(problem) => format!("{problem}"),
            other => format!("{other}"),
        };
        format!("{}: {text}\n", spec.name())
    });
    listed.collect()
}

/// The statements of each kernel.
fn texts(kernels: &Kernels) -> String {
    let text = |spec: &Spec| {
        let statements = spec.function.body.iter().flat_map(|block| &block.stmts);
        let statements: Vec<String> = statements.map(|it| it.to_token_stream().to_string()).collect();
        format!("{}: {}\n", spec.function.sig.ident, statements.join(" "))
    };
    kernels.derived.iter().filter_map(|specs| specs.first()).map(text).collect()
}

fn compare(arguments: &str, function: &str, expected_texts: Expect) {
    let kernels = kernels(arguments, function).unwrap();
    expected_texts.assert_eq(&texts(&kernels));
}

#[test]
fn a_training_step_of_a_layer_is_five_kernels_in_its_module() {
    let kernels = kernels("backward, T = [bf16, f16], n = 4096, k = 1024", UP).unwrap();
    assert_eq!(kernels.written.len(), 2);
    expect![[r#"
        up::forward<bf16>: matmul nt bf16, dot(x, w), bias: Row<f32> -> h: Matrix<bf16>, z: Matrix<bf16>, n = 4096, k = 1024
        up::forward<f16>: matmul nt f16, dot(x, w), bias: Row<f32> -> h: Matrix<f16>, z: Matrix<f16>, n = 4096, k = 1024
        up::backward<bf16>: rows z: Matrix<bf16>, dh: Matrix<bf16> -> dproduct: Matrix<bf16>
        up::backward<f16>: rows z: Matrix<f16>, dh: Matrix<f16> -> dproduct: Matrix<f16>
        up::backward_fused<bf16>: matmul nn bf16, dot(dnext, next), z: Matrix<bf16> -> dproduct: Matrix<bf16>, n = 4096
        up::backward_fused<f16>: matmul nn f16, dot(dnext, next), z: Matrix<f16> -> dproduct: Matrix<f16>, n = 4096
        up::backward_rows<bf16>: rows dproduct: Matrix<bf16> -> dbias: Row<f32>
        up::backward_rows<f16>: rows dproduct: Matrix<f16> -> dbias: Row<f32>
        up::backward_x<bf16>: matmul nn bf16, dot(dproduct, w) -> dx: Matrix<bf16>, n = 1024, k = 4096
        up::backward_x<f16>: matmul nn f16, dot(dproduct, w) -> dx: Matrix<f16>, n = 1024, k = 4096
        up::backward_w<bf16>: matmul tn bf16, dot(dproduct, x) -> dw: Matrix<bf16>, n = 1024
        up::backward_w<f16>: matmul tn f16, dot(dproduct, x) -> dw: Matrix<f16>, n = 1024
    "#]].assert_eq(&listed(&kernels));
    expect![[r#"
        forward: let product_1 = dot (x , w . t ()) ; let z_1 = product_1 + bias ; h = (0.5 * z_1) * (1.0 + (0.7978846 * (z_1 + (((0.044715 * z_1) * z_1) * z_1))) . tanh ()) ; z = z_1 ;
        backward: let part_1 = (0.7978846 * (z + (((0.044715 * z) * z) * z))) . tanh () ; dproduct = dh * ((0.5 * (1.0 + part_1)) + ((((0.5 * z) * (1.0 - (part_1 * part_1))) * 0.7978846) * (1.0 + ((3.0 * 0.044715) * (z * z) . min (100000000.0))))) ;
        backward_fused: let dh = dot (dnext , next) ; let part_1 = (0.7978846 * (z + (((0.044715 * z) * z) * z))) . tanh () ; dproduct = dh * ((0.5 * (1.0 + part_1)) + ((((0.5 * z) * (1.0 - (part_1 * part_1))) * 0.7978846) * (1.0 + ((3.0 * 0.044715) * (z * z) . min (100000000.0))))) ;
        backward_rows: dbias = column_sum (dproduct) ;
        backward_x: let product_1 = dot (dproduct , w) ; dx = product_1 ;
        backward_w: let product_1 = dot (dproduct . t () , x) ; dw = product_1 ;
    "#]].assert_eq(&texts(&kernels));
}

#[test]
fn what_an_output_holds_is_not_written_twice_and_what_is_a_gradient_already_is_not_copied() {
    compare(
        "backward",
        "fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, z: &mut Matrix<bf16>, h: &mut Matrix<bf16>) {
            let sum = dot(x, w) + bias;
            z = sum;
            h = silu(sum);
        }",
        expect![[r#"
            backward: let part_1 = 1.0 / (1.0 + (- z) . exp ()) ; dproduct = dz + (dh * (part_1 * (1.0 + (z * (1.0 - part_1))))) ;
            backward_rows: dbias = column_sum (dproduct) ;
            backward_x: let product_1 = dot (dproduct , w . t ()) ; dx = product_1 ;
            backward_w: let product_1 = dot (x . t () , dproduct) ; dw = product_1 ;
        "#]],
    );
    compare(
        "backward",
        "fn down(h: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, y: &mut Matrix<bf16>) {
            y = dot(h, w.t()) + bias + skip;
        }",
        expect![[r#"
            backward_rows: dbias = column_sum (dy) ;
            backward_h: let product_1 = dot (dy , w) ; dh = product_1 ;
            backward_w: let product_1 = dot (dy . t () , h) ; dw = product_1 ;
        "#]],
    );
}

#[test]
fn a_column_has_a_gradient_where_it_is_named() {
    compare(
        "backward(x, w, scale, skip)",
        "fn scaled(
            x: &Matrix<f16>, w: &Matrix<f16>, scale: &Column<f32>, skip: &Matrix<f16>, limit: f32, y: &mut Matrix<f32>,
        ) {
            y = squashed(dot(x, w.t()) * scale, limit) * skip;
        }",
        expect![[r#"
            forward: let product_1 = dot (x , w . t ()) ; let squashed_x_1 = product_1 * scale ; y = (limit * (squashed_x_1 / limit) . tanh ()) * skip ; product = product_1 ;
            backward: let squashed_x_1 = product * scale ; let part_1 = (squashed_x_1 / limit) . tanh () ; let part_2 = dy * skip ; let part_3 = 1.0 - (part_1 * part_1) ; let sum_1 = row_sum ((part_2 * part_3) * product) ; dproduct = (((part_2 * limit) * part_3) * scale) / limit ; dscale = (limit * sum_1) / limit ; dskip = dy * (limit * part_1) ;
            backward_fused: let dy = dot (dnext , next) ; let squashed_x_1 = product * scale ; let part_1 = (squashed_x_1 / limit) . tanh () ; let part_2 = dy * skip ; let part_3 = 1.0 - (part_1 * part_1) ; let sum_1 = row_sum ((part_2 * part_3) * product) ; dproduct = (((part_2 * limit) * part_3) * scale) / limit ; dscale = (limit * sum_1) / limit ; dskip = dy * (limit * part_1) ;
            backward_x: let product_1 = dot (dproduct , w) ; dx = product_1 ;
            backward_w: let product_1 = dot (dproduct . t () , x) ; dw = product_1 ;
        "#]],
    );
}

/// Bodies in each layout of factors.
fn bodies() -> Vec<(&'static str, String)> {
    let mut bodies = vec![("backward", UP.replace("up<T>", "up").replace("<T>", "<bf16>"))];
    for (x, w) in [("x", "w"), ("x", "w.t()"), ("x.t()", "w"), ("x.t()", "w.t()")] {
        bodies.push((
            "backward(x, w, bias, scale, skip)",
            format!(
                "fn layer(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, scale: &Column<f32>, skip: &Matrix<f16>, by: f32,
                    h: &mut Matrix<bf16>) {{
                    let s = dot({x}, {w});
                    let z = s * scale + bias;
                    h = if z > 0.25 {{ silu(z) }} else {{ squashed(z, 2.0) * by }} + skip * s;
                }}"
            ),
        ));
        bodies.push((
            "backward",
            format!(
                "fn two(x: &Matrix<f16>, skip: &Matrix<f16>, w: &Matrix<f16>, h: &mut Matrix<f16>, y: &mut Matrix<f32>) {{
                    let z = dot({x}, {w});
                    h = z.max(0.0) * skip;
                    y = erf(z * 0.5 + skip);
                }}"
            ),
        ));
    }
    for epilogue in ["relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"] {
        bodies.push((
            "backward",
            format!(
                "fn of(x: &Matrix<bf16>, bias: &Row<f32>, w: &Matrix<bf16>, y: &mut Matrix<bf16>) {{
                    y = {epilogue}(dot(x, w.t()) + bias);
                }}"
            ),
        ));
    }
    bodies.push((
        "backward",
        "fn linear(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, y: &mut Matrix<bf16>) {
            y = 0.5 * dot(x, w.t()) + bias + skip;
        }"
        .to_owned(),
    ));
    bodies
}

#[test]
fn gradients_of_products_are_what_central_differences_in_fp64_say() {
    for (arguments, text) in bodies() {
        let Kernels { written, derived } = kernels(arguments, &text).unwrap();
        let Problem::Matmul(problem) = &written[0].problem else { panic!("{text}") };
        let kernels = kernels_of_gradients(&derived);
        let mut told = 0;
        for (seed, [m, n, k]) in [[1, 1, 1], [2, 3, 4], [3, 2, 1], [4, 5, 3]].into_iter().enumerate() {
            let sizes = Sizes { m, n, k, seed: seed as u64 };
            let body = problem.body.as_deref().unwrap();
            told += check(problem, body, &kernels, sizes).unwrap_or_else(|report| panic!("{text}\n{report}"));
        }
        assert!(told > 45, "{told} elements are told of\n{text}");
    }
}

#[test]
fn a_gradient_that_is_off_is_found() {
    let Kernels { written, derived } =
        kernels("backward", &UP.replace("up<T>", "up").replace("<T>", "<bf16>")).unwrap();
    let Problem::Matmul(problem) = &written[0].problem else { panic!() };
    let sizes = Sizes { m: 3, n: 4, k: 5, seed: 7 };
    let other = UP.replace("up<T>", "up").replace("<T>", "<bf16>").replace("gelu_tanh", "relu");
    let of_other = kernels_of_gradients(&kernels("backward", &other).unwrap().derived);
    let mut mixed = kernels_of_gradients(&derived);
    mixed[1] = of_other[1].clone();
    mixed.remove(2);
    let report = check(problem, problem.body.as_deref().unwrap(), &mixed, sizes).unwrap_err();
    assert!(report.contains("by differences"), "{report}");
}

#[test]
fn what_of_a_product_has_no_gradient_is_told_with_its_remedy() {
    const X: &str = "x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, y: &mut Matrix<bf16>";
    const TWO: &str = "x: &Matrix<bf16>, v: &Matrix<bf16>, w: &Matrix<bf16>, y: &mut Matrix<bf16>";
    for (arguments, parameters, text, expected) in [
        ("backward", TWO, "y = dot(x, v.t()) * dot(x, w.t());", "the gradient of `x` is a sum of two products"),
        ("backward", X, "let q = dot(x, w) + bias; y = rotate_half(q, 64);", "the gradient of `q` goes to partners"),
        (
            "backward",
            "x: &Matrix<bf16>, w: &Matrix<bf16>, y: &mut Matrix<bf16>, most: &mut Column<f32>",
            "let z = dot(x, w); y = z; most = row_max(z);",
            "`most` is reduced along rows",
        ),
        ("backward", "x: &Matrix<bf16>, w: &Matrix<bf16>, y: &mut Matrix<e4m3>", "y = dot(x, w);", "`y` is e4m3"),
        (
            "backward",
            "x: &Matrix<e4m3>, w: &Matrix<e4m3>, y: &mut Matrix<bf16>",
            "y = dot(x, w.t());",
            "`x` holds e4m3",
        ),
        ("backward", "x: &Matrix<bf16>, w: &Matrix<i8>, y: &mut Matrix<bf16>", "y = dot(x, w.t());", "`w` holds i8"),
        ("backward", "x: &Batch<bf16>, w: &Batch<bf16>, y: &mut Batch<bf16>", "y = dot(x, w);", "of many products"),
        (
            "backward",
            "x: &Matrix<bf16>, w: &Batch<bf16>, ids: &Index, y: &mut Matrix<bf16>",
            "y = dot(x, w.t());",
            "of many products",
        ),
        ("backward", X, "y = dot(x, w) * 0.0 + bias;", "no output changes with `dot` of `x` and `w`"),
        ("backward(bias, z)", X, "y = dot(x, w) + bias;", "there is no operand `z`"),
        ("backward(y)", X, "y = dot(x, w) + bias;", "`y` is written"),
        (
            "backward",
            "x: &Matrix<bf16>, rows: &Matrix<bf16>, y: &mut Matrix<bf16>",
            "y = dot(x, rows);",
            "`backward_rows` is",
        ),
        (
            "backward",
            "x: &Matrix<bf16>, w: &Matrix<bf16>, dx: &Matrix<bf16>, y: &mut Matrix<bf16>",
            "y = dot(x, w) * dx;",
            "the gradient of `x` is called `dx`, as another operand is",
        ),
    ] {
        let text = format!("fn kernel({parameters}) {{ {text} }}");
        let Err(error) = kernels(arguments, &text) else { panic!("{text} is not refused") };
        let messages: Vec<String> = error.into_iter().map(|error| error.to_string()).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{text}: {messages:?}");
    }
    let bodyless = "fn kernel(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);";
    let error = kernels("gelu, transpose_b, backward", bodyless).err().unwrap().to_string();
    assert!(error.contains("gradients are derived from a body"), "{error}");
}

#[test]
fn combinations_of_types_have_the_same_kernels_in_whatever_order_they_are_listed() {
    let function = "fn down<T>(x: &Matrix<T>, w: &Matrix<T>, y: &mut Matrix<bf16>) { y = dot(x, w.t()); }";
    let names = |types: &str| -> Vec<String> {
        let kernels = kernels(&format!("backward, T = {types}"), function).unwrap();
        kernels.derived.iter().map(|specs| specs[0].function.sig.ident.to_string()).collect()
    };
    let listed = names("[bf16, f16]");
    assert_eq!(listed, names("[f16, bf16]"));
    assert!(listed.contains(&"backward".to_owned()), "of f16 the gradient of y is copied: {listed:?}");
}

#[test]
fn a_value_that_gradients_need_may_have_any_name_that_a_body_may_give_it() {
    for name in ["r#in", "exp_", "__", "ot"] {
        let function = format!(
            "fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f32>, h: &mut Matrix<bf16>) {{
                let {name} = dot(x, w.t()) + bias;
                h = gelu_tanh({name});
            }}"
        );
        let told = kernels("backward", &function).map(|kernels| kernels.derived.len());
        assert_eq!(told.map_err(|error| error.to_string()), Ok(6), "{name}");
    }
}
