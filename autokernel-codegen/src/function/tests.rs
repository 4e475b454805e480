use autokernel_ops::expr::cuda::Spelling;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Result};

use super::*;
use crate::block::Block;
use crate::translate::check_function;
use crate::twin::function_items;

fn functions(texts: &[(&str, &str)]) -> Functions {
    let texts: Vec<FunctionText> = texts
        .iter()
        .map(|(file, text)| FunctionText { file: (*file).to_owned(), text: (*text).to_owned(), inside: None })
        .collect();
    Functions::new(&texts)
}

fn named(name: &str) -> Ident {
    Ident::new(name, proc_macro2::Span::call_site())
}

/// The steps of a body that calls `functions`.
fn steps(body: &str, functions: &Functions) -> Result<String> {
    let attribute = crate::spec::attribute("rows").unwrap();
    let item = format!("fn kernel(x: &Matrix<f32>, y: &Matrix<f32>, out: &mut Matrix<f32>) {{ {body} }}");
    let spec = crate::spec::Spec::parse(attribute, TokenStream::new(), item.parse().unwrap(), functions)?;
    let crate::problem::Problem::Rows(problem) = spec.problem else { panic!("rows are declared") };
    let steps = problem.body().steps.iter().map(|step| {
        let value = Spelling::Exact.number(step.expr());
        format!("{} = {value}", step.name())
    });
    Ok(steps.collect::<Vec<_>>().join("; "))
}

#[test]
fn a_call_becomes_the_text_of_its_function_on_values_of_its_own() {
    let functions = functions(&[
        ("a.rs", "fn bent(x: f32, slope: f32) -> f32 { let y = twice(x); if y < 0.0 { y * slope } else { x } }"),
        ("b.rs", "fn twice(y: f32) -> f32 { y + y }"),
    ]);
    let expected = "bent_x = (y - x); bent_slope = 0.5f; twice_y = bent_x; y_ = (twice_y + twice_y); \
                    out = ((y_ < 0.0f) ? (y_ * bent_slope) : bent_x)";
    assert_eq!(steps("out = bent(y - x, 0.5);", &functions).unwrap(), expected, "no name means another one's value");
    let twice = steps("out = if x > y { twice(twice(x)) } else { twice(y) };", &functions).unwrap();
    assert!(twice.contains("twice_y = x; twice_y_ = (twice_y + twice_y); twice_y__ = y"), "{twice}");
}

#[test]
fn an_output_may_have_the_name_of_a_function_that_is_called_and_an_input_may_not() {
    let functions = functions(&[("a.rs", "fn out(x: f32) -> f32 { -x }"), ("a.rs", "fn y(x: f32) -> f32 { x + 1.0 }")]);
    assert_eq!(steps("out = out(x) + y;", &functions).unwrap(), "out_x = x; out = ((-out_x) + y)");
    let message = steps("out = x + y(x);", &functions).unwrap_err().to_string();
    assert!(message.contains("`y` is a number here and a function that is called"), "{message}");
}

#[test]
fn a_call_that_has_no_meaning_is_an_error_that_says_what_has() {
    let functions = functions(&[
        ("src/a.rs", "fn one(x: f32) -> f32 { two(x) }"),
        ("src/b.rs", "fn two(x: f32) -> f32 { one(x) }"),
        ("src/a.rs", "fn same(x: f32) -> f32 { x }"),
        ("src/b.rs", "pub fn same(x : f32) -> f32 {\n    x\n}"),
        ("src/a.rs", "fn twin(x: f32) -> f32 { x }"),
        ("src/b.rs", "fn twin(x: f32) -> f32 { -x }"),
        ("src/a.rs", "fn sees_nothing(z: f32) -> f32 { z + x }"),
        ("src/a.rs", "fn sums(z: f32) -> f32 { row_sum(z) }"),
    ]);
    for (body, expected) in [
        ("out = one(x);", "`one` calls `two` calls `one`"),
        ("out = twin(x);", "2 functions are called `twin`, in src/a.rs and src/b.rs"),
        ("out = same(x, y);", "`same` takes 1 argument, not 2"),
        ("out = sees_nothing(x);", "there is no `x` here"),
        ("out = sums(x);", "pass its value as an argument"),
        ("out = other(x);", "mark a function of this crate `#[autokernel::function]`"),
        ("out = crate::same(x);", "this has no CUDA counterpart"),
        ("out = x.same();", "`same` has no CUDA counterpart here"),
    ] {
        let message = steps(body, &functions).unwrap_err().to_string();
        assert!(message.contains(expected), "{body}: {message}");
    }
    assert_eq!(steps("out = same(x);", &functions).unwrap(), "same_x = x; out = same_x", "the same text twice is one");
}

