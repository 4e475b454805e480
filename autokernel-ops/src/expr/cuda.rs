//! From expression trees to CUDA.

use std::fmt::Write;

use super::{BinaryOp, Condition, Expr, Function, Math, Precision};

/// How what can be computed in more than one way is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Functions of `autokernel::math` and C++'s own operators, which round as Rust's do.
    Exact,
    /// Quotients without a slow path, and short functions.
    Fast(Precision),
    /// The same, and roots without a slow path: what stands in a kernel of a product, whose loops would all yield to lanes that take one.
    Straight(Precision),
}

impl Spelling {
    /// The same without slow paths.
    pub fn straight(self) -> Self {
        match self {
            Spelling::Fast(precision) => Spelling::Straight(precision),
            other => other,
        }
    }

    /// What results need to be exact to; nothing where they round as Rust's do.
    fn precision(self) -> Option<Precision> {
        match self {
            Spelling::Exact => None,
            Spelling::Fast(precision) | Spelling::Straight(precision) => Some(precision),
        }
    }

    fn call(self, function: Math, args: &[String]) -> String {
        match (self.precision(), function) {
            (Some(precision), Math::Exp) if precision.is_short() => format!("autokernel::fast_math::exp({})", args[0]),
            (Some(Precision::Exponent), Math::Tanh) => format!("autokernel::fast_math::tanh({})", args[0]),
            (Some(_), Math::Recip) => self.quotient("1.0f", &args[0]),
            (Some(_), Math::Sqrt) if matches!(self, Spelling::Straight(_)) => {
                format!("autokernel::fast_math::sqrt({})", args[0])
            }
            _ => format!("autokernel::math::{}({})", function.name(), args.join(", ")),
        }
    }

    /// A quotient of two numbers.
    pub fn quotient(self, left: &str, right: &str) -> String {
        match self.precision() {
            None => format!("({left} / {right})"),
            Some(_) => format!("autokernel::fast_math::quotient({left}, {right})"),
        }
    }

    /// The function and the argument of a sum that is computed as one.
    fn one_plus(self, expr: &Expr) -> Option<(Math, &Expr)> {
        self.precision().filter(|precision| precision.is_short()).and_then(|_| expr.one_plus())
    }

    /// The body of a `float epilogue(float x)` device function, one statement a line.
    pub fn body(self, function: &Function) -> String {
        let mut text = String::new();
        for binding in &function.bindings {
            writeln!(text, "const float {} = {};", binding.name, self.number(&binding.value))
                .expect("strings take any text");
        }
        write!(text, "return {};", self.number(&function.result)).expect("strings take any text");
        text
    }

    /// The expression, with each name as it is.
    pub fn number(self, expr: &Expr) -> String {
        if let Some((function, arg)) = self.one_plus(expr) {
            return format!("autokernel::fast_math::one_plus_{}({})", function.name(), self.number(arg));
        }
        match expr {
            Expr::Variable(name) => name.clone(),
            Expr::Literal(value) => literal(*value),
            Expr::Index(axis) => axis.name().to_owned(),
            Expr::Negate(value) => format!("(-{})", self.number(value)),
            Expr::Binary(BinaryOp::Divide, left, right) => self.quotient(&self.number(left), &self.number(right)),
            Expr::Binary(op, left, right) => format!("({} {} {})", self.number(left), op.symbol(), self.number(right)),
            Expr::Call(function, args) => {
                let args: Vec<String> = args.iter().map(|arg| self.number(arg)).collect();
                self.call(*function, &args)
            }
            Expr::If(condition, then, otherwise) => {
                format!("({} ? {} : {})", self.truth(condition), self.number(then), self.number(otherwise))
            }
        }
    }

    /// The operator on two conditions. Without slow paths both are computed, where C++'s own operators branch.
    fn both(self, letter: char) -> String {
        match self.precision() {
            None => letter.to_string().repeat(2),
            Some(_) => letter.to_string(),
        }
    }

    fn truth(self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(op, left, right) => {
                format!("({} {} {})", self.number(left), op.symbol(), self.number(right))
            }
            Condition::Not(condition) => format!("(!{})", self.truth(condition)),
            Condition::And(left, right) => format!("({} {} {})", self.truth(left), self.both('&'), self.truth(right)),
            Condition::Or(left, right) => format!("({} {} {})", self.truth(left), self.both('|'), self.truth(right)),
        }
    }
}

/// The shortest decimal that reads back as the same `f32`, as a C literal.
fn literal(value: f32) -> String {
    if value.is_finite() { format!("{value:?}f") } else { format!("__int_as_float(0x{:08x})", value.to_bits()) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::epilogue::Epilogue;

    fn cuda(epilogue: &str) -> String {
        epilogue.parse::<Epilogue>().unwrap().cuda_body(Spelling::Exact)
    }

    fn short(epilogue: &str) -> String {
        epilogue.parse::<Epilogue>().unwrap().cuda_body(Spelling::Fast(Precision::Short))
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

    #[test]
    fn a_result_of_16_bits_takes_the_short_functions_and_the_sums_that_are_one_with_theirs() {
        expect![[r#"return autokernel::fast_math::quotient(x, (1.0f + autokernel::fast_math::exp((-x))));"#]]
            .assert_eq(&short("silu"));
        expect![[r#"
            const float SQRT_HALF = 0.70710677f;
            return ((0.5f * x) * autokernel::fast_math::one_plus_erf((SQRT_HALF * x)));"#]]
        .assert_eq(&short("gelu"));
        expect!["return autokernel::math::tanh(x);"].assert_eq(&short("tanh"));
    }
}
