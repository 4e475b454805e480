//! What a number is multiplied by that is the same for a whole head.

use crate::expr::{BinaryOp, CompareOp, Condition, Expr, Math};

/// A constant times numbers of a head, over others.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficient {
    pub constant: f64,
    above: Vec<Expr>,
    below: Vec<Expr>,
}

impl Coefficient {
    pub const ONE: Coefficient = Coefficient::of(1.0);

    pub const fn of(constant: f64) -> Self {
        Coefficient { constant, above: Vec::new(), below: Vec::new() }
    }

    /// Whether nothing is multiplied, as fp32 holds it.
    pub fn is_one(&self) -> bool {
        self.is_constant() && self.constant as f32 == 1.0
    }

    /// Whether all of it is known when it is compiled.
    pub fn is_constant(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }

    pub fn negated(self) -> Self {
        Coefficient { constant: -self.constant, ..self }
    }

    pub fn times(mut self, factor: &Expr) -> Self {
        match factor {
            Expr::Literal(value) => self.constant *= f64::from(*value),
            Expr::Negate(value) => return self.negated().times(value),
            Expr::Binary(BinaryOp::Multiply, left, right) => return self.times(left).times(right),
            Expr::Binary(BinaryOp::Divide, left, right) => return self.times(left).over(right),
            other => self.above.push(other.clone()),
        }
        self
    }

    pub fn over(mut self, divisor: &Expr) -> Self {
        match divisor {
            Expr::Literal(value) => self.constant /= f64::from(*value),
            Expr::Negate(value) => return self.negated().over(value),
            Expr::Binary(BinaryOp::Multiply, left, right) => return self.over(left).over(right),
            Expr::Binary(BinaryOp::Divide, left, right) => return self.over(left).times(right),
            other => self.below.push(other.clone()),
        }
        self
    }

    /// Its size, and its sign as a coefficient of its own.
    pub fn size_and_sign(self) -> (Expr, Expr) {
        let value = self.number();
        let is_negative = Condition::Compare(CompareOp::Less, value.clone(), Expr::Literal(0.0));
        let (minus, plus) = (Box::new(Expr::Literal(-1.0)), Box::new(Expr::Literal(1.0)));
        (Expr::Call(Math::Abs, vec![value]), Expr::If(Box::new(is_negative), minus, plus))
    }

    /// As an expression. A constant stays finite where its factors are.
    pub fn number(self) -> Expr {
        let Coefficient { constant, above, below } = self;
        let product = |factors: Vec<Expr>| {
            factors.into_iter().reduce(|a, b| Expr::Binary(BinaryOp::Multiply, Box::new(a), Box::new(b)))
        };
        let above = match (product(above), constant) {
            (Some(above), 1.0) => above,
            (Some(above), _) => Expr::Binary(BinaryOp::Multiply, Box::new(above), Box::new(literal(constant))),
            (None, _) => literal(constant),
        };
        match product(below) {
            None => above,
            Some(below) => Expr::Binary(BinaryOp::Divide, Box::new(above), Box::new(below)),
        }
    }
}

fn literal(value: f64) -> Expr {
    let most = f64::from(f32::MAX);
    Expr::Literal(if value.is_finite() { value.clamp(-most, most) as f32 } else { value as f32 })
}
