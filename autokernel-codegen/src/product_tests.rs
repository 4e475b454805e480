use autokernel_core::Arch;
use quote::quote;
use syn::parse_quote;

use super::*;
use crate::matmul::heights;
use crate::matmul::schedule::{Mode, Sm90Schedule};

fn read(source: &str) -> Result<Problem> {
    problem(&syn::parse_str(source).unwrap())
}

const UP: &str =
    "fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = gelu(dot(x, w.t()) + bias) + skip;
}";

#[test]
fn a_product_and_an_epilogue_become_values_of_their_own() {
    let up = read(UP).unwrap();
    assert_eq!(up.to_string(), "matmul nt bf16, dot(x, w), bias: Row<bf16>, skip: Matrix<f32> -> out: Matrix<f32>");
    let body = up.body.unwrap();
    assert_eq!((body.sums().collect::<Vec<_>>(), body.factors()), (vec!["dot"], vec![0, 1]));
    let names: Vec<String> = body.steps().map(|step| format!("{step:?}")).collect();
    assert_eq!(body.steps().count(), 3, "{names:?}");
}

#[test]
fn what_an_inlined_epilogue_computes_is_what_its_text_says() {
    for epilogue in crate::epilogue::Epilogue::all() {
        let arguments: String = epilogue.arguments().iter().map(|value| format!(", {value:?}")).collect();
        let source = format!(
            "fn f(x: &Matrix<f16>, w: &Matrix<f16>, shift: f32, out: &mut Matrix<f16>) {{
                let y = dot(x, w) + shift;
                out = {}(y{arguments});
            }}",
            epilogue.name()
        );
        let body = read(&source).unwrap().body.unwrap();
        for x in [-3.0f32, -0.5, 0.0, 1.5] {
            let mut scope: Vec<(&str, f32)> = vec![("dot", x), ("shift", 0.25)];
            for step in body.steps() {
                let value = step.expr().eval(&scope);
                scope.push((step.name(), value));
            }
            assert_eq!(scope.last().unwrap().1, epilogue.eval(x + 0.25), "{} at {x}", epilogue.name());
        }
    }
}

