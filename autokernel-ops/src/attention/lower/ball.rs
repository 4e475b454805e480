//! How far a score may be off as kernels compute it.

use super::{Lowered, NameOf, name_of};
use crate::attention::score::SCORE;
use crate::expr::ball::{self, Ball};
use crate::expr::{BinaryOp, Expr, Precision};

/// What the sums of fp32 may be off, as a share of the sum of sizes.
const FP32: f64 = 1.0 / (1 << 22) as f64;
/// Columns of the widest tile: how far from a thread's first one something linear is computed.
const COLUMNS: f64 = 256.0;

/// A score's sum of products, and what the names of its body are.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The sum of products.
    pub product: f64,
    /// The sum of their sizes.
    pub size: f64,
    /// The value of each other name of the body.
    pub names: &'a dyn Fn(&str) -> f64,
}

impl Lowered {
    /// The score, and how far a kernel's may be from it.
    pub fn ball(&self, at: At<'_>) -> Ball {
        let begin = self.begin.as_ref().map_or(Ball::exact(0.0), |begin| self.eval(begin, at, Ball::ANYTHING));
        let of_begin = if begin.value.is_finite() { begin.value.abs() } else { 0.0 };
        let sum = Ball { value: begin.value + at.product, error: begin.error + FP32 * (at.size + of_begin) };
        let factor = self.eval(&self.factor, at, Ball::ANYTHING);
        Ball::binary(BinaryOp::Multiply, factor, self.eval(&self.value, at, sum))
    }

    fn eval(&self, expr: &Expr, at: At<'_>, sum: Ball) -> Ball {
        ball::eval(expr, Precision::Exponent, &|name| self.name(name, at, sum))
    }

    fn name(&self, name: &str, at: At<'_>, sum: Ball) -> Ball {
        let eval = |expr: &Expr| self.eval(expr, at, sum);
        match name_of(name) {
            NameOf::Head(number) => eval(&self.heads[number]),
            NameOf::Line(number) => {
                let line = &self.lines[number];
                let (base, step) = (eval(&line.base), eval(&line.step));
                let away = COLUMNS * (step.error + FP32 * step.value.abs());
                Ball { error: base.error + away, ..base }
            }
            NameOf::Body if name == SCORE => sum,
            NameOf::Body => match self.bindings.iter().find(|binding| binding.name == name) {
                Some(binding) => eval(&binding.value),
                None => Ball::exact((at.names)(name)),
            },
        }
    }
}