#[test]
fn a_function_that_stands_in_no_module_is_refused_where_it_stands_and_where_it_is_called() {
    let text = |text: &str, inside| FunctionText { file: "a.rs".to_owned(), text: text.to_owned(), inside };
    let (local, twice) = ("fn local(x: f32) -> f32 { -x }", "fn twice(x: f32) -> f32 { x + x }");
    let functions = Functions::new(&[
        text(local, Some(Block::Function)),
        text(twice, Some(Block::Impl)),
        text(twice, None),
        text("fn local_too(x: f32) -> f32 { x }", None),
        text("fn local_too(x: f32) -> f32 { -x }", Some(Block::Function)),
    ]);
    let place = |text: &str| functions.check_place(&Function::parse(text.parse().unwrap()).unwrap());
    for error in [place(local).unwrap_err(), functions.find(&named("local")).unwrap().err().unwrap()] {
        assert!(error.to_string().contains("`local` stands in a function, and kernels import"), "{error}");
    }
    place(twice).expect("the same stands in a module");
    assert_eq!(steps("out = local_too(x) + y;", &functions).unwrap(), "local_too_x = x; out = (local_too_x + y)");
}

#[test]
fn a_fingerprint_is_of_the_text_and_of_what_it_calls_however_it_is_spaced() {
    let of = |inner: &str, outer: &str| {
        functions(&[("a.rs", inner), ("a.rs", outer)]).called(&named("outer")).unwrap().fingerprint
    };
    let (inner, outer) = ("fn inner(x: f32) -> f32 { x + 1.0 }", "fn outer(x: f32) -> f32 { inner(x) * 2.0 }");
    assert_eq!(of(inner, outer), of("#[inline] pub fn inner(x:f32)->f32{x+1.0}", &outer.replace(' ', "  ")));
    assert_ne!(of(inner, outer), of(&inner.replace("1.0", "1.5"), outer));
    assert_ne!(of(inner, outer), of(inner, &outer.replace('*', "/")));
    assert_ne!(of(inner, outer), of(inner, &outer.replace("inner(x)", "inner(-x)")));
}

#[test]
fn what_rustc_computes_of_the_items_is_what_the_build_computed() {
    let functions =
        functions(&[("a.rs", "fn inner(x: f32) -> f32 { erf(x) }"), ("a.rs", "fn outer(x: f32) -> f32 { inner(x) }")]);
    let outer = functions.find(&named("outer")).unwrap().unwrap();
    let inner = functions.called(&named("inner")).unwrap().fingerprint;
    let own = fingerprint::own(outer);
    let expected = quote! { ::autokernel::__private::fingerprint(#own, &[super::inner::FINGERPRINT]) }.to_string();
    assert!(function_items(outer).to_string().contains(&expected), "{}", function_items(outer));
    assert_eq!(functions.called(&named("outer")).unwrap().fingerprint, autokernel_core::fingerprint(own, &[inner]));
    let items = function_items(functions.find(&named("inner")).unwrap().unwrap()).to_string();
    assert!(items.contains(&quote! { use ::autokernel::__private::erf; }.to_string()), "{items}");
}

#[test]
fn what_is_no_function_of_numbers_is_refused_with_its_remedy() {
    for (item, expected) in [
        ("struct S;", "belongs on a function"),
        ("fn f(x: f64) -> f32 { 1.0 }", "write `f32` here"),
        ("fn f(x: f32) { x }", "gives one number"),
        ("fn f(x: f32) -> f64 { x }", "write `f32` here"),
        ("fn f<T>(x: f32) -> f32 { x }", "remove the generics"),
        ("const fn f(x: f32) -> f32 { x }", "remove `async`, `const`"),
        ("fn f(&self) -> f32 { 1.0 }", "remove `self`"),
        ("fn f(mut x: f32) -> f32 { x }", "plain, immutable name"),
        ("fn gelu(x: f32) -> f32 { x }", "would hide `gelu`"),
        ("fn f(dot: f32) -> f32 { dot }", "would hide `dot`"),
        ("fn f(x: f32) -> f32 { f(x) }", "`f` calls `f`"),
        ("fn f(x: f32) -> f32 { dot(x, x) }", "pass its value as an argument"),
        ("fn f(x: f32) -> f32 { x ^ 2.0 }", "`+`, `-`, `*`, `/` and `%`"),
        ("fn f(x: f32) -> f32 { const x: f32 = 1.0; x }", "give it a name of its own"),
        ("fn f(x: f32) -> f32 { const Y: f32 = 1.0; let Y = x; Y }", "is a constant"),
    ] {
        let read = Function::parse(item.parse().unwrap())
            .and_then(|function| check_function(&function, &Functions::default()));
        let message = read.unwrap_err().to_string();
        assert!(message.contains(expected), "{item}: {message}");
    }
}