#[test]
fn heads_that_no_tile_holds_are_told_of_with_what_holds_them() {
    let message = |value: &str| {
        let source = format!(
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {{
                let y = {value};
                out = y + rotate_half(y, 144);
            }}"
        );
        read(&source).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(message("dot(x, w.t()) - up"), "");
    let told = message("dot(x, w) - up");
    assert!(told.contains("store `w` as `[n, k]` and write `dot(x, w.t())`"), "{told}");
    for value in ["dot(x, w.t()) - dot(x, up.t())", "dot(x, w) - dot(x, up)"] {
        let told = message(value);
        let expected =
            "no tile has whole heads of 144 columns of both of two products; rotate in `#[autokernel::rows]`";
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn partners_that_nothing_written_sees_leave_a_problem_that_can_be_read_again() {
    let source = "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        let turned = dot(x, w.t()) + row_index();
        let idle = 2.0 * rotate_half(turned, 64);
        out = dot(x, w.t());
    }";
    let idle = problem::Problem::from(read(source).unwrap());
    let json = serde_json::to_string(&idle).unwrap();
    assert_eq!(serde_json::from_str::<problem::Problem>(&json).unwrap(), idle);
    let without = source.replace("let idle = 2.0 * rotate_half(turned, 64);", "");
    assert_eq!(idle.key(), problem::Problem::from(read(&without).unwrap()).key(), "it computes the same");
    let problem = read(&source.replace("out = dot(x, w.t())", "out = idle")).unwrap();
    assert_eq!(problem.body.unwrap().partners(), Some(Columns::RotateHalf(64)));
}

#[test]
fn partners_that_a_function_passes_over_leave_a_problem_that_can_be_read_again() {
    // What was drawn of seed 5105.
    let source = "fn kernel(x: &Matrix<bf16>, scale: &Column<f16>, w: &Matrix<bf16>, table: &Matrix<f32>,
        gate: &mut Matrix<f16>, row: &mut Matrix<bf16>, columns: &mut Matrix<f32>) {
        let turned = dot(x, w.t()) * 0.5 + row_index();
        let value = -(dot(x, w.t()));
        gate = (-scale.sin()).min((scale + repeat_columns(table)));
        columns = (bent(repeat_columns(table), rotate_half(turned, 32), value)).sqrt();
        row = scale + 0.25 * dot(x, w.t());
    }";
    let bent = crate::function::FunctionText {
        file: "drawn.rs".to_owned(),
        text: "fn bent(x: f32, unseen: f32, row: f32) -> f32 { x * row.exp() }".to_owned(),
        inside: None,
    };
    let attribute = spec::attribute("fused_matmul").unwrap();
    let spec = Spec::parse(attribute, TokenStream::new(), source.parse().unwrap(), &Functions::new(&[bent])).unwrap();
    let json = serde_json::to_string(&spec.problem).unwrap();
    assert_eq!(serde_json::from_str::<problem::Problem>(&json).unwrap(), spec.problem);
}

#[test]
fn the_derivative_of_an_epilogue_is_a_function_of_bodies_and_no_epilogue() {
    let source = "fn dz(dy: &Matrix<bf16>, w: &Matrix<bf16>, z: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = dot(dy, w) * leaky_relu_derivative(z, 0.25);
    }";
    let problem = read(source).unwrap();
    let body = problem.body.as_ref().unwrap();
    for (z, slope) in [(-3.0f32, 0.25), (2.0, 1.0)] {
        let mut scope: Vec<(&str, f32)> = vec![("dot", 5.0), ("z", z)];
        for step in body.steps() {
            let value = step.expr().eval(&scope);
            scope.push((step.name(), value));
        }
        assert_eq!(scope.last().unwrap().1, 5.0 * slope);
    }
    let function: syn::ItemFn = syn::parse_str(source).unwrap();
    let text = rust_function(&function.block, body, &[]).unwrap().to_string();
    assert!(text.contains("use :: autokernel :: __private :: epilogues :: leaky_relu_derivative ;"), "{text}");
    assert!("gelu_derivative".parse::<crate::epilogue::Epilogue>().is_err());
}

#[test]
fn the_same_product_twice_is_one() {
    let source = "fn f(x: &Matrix<f16>, w: &Matrix<f16>, out: &mut Matrix<f16>) { out = dot(x, w) * dot(x, w); }";
    assert_eq!(read(source).unwrap().body.unwrap().steps().count(), 1);
}

const SWIGLU: &str = "fn swiglu(up: &Matrix<bf16>, x: &Matrix<bf16>, r#in: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let gated = silu(dot(x, r#in.t()));
    out = gated * dot(x, up.t()) + dot(x, r#in.t());
}";

#[test]
fn two_products_of_one_factor_are_two_values_wherever_their_factors_stand() {
    let swiglu = read(SWIGLU).unwrap();
    assert_eq!(swiglu.to_string(), "matmul nt bf16, dot(x, r#in), dot(x, up) -> out: Matrix<bf16>");
    let body = swiglu.body.unwrap();
    assert_eq!((body.sums().collect::<Vec<_>>(), body.factors()), (vec!["dot", "dot_"], vec![1, 2, 0]));
}

#[test]
fn the_function_on_a_row_takes_each_of_two_products_as_an_operand() {
    let function: syn::ItemFn = syn::parse_str(SWIGLU).unwrap();
    let body = problem(&function).unwrap().body.unwrap();
    let twin: syn::ItemFn = syn::parse2(rust_function(&function.block, &body, &[]).unwrap()).unwrap();
    let expected = quote!(fn row(_number_of_the_row: ::autokernel::__private::Place, product_of_factors: &[f32], product_of_others: &[f32], out_written: &mut [f32]));
    assert_eq!(twin.sig.to_token_stream().to_string(), expected.to_string());
    let text = twin.block.to_token_stream().to_string();
    assert!(text.contains("silu (product_of_factors)"), "{text}");
    assert!(text.contains("gated * product_of_others + product_of_factors ;"), "{text}");
}

