//! The expression trees of the built-in epilogues, as `autokernel-ops` keeps them.

use autokernel_ops::epilogue::Builtin;

use super::{builtin_functions, derivative_functions, translate};

/// The JSON of every built-in epilogue, from its Rust text.
pub fn builtins_json() -> String {
    json(&builtin_functions())
}

/// The same of their derivatives.
pub fn derivatives_json() -> String {
    json(&derivative_functions())
}

fn json(functions: &[syn::ItemFn]) -> String {
    let builtins: Vec<Builtin> = functions.iter().map(builtin).collect();
    let mut text = serde_json::to_string_pretty(&builtins).expect("trees have only string keys");
    text.push('\n');
    text
}

fn builtin(function: &syn::ItemFn) -> Builtin {
    let parameters = function.sig.inputs.len() - 1;
    let function_tree = translate(function, &vec![0.0; parameters]).expect("built-in epilogues translate");
    Builtin { name: function.sig.ident.to_string(), parameters, function: function_tree }
}

#[cfg(test)]
mod tests {
    use autokernel_ops::epilogue::Epilogue;
    use autokernel_ops::expr::{BinaryOp, CompareOp, Condition, Expr, Function, Math};

    #[test]
    fn the_checked_in_trees_are_those_of_the_text() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../autokernel-ops/src/epilogue");
        for (file, json) in [("builtin.json", super::builtins_json()), ("derivatives.json", super::derivatives_json())]
        {
            expect_test::expect_file![format!("{folder}/{file}")].assert_eq(&json);
        }
    }

    /// The value and its slope in fp64, by the central difference of two values that the tree gives.
    fn slope(function: &Function, x: f64) -> f64 {
        const STEP: f64 = 1e-5;
        (value(function, x + STEP) - value(function, x - STEP)) / (2.0 * STEP)
    }

    fn value(function: &Function, x: f64) -> f64 {
        let mut names = vec![(function.parameter.as_str(), x)];
        for binding in &function.bindings {
            let value = eval(&binding.value, &names);
            names.push((&binding.name, value));
        }
        eval(&function.result, &names)
    }

    fn eval(expr: &Expr, names: &[(&str, f64)]) -> f64 {
        let of = |expr: &Expr| eval(expr, names);
        match expr {
            Expr::Variable(name) => names.iter().find(|(known, _)| known == name).unwrap().1,
            Expr::Literal(value) => f64::from(*value),
            Expr::Negate(value) => -of(value),
            Expr::Binary(BinaryOp::Add, left, right) => of(left) + of(right),
            Expr::Binary(BinaryOp::Subtract, left, right) => of(left) - of(right),
            Expr::Binary(BinaryOp::Multiply, left, right) => of(left) * of(right),
            Expr::Binary(BinaryOp::Divide, left, right) => of(left) / of(right),
            Expr::Call(Math::Exp, of_one) => of(&of_one[0]).exp(),
            Expr::Call(Math::Tanh, of_one) => of(&of_one[0]).tanh(),
            Expr::Call(Math::Erf, of_one) => libm::erf(of(&of_one[0])),
            Expr::Call(Math::Min, of_two) => of(&of_two[0]).min(of(&of_two[1])),
            Expr::If(condition, then, otherwise) => match &**condition {
                Condition::Compare(CompareOp::Less, left, right) if of(left) < of(right) => of(then),
                Condition::Compare(CompareOp::LessEqual, left, right) if of(left) <= of(right) => of(then),
                Condition::Compare(CompareOp::Less | CompareOp::LessEqual, ..) => of(otherwise),
                other => panic!("no epilogue has {other:?}"),
            },
            other => panic!("no epilogue has {other:?}"),
        }
    }

    #[test]
    fn a_derivative_is_the_slope_of_its_epilogue_in_fp64() {
        let all = Epilogue::of_bodies();
        let derivatives = all.iter().filter_map(|it| Some((it, it.name().strip_suffix("_derivative")?)));
        let mut found = 0;
        for (derivative, name) in derivatives {
            let epilogue = all.iter().find(|it| it.name() == name).unwrap();
            assert_eq!(derivative.arguments(), epilogue.arguments(), "{name}");
            for at in -120..=120 {
                let x = f64::from(at) / 10.0 + 0.037;
                let (given, expected) = (value(derivative.function(), x), slope(epilogue.function(), x));
                assert!((given - expected).abs() < 1e-6, "{name} at {x}: {given}, not {expected}");
            }
            for far in [-1e30f32, -200.0, 200.0, 1e30] {
                let limit = derivative.eval(far);
                assert!(limit.is_finite() && (-0.1..=1.1).contains(&limit), "{name} at {far}: {limit}");
            }
            found += 1;
        }
        assert_eq!(found, Epilogue::all().len() - 1, "all but the identity have one");
    }
}
