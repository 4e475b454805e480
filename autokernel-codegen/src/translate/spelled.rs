//! Methods of `f32` that are spelled out by what kernels have: `x.clamp(-1.0, 1.0)`, `x.powi(3)`, `x.is_nan()`.

use autokernel_ops::expr::{BinaryOp, CompareOp, Condition, Expr, Math};
use syn::{Error, Result};

use super::{Translator, Value};

/// The greatest power that is spelled out.
const MOST: u32 = 64;

impl Translator<'_> {
    /// The number that such a method gives; none of another method.
    pub(super) fn spelled(&mut self, call: &syn::ExprMethodCall) -> Option<Result<Expr>> {
        match (call.method.to_string().as_str(), call.args.iter().collect::<Vec<_>>().as_slice()) {
            ("clamp", [low, high]) => Some(self.clamp(call, low, high)),
            ("powi", [exponent]) => Some(self.power(call, exponent)),
            _ => None,
        }
    }

    /// The condition that such a method is; none of another method.
    pub(super) fn spelled_condition(&mut self, call: &syn::ExprMethodCall) -> Option<Result<Condition>> {
        let method = call.method.to_string();
        if !call.args.is_empty() || !["is_nan", "is_finite", "is_infinite"].contains(&method.as_str()) {
            return None;
        }
        Some(self.receiver(call).map(|x| {
            let compare = |op, with: f32| Condition::Compare(op, x.clone(), Expr::Literal(with));
            let size = |op| Condition::Compare(op, Expr::Call(Math::Abs, vec![x.clone()]), Expr::Literal(f32::MAX));
            match method.as_str() {
                // By order, as nothing but its own rounding can tell a number from itself.
                "is_nan" => Condition::Not(Box::new(Condition::Or(
                    Box::new(compare(CompareOp::Less, 0.0)),
                    Box::new(compare(CompareOp::GreaterEqual, 0.0)),
                ))),
                "is_finite" => size(CompareOp::LessEqual),
                _ => size(CompareOp::Greater),
            }
        }))
    }

    /// Bounds are constants: `f32::clamp` panics where they are no range, and a kernel cannot.
    fn clamp(&mut self, call: &syn::ExprMethodCall, low: &syn::Expr, high: &syn::Expr) -> Result<Expr> {
        let x = self.receiver(call)?;
        let (low, high) = (self.number(low)?, self.number(high)?);
        let bounds = (self.constant(&low), self.constant(&high));
        let (Some(least), Some(most)) = bounds else {
            let message = "the bounds of `clamp` are numbers that the text says, as it panics where they are no range; write \
                           `x.max(low).min(high)`, which is `low` where `x` is NaN";
            return Err(Error::new_spanned(call, message));
        };
        if least > most || least.is_nan() || most.is_nan() {
            return Err(Error::new_spanned(call, format!("`clamp` panics: {least:?} to {most:?} is no range")));
        }
        let outside = |op, bound: f32, otherwise| {
            let condition = Condition::Compare(op, x.clone(), Expr::Literal(bound));
            Expr::If(Box::new(condition), Box::new(Expr::Literal(bound)), Box::new(otherwise))
        };
        Ok(outside(CompareOp::Less, least, outside(CompareOp::Greater, most, x.clone())))
    }

    /// The number that an expression is, of numbers and of names of such.
    fn constant(&self, value: &Expr) -> Option<f32> {
        match value {
            Expr::Literal(value) => Some(*value),
            Expr::Negate(value) => self.constant(value).map(|value| -value),
            Expr::Binary(op, left, right) => {
                let sides = [left, right].map(|side| self.constant(side).map(|side| Box::new(Expr::Literal(side))));
                let [Some(left), Some(right)] = sides else { return None };
                Some(Expr::Binary(*op, left, right).eval(&[]))
            }
            Expr::Variable(name) => match &self.bound.iter().find(|bound| bound.name == *name)?.value {
                Value::Number(value) => self.constant(value),
                _ => None,
            },
            _ => None,
        }
    }

    fn power(&mut self, call: &syn::ExprMethodCall, exponent: &syn::Expr) -> Result<Expr> {
        let Some(power) = whole(exponent).filter(|power| power.unsigned_abs() <= MOST) else {
            let message = format!(
                "the exponent of `powi` is a whole number that the text says, from -{MOST} to {MOST}: `x.powi(3)`"
            );
            return Err(Error::new_spanned(exponent, message));
        };
        let x = self.receiver(call)?;
        let product = self.squares(call, &x, power.unsigned_abs());
        Ok(if power < 0 { Expr::Call(Math::Recip, vec![product]) } else { product })
    }

    /// `x` to a power, by squares.
    fn squares(&mut self, call: &syn::ExprMethodCall, x: &Expr, power: u32) -> Expr {
        match power {
            0 => Expr::Literal(1.0),
            1 => x.clone(),
            _ if power % 2 == 1 => times(self.squares(call, x, power - 1), x.clone()),
            _ => {
                let half = self.squares(call, x, power / 2);
                let half = self.named("power", call, half);
                times(half.clone(), half)
            }
        }
    }

    /// The number before the method, which is used more than once.
    fn receiver(&mut self, call: &syn::ExprMethodCall) -> Result<Expr> {
        let value = self.number(&call.receiver)?;
        Ok(self.named(&call.method.to_string(), call, value))
    }

    fn named(&mut self, name: &str, call: &syn::ExprMethodCall, value: Expr) -> Expr {
        match value {
            Expr::Variable(_) | Expr::Literal(_) => value,
            value => self.lift(name, call, Value::Number(value)),
        }
    }
}