#[test]
fn the_function_on_a_row_takes_the_product_as_an_operand() {
    let function: syn::ItemFn = syn::parse_str(UP).unwrap();
    let body = problem(&function).unwrap().body.unwrap();
    let twin: syn::ItemFn = syn::parse2(rust_function(&function.block, &body, &[]).unwrap()).unwrap();
    let expected = quote! {
        fn row(_number_of_the_row: ::autokernel::__private::Place, product_of_factors: &[f32], bias: &[f32], skip: &[f32], out_written: &mut [f32])
    };
    assert_eq!(twin.sig.to_token_stream().to_string(), expected.to_string());
    let text = twin.block.to_token_stream().to_string();
    assert!(text.contains("use :: autokernel :: __private :: epilogues :: gelu ;"), "{text}");
    assert!(text.contains("out_written [column] = gelu (product_of_factors + bias) + skip ;"), "{text}");
}

#[test]
fn mistakes_in_a_body_are_told_with_what_can_be_written() {
    let plain = "x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>";
    let with_v = "x: &Matrix<bf16>, w: &Matrix<bf16>, v: &Matrix<bf16>, out: &mut Matrix<bf16>";
    let with_skip = "x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>";
    let cases = [
        (plain, "out = x;", "multiplies two of its operands"),
        (plain, "out = dot(x, w) + x;", "`x` is a factor of `dot`"),
        (plain, "out = dot(x, w) * dot(x, w.t());", "`w.t()` and `w` lie differently"),
        (plain, "out = dot(x, w) * dot(w, x);", "the same first factor, and that of the other one is `x`"),
        (plain, "out = dot(x, w) * dot(x, x);", "both factors"),
        (with_v, "out = dot(x, w) * dot(v, w);", "the same first factor"),
        (with_v, "out = dot(x, w.t()) * dot(x, v);", "`v` and `w.t()` lie differently"),
        (with_v, "out = dot(x, w.t()) * dot(x, v.t()) * dot(w, v.t());", "sums two products at most"),
        (with_v, "out = dot(x, w) * dot(x, v) + v;", "`v` is a factor of `dot`"),
        (with_v, "out = dot(x, w) * if 1.0 > 0.0 { dot(x, v) } else { 0.0 };", "bind it before"),
        (with_v, "out = dot(x.t(), w) * dot(x, v);", "the same first factor, and that of the other one is `x.t()`"),
        (plain, "out = dot(x, w.t().t());", "by its name, `w` or `w.t()`"),
        (plain, "out = dot(x + 1.0, w);", "by its name, `w` or `w.t()`"),
        (plain, "out = dot(x);", "`dot` takes two matrices"),
        (plain, "out = dot(x, x);", "both factors"),
        (plain, "out = dot(x, y);", "a factor of `dot` is a matrix that is read: `y: &Matrix<bf16>`"),
        (plain, "let w = 1.0; out = w * dot(x, w);", "`w` is a value here, which hides the operand"),
        (plain, "out = dot(x, out);", "in a factor of `dot`, which every tile reads"),
        (plain, "out = row_sum(dot(x, w));", "belongs in `#[autokernel::rows]`"),
        (plain, "out = if 1.0 > 0.0 { dot(x, w) } else { 0.0 };", "bind it before"),
        (plain, "let y = dot(x, w);", "`out` is never written"),
        (plain, "out = leaky_relu(dot(x, w));", "`leaky_relu` takes 2 arguments, not 1"),
        (with_skip, "out = dot(x, w);", "`skip` is never used"),
        (
            "x: &Matrix<f32>, w: &Matrix<f32>, out: &mut Matrix<f32>",
            "out = dot(x, w);",
            "multiply f32 as tf32, by 10 of the 23 bits of a fraction; write `tf32`",
        ),
        ("x: &Matrix<f16>, w: &Matrix<bf16>, out: &mut Matrix<f32>", "out = dot(x, w);", "the same type"),
        (
            "x: &Matrix<f16>, w: &Matrix<f16>, v: &Matrix<bf16>, out: &mut Matrix<f32>",
            "out = dot(x, w) * dot(x, v);",
            "`x` holds f16 and `v` holds bf16; give both the same type",
        ),
        (
            "x: &Matrix<f16>, w: &Matrix<f16>, v: &Row<f16>, out: &mut Matrix<f32>",
            "out = dot(x, w) * dot(x, v);",
            "a factor of `dot` is a matrix that is read: `v: &Matrix<bf16>`",
        ),
        (
            "x: &Matrix<e4m3>, w: &Matrix<e4m3>, out: &mut Matrix<bf16>",
            "out = dot(x, w);",
            "multiply e4m3 along the rows of both factors alone; store `w` transposed and write `dot(x, w.t())`",
        ),
        (
            "x: &Matrix<e4m3>, w: &Matrix<e4m3>, out: &mut Matrix<bf16>",
            "out = dot(x.t(), w.t());",
            "store `x` as `[m, k]` and write `dot(x, w.t())`",
        ),
        (
            "x: &Matrix<f16>, w: &Batch<f16>, offsets: &Index, out: &mut Matrix<f32>",
            "out = dot(x.t(), w);",
            "an `Index` divides rows of `x` into groups",
        ),
        ("x: &Matrix<e4m3>, w: &Matrix<bf16>, out: &mut Matrix<bf16>", "out = dot(x, w.t());", "or the second `e5m2`"),
        (
            "x: &Matrix<e5m2>, w: &Matrix<e4m3>, v: &Matrix<e5m2>, out: &mut Matrix<bf16>",
            "out = dot(x, w.t()) * dot(x, v.t());",
            "`w` holds e4m3 and `v` holds e5m2; give both the same type",
        ),
        (
            "x: &Matrix<e4m3>, w: &Matrix<e4m3>, bias: &Row<e4m3>, out: &mut Matrix<bf16>",
            "out = dot(x, w.t()) + bias;",
            "e4m3 is a type of the factors of `dot` and of a `&mut Matrix` that is written; make this bf16, f16 or f32",
        ),
        (
            "x: &Matrix<e4m3>, w: &Matrix<e4m3>, out: &mut Matrix<bf16>, largest: &mut Column<e5m2>",
            "let y = dot(x, w.t()); out = y; largest = row_max(y);",
            "e5m2 is a type of the factors of `dot` and of a `&mut Matrix`",
        ),
        (
            "x: &Matrix<i8>, w: &Matrix<i8>, out: &mut Matrix<bf16>",
            "out = dot(x, w);",
            "multiply i8 along the rows of both factors alone; store `w` transposed",
        ),
        (
            "x: &Matrix<i8>, w: &Matrix<i8>, out: &mut Column<i8>",
            "out = row_sum(dot(x, w.t()));",
            "make this bf16, f16 or f32",
        ),
        ("x: &Matrix<f16>, w: &Row<f16>, out: &mut Matrix<f32>", "out = dot(x, w);", "is a matrix that is read"),
        (
            "x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<i8>, out: &mut Matrix<bf16>",
            "out = dot(x, gate.t()) * dot(x, up.t());",
            "`gate` holds bf16 and `up` holds i8; give both the same type",
        ),
        (
            "x: &Matrix<bf16>, w: &Matrix<i4x2>, s: &Matrix<f16>, up: &Matrix<i4x2>, out: &mut Matrix<bf16>",
            "out = dot(x, (w * s).t()) * dot(x, up.t());",
            "have scales of groups, or neither",
        ),
        (
            "x: &Matrix<bf16>, w: &Matrix<bf16>, s: &Matrix<f16>, out: &mut Matrix<bf16>",
            "out = dot(x, (w * s).t());",
            "scales of groups are of `i8` or `i4x2`",
        ),
        (
            "x: &Matrix<e4m3>, w: &Matrix<e5m2>, s: &Matrix<f32>, out: &mut Matrix<bf16>",
            "out = dot(x, (w * s).t());",
            "`w` holds e5m2 beside e4m3: scales of groups are of `i8` or `i4x2`",
        ),
        ("x: &Matrix<i4x2>, w: &Matrix<i4x2>, out: &mut Matrix<bf16>", "out = dot(x, w.t());", "convert this operand"),
        (
            "x: &Matrix<bf16>, w: &Batch<i8>, s: &Matrix<f16>, out: &mut Batch<bf16>",
            "out = dot(x, (w * s).t());",
            "`w` is a `Batch`, so `s` is one too: write `s: &Batch<f16>`",
        ),
        (
            "x: &Batch<bf16>, w: &Matrix<i8>, s: &Batch<f16>, out: &mut Batch<bf16>",
            "out = dot(x, (w * s).t());",
            "`w` is one matrix for all products, so `s` is one too: write `s: &Matrix<f16>`",
        ),
        (
            "x: &Matrix<bf16>, w: &Batch<i4x2>, s: &Batch<f16>, z: &Matrix<i8>, offsets: &Index, out: &mut Matrix<bf16>",
            "out = dot(x, ((w - z) * s).t());",
            "`w` is a `Batch`, so `z` is one too: write `z: &Batch<i8>`",
        ),
        (
            "x: &Batch<bf16>, w: &Batch<i8>, s: &Batch<f16>, v: &Matrix<i8>, t: &Matrix<f16>, out: &mut Batch<bf16>",
            "out = dot(x, (w * s).t()) + dot(x, (v * t).t());",
            "of `w` and `v` one is a `Batch` and the other is not",
        ),
        (
            "x: &Matrix<e4m3>, xs: &Batch<f32>, w: &Batch<e4m3>, ws: &Batch<f32>, offsets: &Index, out: &mut Matrix<bf16>",
            "out = dot(x * xs, (w * ws).t());",
            "`x` is one matrix for all products, so `xs` is one too: write `xs: &Matrix<f32>`",
        ),
        (
            "x: &Matrix<e4m3>, xs: &Matrix<f32>, dy: &Matrix<e4m3>, ds: &Matrix<f32>, offsets: &Index, dw: &mut Batch<f32>",
            "dw = dot(x * xs, (dy * ds).t());",
            "scales of blocks lie along K, and so do the groups here",
        ),
        (
            "x: &Matrix<e4m3>, dy: &Matrix<e4m3>, offsets: &Index, dw: &mut Batch<f32>",
            "dw = dot(x.t(), dy);",
            "groups along K are of bf16 or f16, and `x` holds e4m3; convert this operand",
        ),
        (
            "x: &Matrix<f32>, dy: &Matrix<f32>, offsets: &Index, dw: &mut Batch<f32>",
            "dw = dot(x.t(), dy);",
            "groups along K are of bf16 or f16, and `x` holds f32",
        ),
        (
            "x: &Matrix<bf16>, dy: &Matrix<i8>, offsets: &Index, dw: &mut Batch<f32>",
            "dw = dot(x, dy.t());",
            "groups along K are of bf16 or f16, and `dy` holds i8",
        ),
        (
            "x: &Batch<bf16>, w: &Batch<bf16>, s: &mut ScalarBatch<f32>, out: &mut Batch<bf16>",
            "let y = dot(x, w.t()); out = y; s = column_max(row_max(y));",
            "`s` is reduced of one product, and there are many here",
        ),
        ("x: &Matrix<f16>, w: &Matrix<f16>, out: &mut Column<f32>", "out = dot(x, w);", "write a `&mut Matrix`"),
    ];
    for (parameters, body, expected) in cases {
        let message = read(&format!("fn f({parameters}) {{ {body} }}")).unwrap_err().into_iter();
        let messages: Vec<String> = message.map(|error| error.to_string()).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{body}: {messages:?}");
    }
}

