//! What is linear in the key.

use crate::expr::{BinaryOp, Expr, Math};

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}

const ZERO: Expr = Expr::Literal(0.0);
const ONE: Expr = Expr::Literal(1.0);

/// What `expr` grows by from one key to the next, in which no key is; none where it is not linear in `key`. `is_same` says what all
/// keys have in common.
pub fn slope(expr: &Expr, key: &str, is_same: &impl Fn(&Expr) -> bool) -> Option<Expr> {
    let of = |expr: &Expr| slope(expr, key, is_same);
    if is_same(expr) {
        return Some(ZERO);
    }
    match expr {
        Expr::Variable(name) => (name == key).then_some(ONE),
        Expr::Negate(value) => Some(match of(value)? {
            ZERO => ZERO,
            slope => Expr::Negate(Box::new(slope)),
        }),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) => {
            Some(match (op, of(left)?, of(right)?) {
                (_, left, ZERO) => left,
                (BinaryOp::Add, ZERO, right) => right,
                (_, left, right) => binary(*op, left, right),
            })
        }
        Expr::Binary(BinaryOp::Multiply, left, right) => match (is_same(left), is_same(right)) {
            (true, _) => Some(times(of(right)?, left)),
            (_, true) => Some(times(of(left)?, right)),
            _ => None,
        },
        Expr::Binary(BinaryOp::Divide, left, right) if is_same(right) => {
            Some(binary(BinaryOp::Divide, of(left)?, (**right).clone()))
        }
        Expr::Call(Math::MulAdd, args) => {
            let [left, right, added] = &args[..] else { return None };
            of(&binary(BinaryOp::Add, binary(BinaryOp::Multiply, left.clone(), right.clone()), added.clone()))
        }
        _ => None,
    }
}

fn times(slope: Expr, factor: &Expr) -> Expr {
    match slope {
        ZERO => ZERO,
        ONE => factor.clone(),
        slope => binary(BinaryOp::Multiply, slope, factor.clone()),
    }
}
