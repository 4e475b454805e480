//! Sums along a row of what an adjoint is made of: each factor that the row shares goes out of its sum, so that a sum waits for
//! no other one, and all of them are of one pass.

use super::graph::{Graph, Id, Node};
use crate::body::Reduction;
use crate::expr::{Axis, BinaryOp};

/// A part of a sum: a factor that the row shares, and what is summed. The factor is none where that is 1.
struct Term {
    factor: Option<Id>,
    of: Id,
}

/// Parts of a sum, each with a factor of its own.
struct Terms {
    found: Vec<Term>,
    /// Sums that may still be taken apart. One of others that are there twice each has more parts than anybody counts.
    left: u32,
}

/// Sums that are taken apart; those beyond are summed as they are.
const MOST_SUMS: u32 = 1 << 10;

impl Graph {
    /// How many columns a row has.
    fn columns(&mut self) -> Id {
        let index = self.add(Node::Index(Axis::Column));
        let last = self.add(Node::Reduce(Reduction::Max, index));
        let one = self.literal(1.0);
        self.plus(last, one)
    }

    /// The sum of the node's value along the row.
    pub fn row_sum(&mut self, value: Id) -> Id {
        let mut terms = Terms { found: Vec::new(), left: MOST_SUMS };
        self.terms(value, None, false, &mut terms);
        let mut sum = self.literal(0.0);
        for Term { factor, of } in terms.found {
            let total = self.total(of);
            let total = factor.map_or(total, |factor| self.times(factor, total));
            sum = self.plus(sum, total);
        }
        sum
    }

    /// The sum of what has no factor; of a number that the row shares as many times that as there are columns.
    fn total(&mut self, of: Id) -> Id {
        match *self.node(of) {
            Node::Negate(positive) => {
                let total = self.total(positive);
                self.negate(total)
            }
            _ if self.varies(of) => self.add(Node::Reduce(Reduction::Sum, of)),
            _ => {
                let columns = self.columns();
                self.times(of, columns)
            }
        }
    }

    /// Adds the parts of `factor · value`, or of its negative, each to those of its factor.
    fn terms(&mut self, value: Id, factor: Option<Id>, is_negative: bool, terms: &mut Terms) {
        if self.is_deviation(value) || self.value(value) == Some(0.0) {
            return;
        }
        if !self.varies(value) || terms.left == 0 {
            return self.note(Term { factor, of: value }, is_negative, &mut terms.found);
        }
        terms.left -= 1;
        match *self.node(value) {
            Node::Negate(of) => self.terms(of, factor, !is_negative, terms),
            Node::Binary(BinaryOp::Add, left, right) => {
                self.terms(left, factor, is_negative, terms);
                self.terms(right, factor, is_negative, terms);
            }
            Node::Binary(BinaryOp::Subtract, left, right) => {
                self.terms(left, factor, is_negative, terms);
                self.terms(right, factor, !is_negative, terms);
            }
            _ => match self.split(value) {
                (None, _) => self.note(Term { factor, of: value }, is_negative, &mut terms.found),
                (Some(own), rest) => {
                    let factor = factor.map_or(own, |factor| self.times(factor, own));
                    self.terms(rest, Some(factor), is_negative, terms);
                }
            },
        }
    }

    /// Adds a part to the one of the same factor.
    fn note(&mut self, Term { factor, of }: Term, is_negative: bool, terms: &mut Vec<Term>) {
        let varies = self.varies(of);
        let known = terms.iter().position(|term| term.factor == factor && self.varies(term.of) == varies);
        match known {
            Some(at) => {
                let before = terms[at].of;
                terms[at].of = if is_negative { self.subtract(before, of) } else { self.plus(before, of) };
            }
            None if is_negative => {
                let of = self.negate(of);
                terms.push(Term { factor, of });
            }
            None => terms.push(Term { factor, of }),
        }
    }

    /// Whether it is `x - row_mean(x)`, whose sum is nothing.
    fn is_deviation(&self, value: Id) -> bool {
        let Node::Binary(BinaryOp::Subtract, of, mean) = *self.node(value) else { return false };
        matches!(*self.node(mean), Node::Reduce(Reduction::Mean, other) if other == of)
    }

    /// A product's factor that the row shares, and the rest of it.
    fn split(&mut self, value: Id) -> (Option<Id>, Id) {
        if let Some(&found) = self.splits.get(&value) {
            return found;
        }
        let found = self.split_anew(value);
        self.splits.insert(value, found);
        found
    }

    fn split_anew(&mut self, value: Id) -> (Option<Id>, Id) {
        match *self.node(value) {
            Node::Binary(BinaryOp::Multiply, left, right) => {
                let (left, right) = (self.split_factor(left), self.split_factor(right));
                let rest = match (left.1, right.1) {
                    (Some(left), Some(right)) => self.times(left, right),
                    (rest, other) => rest.or(other).unwrap_or(value),
                };
                let factor = match (left.0, right.0) {
                    (Some(left), Some(right)) => Some(self.times(left, right)),
                    (factor, other) => factor.or(other),
                };
                (factor, rest)
            }
            // What is left of `k / v` once the row's factor is out has none.
            Node::Binary(BinaryOp::Divide, above, below) if self.value(above) == Some(1.0) && self.varies(below) => {
                (None, value)
            }
            Node::Binary(BinaryOp::Divide, above, below) => {
                let (factor, rest) = self.split_factor(above);
                let one = self.literal(1.0);
                if self.varies(below) {
                    let rest = rest.unwrap_or(one);
                    (factor, self.over(rest, below))
                } else {
                    let factor = factor.unwrap_or(one);
                    (Some(self.over(factor, below)), rest.unwrap_or(value))
                }
            }
            _ => (None, value),
        }
    }

    /// The same of a factor, which may be the row's as a whole: then nothing is left.
    fn split_factor(&mut self, value: Id) -> (Option<Id>, Option<Id>) {
        if !self.varies(value) {
            return (Some(value), None);
        }
        let (factor, rest) = self.split(value);
        (factor, Some(rest))
    }

    /// A sum along the row over the number of its columns: the mean of what was summed, where it is made of sums.
    pub fn over_columns(&mut self, total: Id) -> Id {
        let columns = self.columns();
        self.as_mean(total, columns).unwrap_or_else(|| self.over(total, columns))
    }

    fn as_mean(&mut self, total: Id, columns: Id) -> Option<Id> {
        if total == columns {
            return Some(self.literal(1.0));
        }
        match *self.node(total) {
            Node::Reduce(Reduction::Sum, of) => Some(self.add(Node::Reduce(Reduction::Mean, of))),
            Node::Negate(of) => {
                let mean = self.as_mean(of, columns)?;
                Some(self.negate(mean))
            }
            Node::Binary(BinaryOp::Divide, above, below) => {
                let above = self.as_mean(above, columns)?;
                Some(self.over(above, below))
            }
            Node::Binary(BinaryOp::Multiply, left, right) => {
                let (left, right) = match self.as_mean(right, columns) {
                    Some(right) => (left, right),
                    None => (self.as_mean(left, columns)?, right),
                };
                Some(self.times(left, right))
            }
            Node::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) => {
                let (left, right) = (self.as_mean(left, columns)?, self.as_mean(right, columns)?);
                Some(if op == BinaryOp::Add { self.plus(left, right) } else { self.subtract(left, right) })
            }
            _ => None,
        }
    }
}
