//! What a softmax subtracts before it exponentiates changes nothing of its result: such a value has the gradient zero, and
//! nothing is computed for it.

use std::collections::BTreeMap;

use super::graph::{Graph, Id, Node, Truth};
use crate::body::Reduction;
use crate::expr::{BinaryOp, Math};

/// How a value depends on a number m.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dependence {
    /// Not at all.
    Free,
    /// It is `v + k · m`, where v is free.
    Shifted(f64),
    /// It is `v · exp(k · m)`, where v is free.
    Scaled(f64),
    /// In some other way, or nobody knows.
    Other,
}

use Dependence::{Free, Other, Scaled, Shifted};

impl Dependence {
    fn shift(self) -> Option<f64> {
        match self {
            Free => Some(0.0),
            Shifted(by) => Some(by),
            Scaled(_) | Other => None,
        }
    }

    fn scale(self) -> Option<f64> {
        match self {
            Free => Some(0.0),
            Scaled(by) => Some(by),
            Shifted(_) | Other => None,
        }
    }

    fn shifted(by: Option<f64>) -> Self {
        by.map_or(Other, |by| if by == 0.0 { Free } else { Shifted(by) })
    }

    fn scaled(by: Option<f64>) -> Self {
        by.map_or(Other, |by| if by == 0.0 { Free } else { Scaled(by) })
    }

    /// Of what has either, alike.
    fn of_both(self, other: Self) -> Self {
        if self == other { self } else { Other }
    }
}

impl Graph {
    /// Whether none of `results` depends on the value of the node `number`.
    pub fn is_invariant(&self, number: Id, results: &[Id]) -> bool {
        let mut known: BTreeMap<Id, Dependence> = BTreeMap::new();
        for id in self.ids() {
            let dependence = if id == number { Shifted(1.0) } else { self.dependence(id, &known) };
            known.insert(id, dependence);
        }
        results.iter().all(|result| known.get(result) == Some(&Free))
    }

    fn dependence(&self, id: Id, known: &BTreeMap<Id, Dependence>) -> Dependence {
        let of = |id: &Id| known.get(id).copied().unwrap_or(Other);
        let node = self.node(id);
        if node.children().iter().all(|child| of(child) == Free) {
            return Free;
        }
        match node {
            Node::Negate(value) => match of(value) {
                Shifted(by) => Shifted(-by),
                other => other,
            },
            Node::Binary(op, left, right) => self.dependence_of_operator(*op, (*left, of(left)), (*right, of(right))),
            Node::Call(function, arguments) => {
                let first = of(&arguments[0]);
                match function {
                    Math::Exp => Dependence::scaled(first.shift()),
                    Math::Ln => Dependence::shifted(first.scale()),
                    Math::Sqrt => Dependence::scaled(first.scale().map(|by| by / 2.0)),
                    Math::Recip => Dependence::scaled(first.scale().map(|by| -by)),
                    Math::Abs => Dependence::scaled(first.scale()),
                    Math::Max | Math::Min => first.of_both(of(&arguments[1])),
                    _ => Other,
                }
            }
            Node::If(condition, then, otherwise) => {
                if is_alike(condition, &of) {
                    of(then).of_both(of(otherwise))
                } else {
                    Other
                }
            }
            Node::Reduce(Reduction::Sum, value) => Dependence::scaled(of(value).scale()),
            Node::Reduce(_, value) => of(value),
            Node::Name(_) | Node::Literal(_) | Node::Index(_) | Node::Extent(_) => Free,
        }
    }

    fn dependence_of_operator(
        &self,
        op: BinaryOp,
        (left, a): (Id, Dependence),
        (right, b): (Id, Dependence),
    ) -> Dependence {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b);
        match op {
            BinaryOp::Add | BinaryOp::Subtract => match (a, b) {
                (Scaled(_), Scaled(_)) => a.of_both(b),
                _ => {
                    let sign = if op == BinaryOp::Add { 1.0 } else { -1.0 };
                    Dependence::shifted(both(a.shift(), b.shift()).map(|(a, b)| a + sign * b))
                }
            },
            BinaryOp::Multiply => match (a, b, self.value(left), self.value(right)) {
                (Shifted(by), _, _, Some(number)) | (_, Shifted(by), Some(number), _) => {
                    Dependence::shifted(Some(by * f64::from(number)))
                }
                _ => Dependence::scaled(both(a.scale(), b.scale()).map(|(a, b)| a + b)),
            },
            BinaryOp::Divide => match (a, self.value(right)) {
                (Shifted(by), Some(number)) => Dependence::shifted(Some(by / f64::from(number))),
                _ => Dependence::scaled(both(a.scale(), b.scale()).map(|(a, b)| a - b)),
            },
            BinaryOp::Remainder => Other,
        }
    }
}

/// Whether the condition's truth is the same whatever the number is: both sides of each comparison move alike.
fn is_alike(condition: &Truth, of: &dyn Fn(&Id) -> Dependence) -> bool {
    match condition {
        Truth::Compare(_, left, right) => of(left) != Other && of(left) == of(right),
        Truth::Not(condition) => is_alike(condition, of),
        Truth::And(left, right) | Truth::Or(left, right) => is_alike(left, of) && is_alike(right, of),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Forward;
    use super::*;
    use crate::rows::cases::{self, bind, call, name, reduce, store};

    fn is_invariant(steps: Vec<crate::body::Step>) -> bool {
        let forward = Forward::of(&crate::body::Body { steps, ..cases::softmax() });
        let is_max = |id: &Id| matches!(forward.graph.node(*id), Node::Reduce(Reduction::Max, _));
        let max = forward.graph.ids().find(is_max).unwrap();
        let results: Vec<Id> = forward.stores.iter().map(|(.., value)| *value).collect();
        forward.graph.is_invariant(max, &results)
    }

    #[test]
    fn the_maximum_of_a_softmax_and_of_its_logarithm_changes_nothing() {
        assert!(is_invariant(cases::softmax().steps));
        let shifted = || bind("y", name("x") - name("max"));
        let sum = || reduce("sum", Reduction::Sum, call(Math::Exp, name("y")));
        let max = || reduce("max", Reduction::Max, name("x"));
        let log_softmax = store("out", name("y") - call(Math::Ln, name("sum")));
        assert!(is_invariant(vec![max(), shifted(), sum(), log_softmax]));
        let log_sum_exp = store("out", name("max") + call(Math::Ln, name("sum")));
        assert!(is_invariant(vec![max(), shifted(), sum(), log_sum_exp]));
        let unnormalised = store("out", call(Math::Exp, name("y")) * name("sum"));
        assert!(!is_invariant(vec![max(), shifted(), sum(), unnormalised]));
    }
}
