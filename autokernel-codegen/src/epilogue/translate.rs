//! From a Rust function to an epilogue's expression tree.

use syn::spanned::Spanned;
use syn::{Error, Result};

use autokernel_ops::expr::{Binding, Expr, Function};

use crate::function::Functions;
use crate::translate::{Text, Translator, Value};
use crate::words::{binding_name, expect_f32};

/// Translates `function`, whose parameters after the first take the values `arguments`.
pub fn translate(function: &syn::ItemFn, arguments: &[f32]) -> Result<Function> {
    let parameters: Vec<String> = function.sig.inputs.iter().map(parameter_name).collect::<Result<_>>()?;
    let (parameter, rest) = parameters
        .split_first()
        .ok_or_else(|| Error::new(function.sig.span(), "an epilogue takes the accumulated element: `x: f32`"))?;

    let none = Functions::default();
    let mut translator = Translator::new(Text::Epilogue, &none);
    translator.declare(parameter);
    for (name, value) in rest.iter().zip(arguments) {
        translator.bind(name, Value::Number(Expr::Literal(*value)), &function.sig);
    }
    let result = translator.block(&function.block)?;
    let bindings = translator.bound.into_iter().filter_map(|bound| match bound.value {
        Value::Number(value) => Some(Binding { name: bound.name, value }),
        Value::Reduced(..) | Value::Fetched { .. } | Value::Product(_) => None,
    });
    Ok(Function { parameter: parameter.clone(), bindings: bindings.collect(), result })
}

fn parameter_name(argument: &syn::FnArg) -> Result<String> {
    let syn::FnArg::Typed(typed) = argument else {
        return Err(Error::new(argument.span(), "an epilogue is a free function; remove `self`"));
    };
    expect_f32(&typed.ty)?;
    binding_name(&typed.pat)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(source: &str) -> Result<Function> {
        translate(&syn::parse_str(source).unwrap(), &[])
    }

    #[test]
    fn a_shadowed_name_means_the_value_in_scope() {
        let shadowed = function("fn f(x: f32) -> f32 { let x = x + 1.0; let x = x * x; x }").unwrap();
        assert_eq!(shadowed.eval(2.0), 9.0);
    }

    #[test]
    fn a_number_whose_type_is_written_needs_no_point() {
        assert_eq!(function("fn f(x: f32) -> f32 { 1_000f32 + x * 2_f32 }").unwrap().eval(3.0), 1006.0);
    }

    #[test]
    fn a_let_inside_a_branch_stays_inside_it() {
        let source = "fn f(x: f32) -> f32 { let y = 10.0; if x < 0.0 { let y = -x; y } else { y } }";
        let branched = function(source).unwrap();
        assert_eq!((branched.eval(-3.0), branched.eval(3.0)), (3.0, 10.0));
    }

    #[test]
    fn else_if_chains_and_conditions_evaluate_as_in_rust() {
        let source = "fn f(x: f32) -> f32 { if x < 0.0 || x > 9.0 { 0.0 } else if !(x == 1.0) { 1.0 } else { 2.0 } }";
        let chained = function(source).unwrap();
        assert_eq!([-1.0, 10.0, 5.0, 1.0].map(|x| chained.eval(x)), [0.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn what_cannot_be_translated_is_refused_with_what_can() {
        for (body, expected) in [
            ("x.powf(2.0)", "a square is `x * x`"),
            ("x.atan()", "and these methods of `f32`: abs, max"),
            ("erfc(x)", "these functions: erf, and"),
            ("f32::atan(x)", "no CUDA counterpart"),
            ("f64::tanh(x)", "no CUDA counterpart"),
            ("x.erf()", "write `erf(x)`"),
            ("tanh(x)", "write `x.tanh()`"),
            ("erf(x, 1.0)", "takes 1 argument, not 2"),
            ("x as f32", "cannot be translated"),
            ("y", "only its parameters"),
            ("row_sum(x)", "an epilogue sees one element"),
            ("x + 1", "write the number as `1.0`"),
            ("if x < 0.0 { 1.0 }", "needs its `else`"),
            ("let mut y = x; y", "immutable"),
            ("x ^ 2.0", "`+`, `-`, `*`, `/` and `%`"),
            ("x < 2.0", "this is a condition"),
            ("!(x < 2.0)", "this is a condition"),
            ("x.max()", "takes 1 argument, not 0"),
        ] {
            let message = function(&format!("fn f(x: f32) -> f32 {{ {body} }}")).unwrap_err().to_string();
            assert!(message.contains(expected), "{body}: {message}");
        }
    }
}
