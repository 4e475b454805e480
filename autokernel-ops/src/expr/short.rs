//! What kernels compute as one, in fewer instructions than its parts or without the digits that those would lose.

use super::{BinaryOp, CompareOp, Condition, Expr, Math};

/// A name's value, of one that is a constant.
pub(super) type Constant<'c> = &'c dyn Fn(&str) -> Option<f32>;

/// What short precisions compute as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Short<'e> {
    /// `1 + function(arg)`
    OnePlus(OnePlus<'e>),
    /// `0.5 * of * (1 + function(arg))`
    HalfOf {
        /// 1 where there is none.
        of: Option<&'e Expr>,
        sum: OnePlus<'e>,
    },
    /// `of / (1 + exp(arg))`
    OverOnePlusExp {
        /// 1 where there is none.
        of: Option<&'e Expr>,
        arg: &'e Expr,
    },
}

/// `1 + function(arg)` of a tanh or an error function, so that nothing cancels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnePlus<'e> {
    pub function: Math,
    pub arg: &'e Expr,
}

impl<'e> OnePlus<'e> {
    fn of(expr: &'e Expr) -> Option<Self> {
        let call = one_plus(expr, |function| matches!(function, Math::Tanh | Math::Erf));
        call.map(|(function, arg)| OnePlus { function, arg })
    }

    /// The constant that the argument is a multiple of, and of what. Powers of it are in coefficients.
    pub fn scaled(self, constant: Constant<'_>) -> Option<(&'e Expr, &'e Expr)> {
        let Expr::Binary(BinaryOp::Multiply, left, right) = self.arg else { return None };
        let is_scale = |expr| value(expr, constant).is_some_and(|scale| (1.0 / 16.0..=16.0).contains(&scale.abs()));
        match (is_scale(left), is_scale(right)) {
            (true, _) => Some((left, right)),
            (false, true) => Some((right, left)),
            (false, false) => None,
        }
    }
}

impl Expr {
    /// What short precisions compute as one.
    pub(super) fn short(&self, constant: Constant<'_>) -> Option<Short<'_>> {
        match self {
            Expr::Binary(BinaryOp::Add, ..) => OnePlus::of(self).map(Short::OnePlus),
            Expr::Binary(BinaryOp::Multiply, left, right) => {
                let (half, of) = match &**left {
                    Expr::Binary(BinaryOp::Multiply, half, of) => (half, Some(&**of)),
                    _ => (left, None),
                };
                let is_half = value(half, constant) == Some(0.5);
                OnePlus::of(right).filter(|_| is_half).map(|sum| Short::HalfOf { of, sum })
            }
            Expr::Binary(BinaryOp::Divide, of, sum) => {
                let of = Some(&**of).filter(|of| **of != Expr::Literal(1.0));
                one_plus_exp(sum).map(|arg| Short::OverOnePlusExp { of, arg })
            }
            Expr::Call(Math::Recip, args) => one_plus_exp(&args[0]).map(|arg| Short::OverOnePlusExp { of: None, arg }),
            _ => None,
        }
    }

    /// Of a name that is multiplied by a constant from 0 to 1 where it is negative, that product: the greater of both it is, of what is
    /// infinite or no number too.
    pub(super) fn greater_of(&self, constant: Constant<'_>) -> Option<(&Expr, &Expr)> {
        let Expr::If(condition, then, otherwise) = self else { return None };
        let Condition::Compare(op, of, zero) = &**condition else { return None };
        let (kept, scaled) = match op {
            CompareOp::Greater | CompareOp::GreaterEqual => (then, otherwise),
            CompareOp::Less | CompareOp::LessEqual => (otherwise, then),
            CompareOp::Equal | CompareOp::NotEqual => return None,
        };
        let Expr::Binary(BinaryOp::Multiply, left, right) = &**scaled else { return None };
        let is_between = |expr| value(expr, constant).is_some_and(|slope| slope > 0.0 && slope <= 1.0);
        let is_scaled = &**left == of && is_between(right) || &**right == of && is_between(left);
        let is_name = matches!(of, Expr::Variable(_)) && *zero == Expr::Literal(0.0) && &**kept == of;
        (is_name && is_scaled).then_some((kept, scaled))
    }
}

/// The number that an expression is for certain.
fn value(expr: &Expr, constant: Constant<'_>) -> Option<f32> {
    match expr {
        Expr::Literal(value) => Some(*value),
        Expr::Variable(name) => constant(name),
        _ => None,
    }
}

/// The function and the argument of `1 + function(arg)`, in either order.
fn one_plus(expr: &Expr, is_it: impl Fn(Math) -> bool) -> Option<(Math, &Expr)> {
    let Expr::Binary(BinaryOp::Add, left, right) = expr else { return None };
    match (&**left, &**right) {
        (Expr::Literal(1.0), Expr::Call(function, args)) | (Expr::Call(function, args), Expr::Literal(1.0)) => {
            is_it(*function).then(|| (*function, &args[0]))
        }
        _ => None,
    }
}

fn one_plus_exp(expr: &Expr) -> Option<&Expr> {
    one_plus(expr, |function| function == Math::Exp).map(|(_, arg)| arg)
}