fn times(left: Expr, right: Expr) -> Expr {
    Expr::Binary(BinaryOp::Multiply, Box::new(left), Box::new(right))
}

fn whole(exponent: &syn::Expr) -> Option<i32> {
    match exponent {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) if matches!(number.suffix(), "" | "i32") => {
            number.base10_parse().ok()
        }
        syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            whole(&unary.expr).and_then(i32::checked_neg)
        }
        syn::Expr::Paren(paren) => whole(&paren.expr),
        syn::Expr::Group(group) => whole(&group.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::epilogue::translate;

    /// The value that the translated text has at `x`.
    fn value(of: &str, x: f32) -> Result<f32, String> {
        let function = format!("fn f(x: f32) -> f32 {{ {of} }}");
        let function = translate(&syn::parse_str(&function).unwrap(), &[]).map_err(|error| error.to_string())?;
        Ok(function.eval(x))
    }

    const NUMBERS: [f32; 10] = [-2.5, -1.0, -0.0, 0.0, 0.75, 1.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

    #[test]
    fn a_clamped_number_is_what_rust_says_where_it_is_none_too() {
        for x in NUMBERS {
            let clamped = value("(x * 2.0).clamp(-1.0, f32::MAX)", x).unwrap();
            assert_eq!(clamped.to_bits(), (x * 2.0).clamp(-1.0, f32::MAX).to_bits(), "{x}");
        }
    }

    #[test]
    fn bounds_may_be_constants_by_their_names() {
        for x in NUMBERS {
            let text = "const LIMIT: f32 = 0.5 * 1.5; let most = LIMIT; x.clamp(-LIMIT, most)";
            assert_eq!(value(text, x).unwrap().to_bits(), x.clamp(-0.75, 0.75).to_bits(), "{x}");
        }
    }

    #[test]
    fn a_function_of_f32_is_the_method_of_that_name() {
        for x in NUMBERS {
            assert_eq!(value("f32::max(x, f32::floor(0.5))", x).unwrap().to_bits(), x.max(0.0).to_bits(), "{x}");
            let asked = value("if f32::is_nan(x) { f32::clamp(1.0, -1.0, 0.5) } else { f32::powi(x, 2) }", x).unwrap();
            let expected = if x.is_nan() { 0.5 } else { x * x };
            assert_eq!(asked.to_bits(), expected.to_bits(), "{x}");
        }
    }

    #[test]
    fn numbers_are_rounded_and_divided_with_a_remainder_as_rust_does() {
        for x in NUMBERS {
            for (text, expected) in [
                ("x.floor()", x.floor()),
                ("x.ceil()", x.ceil()),
                ("x.trunc()", x.trunc()),
                ("x % 0.75", x % 0.75),
                ("(x + 1.0) % -x", (x + 1.0) % -x),
            ] {
                let found = value(text, x).unwrap();
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{text} of {x}: {found}"
                );
            }
        }
    }

    #[test]
    fn powers_multiply_and_those_below_zero_divide() {
        for (text, power) in [("x.powi(0)", 0), ("x.powi(1)", 1), ("(x + 0.5).powi(7)", 7), ("x.powi(-(2i32))", -2)] {
            for x in [-1.25_f32, 0.5, 3.0] {
                let of = if power == 7 { x + 0.5 } else { x };
                let (exact, found) = (f64::from(of).powi(power), f64::from(value(text, x).unwrap()));
                assert!((exact - found).abs() <= 1e-6 * exact.abs(), "{text} of {x}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn what_a_number_is_can_be_asked() {
        for x in NUMBERS {
            let asked =
                |method: &str| value(&format!("if (-x).{method}() {{ 1.0 }} else {{ 0.0 }}"), x).unwrap() == 1.0;
            let answers = (asked("is_nan"), asked("is_finite"), asked("is_infinite"));
            assert_eq!(answers, (x.is_nan(), x.is_finite(), x.is_infinite()), "{x}");
        }
    }

    #[test]
    fn what_cannot_be_known_when_it_is_compiled_is_refused_with_what_to_write() {
        for (text, remedy) in [
            ("let y = x; x.clamp(y, 1.0)", "write `x.max(low).min(high)`"),
            ("x.clamp(x, 1.0)", "write `x.max(low).min(high)`"),
            ("x.clamp(1.0, -1.0)", "1.0 to -1.0 is no range"),
            ("x.clamp(f32::NAN, 1.0)", "NaN to 1.0 is no range"),
            ("x.powi(2.0)", "a whole number that the text says"),
            ("x.powi(65)", "from -64 to 64"),
            ("x.is_nan()", "if x.is_nan()"),
        ] {
            let refused = value(text, 1.0).unwrap_err();
            assert!(refused.contains(remedy), "{text}: {refused}");
        }
    }
}
