//! From expression trees to CUDA.

use std::fmt::Write;

use super::short::{Constant, OnePlus, Short};
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
            // What rounds to whole numbers has no other form.
            (_, Math::Floor | Math::Ceil | Math::Trunc) => format!("{}f({})", function.name(), args[0]),
            (_, Math::RoundTiesEven) => format!("rintf({})", args[0]),
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

    /// The body of a `float epilogue(float x)` device function, one statement a line.
    pub fn body(self, function: &Function) -> String {
        let constant = |name: &str| {
            let binding = function.bindings.iter().find(|binding| binding.name == name);
            binding.and_then(|binding| binding.value.literal())
        };
        let mut text = String::new();
        for binding in &function.bindings {
            let value = self.number_beside(&binding.value, &constant);
            writeln!(text, "const float {} = {value};", binding.name).expect("strings take any text");
        }
        write!(text, "return {};", self.number_beside(&function.result, &constant)).expect("strings take any text");
        text
    }

    /// The expression, with each name as it is.
    pub fn number(self, expr: &Expr) -> String {
        self.number_beside(expr, &|_| None)
    }

    /// The same beside names of constants, whose values `constant` tells.
    pub fn number_beside(self, expr: &Expr, constant: &dyn Fn(&str) -> Option<f32>) -> String {
        if let Some(text) = self.as_one(expr, constant) {
            return text;
        }
        let number = |expr: &Expr| self.number_beside(expr, constant);
        match expr {
            Expr::Variable(name) => name.clone(),
            Expr::Literal(value) => literal(*value),
            Expr::Index(axis) => axis.name().to_owned(),
            Expr::Extent(axis) => axis.count_name().to_owned(),
            Expr::Negate(value) => format!("(-{})", number(value)),
            Expr::Binary(BinaryOp::Divide, left, right) => self.quotient(&number(left), &number(right)),
            Expr::Binary(BinaryOp::Remainder, left, right) => format!("fmodf({}, {})", number(left), number(right)),
            Expr::Binary(op, left, right) => format!("({} {} {})", number(left), op.symbol(), number(right)),
            Expr::Call(function, args) => {
                let args: Vec<String> = args.iter().map(number).collect();
                self.call(*function, &args)
            }
            Expr::If(condition, then, otherwise) => {
                format!("({} ? {} : {})", self.truth(condition, constant), number(then), number(otherwise))
            }
        }
    }

    /// What is computed as one.
    fn as_one(self, expr: &Expr, constant: Constant<'_>) -> Option<String> {
        let precision = self.precision()?;
        let number = |expr: &Expr| self.number_beside(expr, constant);
        if let Some((of, scaled)) = expr.greater_of(constant) {
            return Some(self.call(Math::Max, &[number(of), number(scaled)]));
        }
        let one_plus = |sum: OnePlus<'_>, prefix: &str| {
            let args = match sum.scaled(constant) {
                Some((scale, arg)) => format!("{}, {}", number(arg), number(scale)),
                None => number(sum.arg),
            };
            format!("autokernel::fast_math::{prefix}one_plus_{}({args})", sum.function.name())
        };
        Some(match expr.short(constant).filter(|_| precision.is_short())? {
            Short::OnePlus(sum) => one_plus(sum, ""),
            Short::HalfOf { of: None, sum } => one_plus(sum, "half_"),
            Short::HalfOf { of: Some(of), sum } => format!("({} * {})", number(of), one_plus(sum, "half_")),
            Short::OverOnePlusExp { of, arg } => {
                let of = of.map_or_else(|| "1.0f".to_owned(), number);
                format!("autokernel::fast_math::over_one_plus_exp({of}, {})", number(arg))
            }
        })
    }

    /// The operator on two conditions. Without slow paths both are computed, where C++'s own operators branch.
    fn both(self, letter: char) -> String {
        match self.precision() {
            None => letter.to_string().repeat(2),
            Some(_) => letter.to_string(),
        }
    }

    fn truth(self, condition: &Condition, constant: Constant<'_>) -> String {
        let number = |expr: &Expr| self.number_beside(expr, constant);
        let truth = |condition: &Condition| self.truth(condition, constant);
        match condition {
            Condition::Compare(op, left, right) => format!("({} {} {})", number(left), op.symbol(), number(right)),
            Condition::Not(condition) => format!("(!{})", truth(condition)),
            Condition::And(left, right) => format!("({} {} {})", truth(left), self.both('&'), truth(right)),
            Condition::Or(left, right) => format!("({} {} {})", truth(left), self.both('|'), truth(right)),
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
    fn a_result_of_16_bits_takes_the_short_functions_and_what_is_one_with_theirs() {
        expect!["return autokernel::fast_math::over_one_plus_exp(x, (-x));"].assert_eq(&short("silu"));
        expect!["return autokernel::fast_math::over_one_plus_exp(1.0f, (-x));"].assert_eq(&short("sigmoid"));
        expect![[r#"
            const float SQRT_HALF = 0.70710677f;
            return (x * autokernel::fast_math::half_one_plus_erf(x, SQRT_HALF));"#]]
        .assert_eq(&short("gelu"));
        expect![[r#"
            const float SQRT_2_OVER_PI = 0.7978846f;
            const float CUBIC = 0.044715f;
            return (x * autokernel::fast_math::half_one_plus_tanh((x + (((CUBIC * x) * x) * x)), SQRT_2_OVER_PI));"#]]
        .assert_eq(&short("gelu_tanh"));
        expect!["return autokernel::math::tanh(x);"].assert_eq(&short("tanh"));
    }

    #[test]
    fn a_slope_of_what_is_negative_becomes_the_greater_of_both() {
        let fast = |epilogue: &str| epilogue.parse::<Epilogue>().unwrap().cuda_body(Spelling::Fast(Precision::Full));
        expect![[r#"
            const float negative_slope = 0.2f;
            return autokernel::math::max(x, (negative_slope * x));"#]]
        .assert_eq(&fast("leaky_relu(0.2)"));
        expect![[r#"
            const float negative_slope = 1.5f;
            return ((x < 0.0f) ? (negative_slope * x) : x);"#]]
        .assert_eq(&fast("leaky_relu(1.5)"));
        expect!["return ((x < 0.0f) ? 0.0f : x);"].assert_eq(&fast("relu"));
    }

    #[test]
    fn a_constant_goes_into_coefficients_where_its_powers_are_numbers_and_a_number_of_the_launch_does_not() {
        let erf_of = |factor: Expr| {
            let [one, y] = [Expr::Literal(1.0), Expr::Variable("y".to_owned())].map(Box::new);
            let product = Expr::Binary(BinaryOp::Multiply, Box::new(factor), y);
            let sum = Expr::Binary(BinaryOp::Add, one, Box::new(Expr::Call(Math::Erf, vec![product])));
            Spelling::Fast(Precision::Short).number_beside(&sum, &|name| (name == "SCALE").then_some(-2.0))
        };
        let named = |name: &str| erf_of(Expr::Variable(name.to_owned()));
        expect!["autokernel::fast_math::one_plus_erf(y, SCALE)"].assert_eq(&named("SCALE"));
        expect!["autokernel::fast_math::one_plus_erf((alpha * y))"].assert_eq(&named("alpha"));
        expect!["autokernel::fast_math::one_plus_erf(y, 3.0f)"].assert_eq(&erf_of(Expr::Literal(3.0)));
        expect!["autokernel::fast_math::one_plus_erf((1e30f * y))"].assert_eq(&erf_of(Expr::Literal(1e30)));
    }
}
