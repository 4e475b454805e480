//! A number in fp64 and how far a computation of it in fp32 may be off.

use super::short::{OnePlus, Short};
use super::{BinaryOp, CompareOp, Condition, Expr, Math, Precision};

/// A number, and how far a computation of it in fp32 may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The number. Beyond the range of fp32 it is infinite as soon as it is held; a product may be added to unrounded.
    pub value: f64,
    /// The error; infinite where anything may come out, and none of what is infinite or no number for certain.
    pub error: f64,
}

/// Twice the rounding of one operation.
const UNIT: f64 = 1.0 / (1 << 23) as f64;
/// Functions are off by some units.
const FUNCTION: f64 = 8.0 * UNIT;
/// How far the short form of `1 + erf(x)` is off, of its value.
const SHORT_ERF: f64 = 1.0 / (1 << 17) as f64;
/// How far a tanh in [`Precision::Exponent`] is off, of its value: what PTX says of `tanh.approx.f32`.
const SHORT_TANH: f64 = 1.0 / (1 << 11) as f64;
/// Below this, fp32 has fewer digits.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
/// Beyond this, fp32 has none.
const MOST: f64 = f32::MAX as f64;

impl Ball {
    /// What may be any number, infinite or none.
    pub const ANYTHING: Ball = Ball { value: f64::NAN, error: f64::INFINITY };

    /// A number that is what it is.
    pub fn exact(value: f64) -> Self {
        Ball { value, error: 0.0 }
    }

    /// The result of an operation on finite numbers, to whose error that of rounding it is added.
    pub fn rounded(value: f64, error: f64) -> Self {
        let error = error + UNIT * value.abs() + SMALLEST * UNIT;
        if value.is_infinite() {
            return Ball::exact(value);
        }
        let (least, most) = (value.abs() - error, value.abs() + error);
        let is_told = most <= MOST || least > MOST && most.is_finite();
        if is_told { Ball { value, error } } else { Ball::ANYTHING }
    }

    /// Whether anything may come out.
    pub fn is_anything(&self) -> bool {
        self.error.is_infinite()
    }

    /// Whether it is infinite or no number, for certain.
    pub fn is_special(&self) -> bool {
        !self.value.is_finite() && !self.is_anything()
    }

    fn is_nan(&self) -> bool {
        self.value.is_nan() && self.is_special()
    }

    /// Whether it is finite, and beyond the range of fp32.
    fn overflows(&self) -> bool {
        self.value.is_finite() && self.value.abs() - self.error > MOST
    }

    /// The number as fp32 holds it.
    pub fn held(self) -> Self {
        if self.overflows() { Ball::exact(f64::INFINITY.copysign(self.value)) } else { self }
    }

    /// Whether its sign is the value's: of a zero too, where it is one exactly.
    fn has_sign(&self) -> bool {
        self.error == 0.0 || self.value.abs() > self.error
    }

    fn of_function(value: f64, error: f64) -> Self {
        Ball::rounded(value, error + FUNCTION * value.abs() + SMALLEST)
    }

    /// The result of an operator.
    pub fn binary(op: BinaryOp, left: Ball, right: Ball) -> Self {
        if left.is_nan() || right.is_nan() {
            return Ball::exact(f64::NAN);
        }
        if left.is_anything() || right.is_anything() {
            return Ball::ANYTHING;
        }
        match op {
            BinaryOp::Add => left.plus(right),
            BinaryOp::Subtract => left.plus(right.negated()),
            BinaryOp::Multiply => left.held().times(right.held()),
            BinaryOp::Divide => left.held().over(right.held()),
            BinaryOp::Remainder => left.held().remainder(right.held()),
        }
    }

    /// The number of the other sign.
    fn negated(self) -> Self {
        Ball { value: -self.value, ..self }
    }

    fn plus(self, other: Ball) -> Self {
        let held = self.held().value + other.held().value;
        let sum = Ball::rounded(self.value + other.value, self.error + other.error);
        match self.overflows() || other.overflows() {
            // The product that overflowed may be infinite, or added to before it is.
            true if sum.held().value == held => Ball::exact(held),
            true => Ball::ANYTHING,
            false if held.is_finite() => sum,
            false => Ball::exact(held),
        }
    }

    fn times(self, other: Ball) -> Self {
        let value = self.value * other.value;
        if self.value.is_finite() && other.value.is_finite() {
            let error = times(self.value, other.error) + times(other.value, self.error) + self.error * other.error;
            return Ball::rounded(value, error);
        }
        if self.has_sign() && other.has_sign() { Ball::exact(value) } else { Ball::ANYTHING }
    }

    fn over(self, other: Ball) -> Self {
        let value = self.value / other.value;
        if !self.value.is_finite() || other.value == 0.0 || !other.has_sign() {
            return if self.has_sign() && other.has_sign() { Ball::exact(value) } else { Ball::ANYTHING };
        }
        if other.value.is_infinite() {
            return Ball::rounded(0.0, 0.0);
        }
        let error = (self.error + times(value, other.error)) / (other.value.abs() - other.error);
        Ball::rounded(value, error + UNIT * value.abs())
    }