#[test]
fn a_body_of_as_many_operands_as_there_may_be_has_a_schedule_on_every_arch() {
    for dots in ["dot(x, w.t())", "dot(x, w.t()) * dot(x, v.t())"] {
        let parameters: String = (0..16).map(|number| format!("x{number}: &Matrix<f32>, ")).collect();
        let sum = (0..16).map(|number| format!("x{number}")).collect::<Vec<_>>().join(" + ");
        let second = if dots.contains('v') { "v: &Matrix<bf16>, " } else { "" };
        let source = format!(
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, {second}{parameters}out: &mut Matrix<f32>) {{ out = {dots} + {sum}; }}"
        );
        let class = problem::Problem::from(read(&source).unwrap()).class();
        for arch in [Arch::SM_80, Arch::SM_90A] {
            assert_eq!(class.check(&class.default_schedule(arch), arch), Ok(()), "{source}, {arch}");
        }
    }
}

#[test]
fn an_output_whose_scales_are_made_is_one_of_blocks_and_the_function_on_a_row_scales_it() {
    let source = "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out_scales: &mut Matrix<f32>, out: &mut Matrix<e5m2>) {
        let y = dot(x, w.t());
        out * out_scales = relu(y);
    }";
    let function: syn::ItemFn = syn::parse_str(source).unwrap();
    let problem = problem_with(quote!(block = 128), &function).unwrap();
    let shown = "matmul nt bf16, dot(x, w) -> out_scales: Matrix<f32>, out: Matrix<e5m2> in blocks of 128";
    assert_eq!((problem.to_string().as_str(), problem.block, problem.output), (shown, None, Dtype::E5m2));
    let text = rust_function(&function.block, &problem.body.unwrap(), &[]).unwrap().to_string();
    let scaled = ":: autokernel :: __private :: scale_blocks (out_written , out_scales_written , 128usize , 57344f32)";
    assert!(text.contains(scaled), "{text}");

    let told = |settings, source: &str| {
        let told = problem_with(settings, &syn::parse_str(source).unwrap()).map(|_| ());
        told.unwrap_err().into_iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
    };
    let unsized_blocks = told(quote!(), source);
    assert!(unsized_blocks.contains("of how many columns of `out` is an element of `out_scales`?"), "{unsized_blocks}");
    let sum = told(quote!(block = 128), &source.replace("out * out", "out + out"));
    assert!(sum.contains("only an output is assigned to"), "{sum}");
    let of_weights = told(quote!(block = 128), &source.replace("w: &Matrix<bf16>", "w: &Matrix<i8>"));
    assert!(of_weights.contains("blocks lie apart where a product's weights are whole numbers"), "{of_weights}");
}

