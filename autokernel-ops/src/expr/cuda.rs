//! From expression trees to CUDA.

use std::fmt::Write;

use super::{BinaryOp, Condition, Expr, Function, Math};

/// The body of a `float epilogue(float x)` device function, one statement a line.
pub fn body(function: &Function) -> String {
    let mut text = String::new();
    for binding in &function.bindings {
        writeln!(text, "const float {} = {};", binding.name, number(&binding.value)).expect("strings take any text");
    }
    write!(text, "return {};", number(&function.result)).expect("strings take any text");
    text
}

/// How operations that can be computed in more than one way are written.
pub trait Spelling {
    /// What a function is called.
    fn function(&self, function: Math) -> String {
        format!("autokernel::math::{}", function.name())
    }

    /// A quotient.
    fn quotient(&self, left: &str, right: &str) -> String {
        format!("({left} / {right})")
    }
}

/// Functions of `autokernel::math` and C++'s own operators, which round as Rust's do.
struct Exact;

impl Spelling for Exact {}

/// The expression, with each name as it is.
pub fn number(expr: &Expr) -> String {
    number_as(expr, &Exact)
}

/// The expression in another spelling.
pub fn number_as(expr: &Expr, spelling: &impl Spelling) -> String {
    let number = |expr: &Expr| number_as(expr, spelling);
    match expr {
        Expr::Variable(name) => name.clone(),
        Expr::Literal(value) => literal(*value),
        Expr::Negate(value) => format!("(-{})", number(value)),
        Expr::Binary(BinaryOp::Divide, left, right) => spelling.quotient(&number(left), &number(right)),
        Expr::Binary(op, left, right) => format!("({} {} {})", number(left), op.symbol(), number(right)),
        Expr::Call(function, args) => {
            let args: Vec<String> = args.iter().map(number).collect();
            format!("{}({})", spelling.function(*function), args.join(", "))
        }
        Expr::If(condition, then, otherwise) => {
            format!("({} ? {} : {})", truth(condition, spelling), number(then), number(otherwise))
        }
    }
}

fn truth(condition: &Condition, spelling: &impl Spelling) -> String {
    let number = |expr: &Expr| number_as(expr, spelling);
    let truth = |condition: &Condition| truth(condition, spelling);
    match condition {
        Condition::Compare(op, left, right) => format!("({} {} {})", number(left), op.symbol(), number(right)),
        Condition::Not(condition) => format!("(!{})", truth(condition)),
        Condition::And(left, right) => format!("({} && {})", truth(left), truth(right)),
        Condition::Or(left, right) => format!("({} || {})", truth(left), truth(right)),
    }
}

/// The shortest decimal that reads back as the same `f32`, as a C literal.
fn literal(value: f32) -> String {
    if value.is_finite() { format!("{value:?}f") } else { format!("__int_as_float(0x{:08x})", value.to_bits()) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::epilogue::Epilogue;

    fn cuda(epilogue: &str) -> String {
        epilogue.parse::<Epilogue>().unwrap().cuda_body()
    }

    #[test]
    fn leaky_relu_becomes_one_select() {
        expect![[r#"
            const float negative_slope = 0.2f;
            return ((x < 0.0f) ? (negative_slope * x) : x);"#]]
        .assert_eq(&cuda("leaky_relu(0.2)"));
    }

    #[test]
    fn gelu_calls_erf() {
        expect![[r#"
            const float SQRT_HALF = 0.70710677f;
            return ((0.5f * x) * (1.0f + autokernel::math::erf((SQRT_HALF * x))));"#]]
        .assert_eq(&cuda("gelu"));
    }

    #[test]
    fn gelu_tanh_keeps_its_named_constants() {
        expect![[r#"
            const float SQRT_2_OVER_PI = 0.7978846f;
            const float CUBIC = 0.044715f;
            return ((0.5f * x) * (1.0f + autokernel::math::tanh((SQRT_2_OVER_PI * (x + (((CUBIC * x) * x) * x))))));"#]]
        .assert_eq(&cuda("gelu_tanh"));
    }
}