    /// What is left of it by whole multiples of the other, as Rust's `%`: exact where both are.
    fn remainder(self, other: Ball) -> Self {
        let (Ball { value: x, error: e }, Ball { value: y, error: f }) = (self, other);
        if x.is_infinite() || y == 0.0 && f == 0.0 {
            return Ball::exact(f64::NAN);
        }
        if y.is_infinite() || e == 0.0 && f == 0.0 {
            return Ball { value: x % y, error: e };
        }
        if y.abs() <= f {
            return Ball::ANYTHING;
        }
        let quotient = x / y;
        let error = (e + quotient.abs() * f) / (y.abs() - f);
        let (fewest, most) = ((quotient - error).trunc(), (quotient + error).trunc());
        let of = |multiples: f64| Ball { value: x - multiples * y, error: e + multiples.abs() * f + UNIT * SMALLEST };
        if fewest == most { of(fewest) } else { Ball { value: 0.0, error: y.abs() + f } }
    }

    /// The value of a function that rises in steps.
    fn step(self, function: fn(f64) -> f64) -> Self {
        let Ball { value: x, error: e } = self;
        if !x.is_finite() || e == 0.0 {
            return Ball { value: function(x), error: e };
        }
        let (low, value, high) = (function(x - e), function(x), function(x + e));
        // A zero may be of either sign.
        Ball { value, error: (high - value).max(value - low).max(SMALLEST * UNIT) }
    }

    fn call(function: Math, args: &[Ball], precision: Precision) -> Self {
        let args: Vec<Ball> = args.iter().map(|arg| if function == Math::MulAdd { *arg } else { arg.held() }).collect();
        let passes_over_nan = matches!(function, Math::Max | Math::Min);
        if !passes_over_nan && args.iter().any(Ball::is_nan) {
            return Ball::exact(f64::NAN);
        }
        if !passes_over_nan && args.iter().any(Ball::is_anything) {
            return Ball::ANYTHING;
        }
        let Ball { value: x, error: e } = args[0];
        match function {
            Math::Abs => Ball { value: x.abs(), error: e },
            Math::Max | Math::Min => Ball::extreme(function, args[0], args[1]),
            Math::Floor => args[0].step(f64::floor),
            Math::Ceil => args[0].step(f64::ceil),
            Math::Trunc => args[0].step(f64::trunc),
            Math::RoundTiesEven => args[0].step(f64::round_ties_even),
            Math::Exp => {
                let Ball { value, error } = args[0].monotone(f64::exp);
                let size = if precision.is_short() { (x.abs() + e) * UNIT } else { 0.0 };
                if value.is_finite() { Ball::rounded(value, error + times(value, size)) } else { Ball { value, error } }
            }
            Math::Ln => args[0].monotone(f64::ln),
            Math::Sqrt => args[0].monotone(f64::sqrt),
            Math::Tanh if precision == Precision::Exponent => {
                Ball::of_function(x.tanh(), e + SHORT_TANH * x.tanh().abs())
            }
            Math::Tanh => Ball::of_function(x.tanh(), e),
            // Its slope is at most 2/√π.
            Math::Erf => Ball::of_function(f64::from(autokernel_core::erf(x as f32)), 1.2 * e + FUNCTION),
            Math::Sin | Math::Cos if x.is_infinite() => Ball::exact(f64::NAN),
            Math::Sin => Ball::of_function(x.sin(), e + FUNCTION),
            Math::Cos => Ball::of_function(x.cos(), e + FUNCTION),
            Math::Recip => Ball::binary(BinaryOp::Divide, Ball::exact(1.0), args[0]),
            Math::MulAdd => {
                let product = Ball::binary(BinaryOp::Multiply, args[0], args[1]);
                Ball::binary(BinaryOp::Add, product, args[2])
            }
        }
    }

    /// `1 + function(arg)` in its short form.
    fn one_plus(function: Math, arg: Ball) -> Self {
        let sum = Ball::binary(BinaryOp::Add, Ball::exact(1.0), Ball::call(function, &[arg], Precision::Full));
        let of_value = match function {
            Math::Erf => SHORT_ERF,
            _ => FUNCTION + 4.0 * arg.value.abs() * UNIT,
        };
        if sum.value.is_finite() { Ball { error: sum.error + times(sum.value, of_value), ..sum } } else { sum }
    }

    /// `of / (1 + exp(arg))` in its short form, whose reciprocal is zero below the least number with all digits.
    fn over_one_plus_exp(of: Ball, arg: Ball) -> Self {
        let exp = Ball::call(Math::Exp, &[arg], Precision::Short);
        let sum = Ball::binary(BinaryOp::Add, Ball::exact(1.0), exp);
        let quotient = Ball::binary(BinaryOp::Divide, of, sum);
        let is_flushed = sum.held().value.is_finite() && sum.value + sum.error >= 1.0 / SMALLEST;
        match is_flushed {
            true if of.held().value.is_infinite() => Ball::ANYTHING,
            true => Ball { error: quotient.error + times(of.value, SMALLEST) + of.error * SMALLEST, ..quotient },
            false => quotient,
        }
    }