#[test]
fn what_the_matrix_units_multiply_is_the_factors_wherever_they_stand_among_the_operands() {
    let multiplied = |parameters: &str, value: &str| {
        let source = format!("fn f({parameters}) {{ out = {value}; }}");
        let problem = crate::problem::Problem::from(read(&source).unwrap());
        let first = problem.signature().operands[0].dtype;
        (first, problem.class().multiplies().unwrap())
    };
    let scaled = "s: &Column<f32>, x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>";
    assert_eq!(multiplied(scaled, "s * dot(x, w.t())"), (Dtype::F32, Dtype::Bf16));
    let grouped = "offsets: &Index, x: &Matrix<f16>, w: &Batch<f16>, out: &mut Matrix<f16>";
    assert_eq!(multiplied(grouped, "dot(x, w.t())"), (Dtype::I32, Dtype::F16));
    let of_few_bits = "w: &Matrix<i4x2>, x: &Matrix<bf16>, out: &mut Matrix<bf16>";
    assert_eq!(multiplied(of_few_bits, "dot(x, w.t())"), (Dtype::I4x2, Dtype::Bf16));
}

#[test]
fn a_body_has_no_height_that_it_stores_in_many_boxes_but_the_tallest() {
    let function = parse_quote! {
        fn product(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            out = dot(x, w.t());
        }
    };
    let mode = Mode::PingPong;
    let tallest = Sm90Schedule { consumers: 2, swap_ab: true, rows_up_to: 176, mode, ..Sm90Schedule::PLAIN };
    let rows: Vec<u32> = heights(&problem(&function).unwrap().class(), &tallest).map(|of| of.tile_m).collect();
    assert_eq!(rows, [48, 56, 64, 72, 80, 96, 112, 120, 128, 144, 160, 176], "88 and 104 rows are boxes of 8");
}
