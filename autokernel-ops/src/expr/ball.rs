//! A number in fp64 and how far a computation of it in fp32 may be off.

use super::{BinaryOp, CompareOp, Condition, Expr, Math};

/// A number, and how far a computation of it in fp32 may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The number. Beyond the range of fp32 it is infinite.
    pub value: f64,
    /// The error; infinite where anything may come out.
    pub error: f64,
}

/// Twice the rounding of one operation.
const UNIT: f64 = 1.0 / (1 << 23) as f64;
/// How a kernel computes exponentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exp {
    /// To a few units in the last place.
    Full,
    /// As `rows::short_exp`: off by one more unit for each unit of the argument.
    Short,
}

/// Functions are off by some units.
const FUNCTION: f64 = 8.0 * UNIT;
/// Below this, fp32 has fewer digits.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;

impl Ball {
    /// A number that is what it is.
    pub fn exact(value: f64) -> Self {
        Ball { value, error: 0.0 }
    }

    /// The result of an operation, to whose error that of rounding it is added.
    pub fn rounded(value: f64, error: f64) -> Self {
        let most = f64::from(f32::MAX);
        let error = error + UNIT * value.abs() + SMALLEST * UNIT;
        match value.abs() {
            size if size.is_nan() || size.is_infinite() => Ball::exact(value),
            size if error.is_nan() || size + error > most && size - error <= most => {
                Ball { value, error: f64::INFINITY }
            }
            size if size > most => Ball::exact(f64::INFINITY.copysign(value)),
            _ => Ball { value, error },
        }
    }

    fn of_function(value: f64, error: f64) -> Self {
        Ball::rounded(value, error + FUNCTION * value.abs() + SMALLEST)
    }

    /// The result of an operator.
    pub fn binary(op: BinaryOp, left: Ball, right: Ball) -> Self {
        let (a, b) = (left, right);
        match op {
            BinaryOp::Add => Ball::rounded(a.value + b.value, a.error + b.error),
            BinaryOp::Subtract => Ball::rounded(a.value - b.value, a.error + b.error),
            BinaryOp::Multiply => {
                let error = times(a.value, b.error) + times(b.value, a.error) + times(a.error, b.error);
                Ball::rounded(a.value * b.value, error)
            }
            BinaryOp::Divide => {
                let value = a.value / b.value;
                let least = b.value.abs() - b.error;
                let error = if b.error > 0.0 && least <= 0.0 {
                    f64::INFINITY
                } else {
                    (a.error + times(value, b.error)) / least + UNIT * value.abs()
                };
                Ball::rounded(value, if a.error + b.error == 0.0 { UNIT * value.abs() } else { error })
            }
        }
    }

    fn call(function: Math, args: &[Ball], exp: Exp) -> Self {
        let Ball { value: x, error: e } = args[0];
        let monotone = |f: fn(f64) -> f64, low: f64| {
            let value = f(x);
            let error = (f(x + e) - value).abs().max((value - f((x - e).max(low))).abs());
            Ball::of_function(value, if e == 0.0 { 0.0 } else { error })
        };
        match function {
            Math::Abs => Ball { value: x.abs(), error: e },
            Math::Max | Math::Min => {
                let y = args[1];
                let value = if function == Math::Max { x.max(y.value) } else { x.min(y.value) };
                let errors = [(x, e), (y.value, y.error)].into_iter().filter(|(value, _)| !value.is_nan());
                Ball { value, error: errors.map(|(_, error)| error).fold(0.0, f64::max) }
            }
            Math::Exp => {
                let Ball { value, error } = monotone(f64::exp, f64::NEG_INFINITY);
                let size = if exp == Exp::Short { (x.abs() + e) * UNIT } else { 0.0 };
                Ball::rounded(value, error + times(value, size))
            }
            Math::Ln => monotone(f64::ln, 0.0),
            Math::Sqrt => monotone(f64::sqrt, 0.0),
            Math::Tanh => Ball::of_function(x.tanh(), e),
            // Its slope is at most 2/√π.
            Math::Erf => Ball::of_function(f64::from(autokernel_core::erf(x as f32)), 1.2 * e + FUNCTION),
            Math::Sin => Ball::of_function(x.sin(), e + FUNCTION),
            Math::Cos => Ball::of_function(x.cos(), e + FUNCTION),
            Math::Recip => Ball::binary(BinaryOp::Divide, Ball::exact(1.0), args[0]),
            Math::MulAdd => {
                let product = Ball::binary(BinaryOp::Multiply, args[0], args[1]);
                Ball::binary(BinaryOp::Add, product, args[2])
            }
        }
    }

    /// What holds both.
    fn either(self, other: Ball) -> Self {
        let apart = (self.value - other.value).abs();
        let error = self.error.max(other.error + apart);
        Ball { error: if error.is_nan() { f64::INFINITY } else { error }, ..self }
    }
}

/// A product where nothing of something infinite is nothing.
fn times(value: f64, error: f64) -> f64 {
    if value == 0.0 || error == 0.0 { 0.0 } else { value.abs() * error }
}

/// The value of an expression whose names have those values.
pub fn eval(expr: &Expr, exp: Exp, name: &dyn Fn(&str) -> Ball) -> Ball {
    let eval = |expr: &Expr| eval(expr, exp, name);
    match expr {
        Expr::Variable(variable) => name(variable),
        Expr::Literal(value) => Ball::exact(f64::from(*value)),
        Expr::Negate(value) => {
            let Ball { value, error } = eval(value);
            Ball { value: -value, error }
        }
        Expr::Binary(op, left, right) => Ball::binary(*op, eval(left), eval(right)),
        Expr::Call(function, args) => {
            let args: Vec<Ball> = args.iter().map(eval).collect();
            Ball::call(*function, &args, exp)
        }
        Expr::If(condition, then, otherwise) => match holds(condition, exp, name) {
            Some(true) => eval(then),
            Some(false) => eval(otherwise),
            None => eval(then).either(eval(otherwise)),
        },
    }
}

/// Whether a condition holds; none if it depends on how numbers were rounded.
fn holds(condition: &Condition, exp: Exp, name: &dyn Fn(&str) -> Ball) -> Option<bool> {
    let holds = |condition: &Condition| holds(condition, exp, name);
    match condition {
        Condition::Compare(op, left, right) => {
            let (left, right) = (eval(left, exp, name), eval(right, exp, name));
            let (x, y) = (left.value, right.value);
            let error = left.error + right.error;
            if error > 0.0 && (x - y).abs() <= error {
                return None;
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