    /// The greater or the lesser; of a number and of what is none, the number.
    fn extreme(function: Math, x: Ball, y: Ball) -> Self {
        match (x.is_nan(), y.is_nan()) {
            (true, _) => return y,
            (_, true) => return x,
            _ if x.is_anything() || y.is_anything() => return Ball::ANYTHING,
            _ => {}
        }
        let value = if function == Math::Max { x.value.max(y.value) } else { x.value.min(y.value) };
        // Of two zeros either comes out.
        let unsigned = if x.value == 0.0 && y.value == 0.0 { SMALLEST * UNIT } else { 0.0 };
        if value.is_infinite() { Ball::exact(value) } else { Ball { value, error: x.error.max(y.error).max(unsigned) } }
    }

    /// The value of a function that rises, at an argument that is a number.
    fn monotone(self, function: fn(f64) -> f64) -> Self {
        let Ball { value: x, error: e } = self;
        let (low, value, high) = (function(x - e), function(x), function(x + e));
        if e == 0.0 && !value.is_finite() || low.is_nan() && high.is_nan() || low == high && value.is_infinite() {
            return Ball::exact(value);
        }
        if !(low.is_finite() && high.is_finite()) {
            return Ball::ANYTHING;
        }
        Ball::of_function(value, (high - value).max(value - low))
    }

    /// What holds both.
    fn either(self, other: Ball) -> Self {
        let (one, other) = (self.held(), other.held());
        if one == other || one.is_nan() && other.is_nan() {
            return one;
        }
        if !one.value.is_finite() || !other.value.is_finite() {
            return Ball::ANYTHING;
        }
        Ball { error: one.error.max(other.error + (one.value - other.value).abs()), ..one }
    }
}

/// A product where nothing of something infinite is nothing.
fn times(value: f64, error: f64) -> f64 {
    if value == 0.0 || error == 0.0 { 0.0 } else { value.abs() * error }
}

/// The value of an expression whose names have those values.
pub fn eval(expr: &Expr, precision: Precision, name: &dyn Fn(&str) -> Ball) -> Ball {
    let eval = |expr: &Expr| eval(expr, precision, name);
    // A half and a constant that the argument is a multiple of change no more than roundings do.
    match expr.short(&|_| None).filter(|_| precision.is_short()) {
        Some(Short::OnePlus(OnePlus { function, arg })) => return Ball::one_plus(function, eval(arg)),
        Some(Short::OverOnePlusExp { of, arg }) => {
            return Ball::over_one_plus_exp(of.map_or(Ball::exact(1.0), eval), eval(arg));
        }
        Some(Short::HalfOf { .. }) | None => {}
    }
    match expr {
        Expr::Variable(variable) => name(variable),
        Expr::Literal(value) => Ball::exact(f64::from(*value)),
        Expr::Index(axis) => name(axis.call()),
        Expr::Extent(axis) => name(axis.count_call()),
        Expr::Negate(value) => eval(value).negated(),
        Expr::Binary(op, left, right) => Ball::binary(*op, eval(left), eval(right)),
        Expr::Call(function, args) => {
            let args: Vec<Ball> = args.iter().map(eval).collect();
            Ball::call(*function, &args, precision)
        }
        Expr::If(condition, then, otherwise) => match holds(condition, precision, name) {
            Some(true) => eval(then),
            Some(false) => eval(otherwise),
            None => eval(then).either(eval(otherwise)),
        },
    }
}

/// Whether a condition holds; none if it depends on how numbers were rounded.
fn holds(condition: &Condition, precision: Precision, name: &dyn Fn(&str) -> Ball) -> Option<bool> {
    let holds = |condition: &Condition| holds(condition, precision, name);
    match condition {
        Condition::Compare(op, left, right) => {
            // A number is itself, however far off it is.
            let is_itself = left == right;
            let (left, right) = (eval(left, precision, name).held(), eval(right, precision, name).held());
            let (x, y) = (left.value, right.value);
            let error = left.error + right.error;
            // What is no number compares as such, whatever the other side is.
            let is_nan = left.is_nan() || right.is_nan();
            if !is_nan && !is_itself && (error.is_infinite() || error > 0.0 && (x - y).abs() <= error) {
                return None;
            }
            if is_itself && left.is_anything() {
                // Only what is no number differs from itself, and is no number less or greater.
                return matches!(op, CompareOp::Less | CompareOp::Greater).then_some(false);
            }
            Some(match op {
                CompareOp::Less => x < y,
                CompareOp::LessEqual => x <= y,
                CompareOp::Greater => x > y,
                CompareOp::GreaterEqual => x >= y,
                CompareOp::Equal => x == y,
                CompareOp::NotEqual => x != y,
            })
        }
        Condition::Not(condition) => holds(condition).map(|holds| !holds),
        Condition::And(left, right) => match (holds(left), holds(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Condition::Or(left, right) => match (holds(left), holds(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
    }
}

#[cfg(test)]
#[path = "ball_tests.rs"]
mod tests;
