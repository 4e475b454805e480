//! Whether expressions compute the same, where names stand for others.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::{BinaryOp, Expr, Math};

/// Comparisons of two expressions' parts after which they are taken for different: names that stand for expressions of other
/// names can make them as long as one likes.
const MOST_COMPARISONS: u32 = 1 << 12;

/// What names stand for.
pub struct Named<'e> {
    values: BTreeMap<String, &'e Expr>,
}

impl<'e> Named<'e> {
    /// Names, and what each stands for. Another name stands for itself.
    pub fn new(values: impl IntoIterator<Item = (String, &'e Expr)>) -> Self {
        Named { values: values.into_iter().collect() }
    }

    /// The names that stand for something.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Whether both compute the same by the same operations.
    pub fn are_same(&self, left: &Expr, right: &Expr) -> bool {
        self.compare(left, right, &Cell::new(MOST_COMPARISONS))
    }

    fn compare(&self, left: &Expr, right: &Expr, fuel: &Cell<u32>) -> bool {
        let Some(rest) = fuel.get().checked_sub(1) else { return false };
        fuel.set(rest);
        let of = |expr: &Expr| match expr {
            Expr::Variable(name) => self.values.get(name).copied(),
            _ => None,
        };
        match (left, right) {
            (Expr::Variable(left), Expr::Variable(right)) if left == right => true,
            (Expr::Literal(left), Expr::Literal(right)) => left.to_bits() == right.to_bits(),
            (Expr::Index(left), Expr::Index(right)) | (Expr::Extent(left), Expr::Extent(right)) => left == right,
            (Expr::Negate(left), Expr::Negate(right)) => self.compare(left, right, fuel),
            (Expr::Binary(op, a, b), Expr::Binary(other, c, d)) => {
                op == other && self.compare(a, c, fuel) && self.compare(b, d, fuel)
            }
            (Expr::Call(function, args), Expr::Call(other, others)) => {
                let mut pairs = args.iter().zip(others);
                function == other && args.len() == others.len() && pairs.all(|(a, b)| self.compare(a, b, fuel))
            }
            // A branch is the same where its text is.
            (Expr::If(..), Expr::If(..)) => left == right,
            _ => match (of(left), of(right)) {
                (Some(left), _) => self.compare(left, right, fuel),
                (None, Some(right)) => self.compare(left, right, fuel),
                (None, None) => false,
            },
        }
    }
}

impl Expr {
    /// `self - other`.
    pub fn relative_to(&self, other: &Expr) -> Expr {
        Expr::Binary(BinaryOp::Subtract, Box::new(self.clone()), Box::new(other.clone()))
    }

    /// `(self - other).exp()`.
    pub fn exponential_relative_to(&self, other: &Expr) -> Expr {
        Expr::Call(Math::Exp, vec![self.relative_to(other)])
    }
}
