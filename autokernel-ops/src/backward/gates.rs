//! Where an adjoint is nothing because a branch, a maximum or a minimum did not choose the element. Nothing times the derivative of
//! what was not chosen stays nothing, though that derivative may be infinite or no number.

use super::graph::{Graph, Id, Node, Truth};
use crate::expr::{BinaryOp, Math};

impl Graph {
    /// `adjoint op factor`, and nothing where the adjoint is not chosen. As it is where that always counts, or where nothing remains
    /// nothing by itself: a select less.
    pub fn gated(&mut self, op: BinaryOp, adjoint: Id, factor: Id) -> Id {
        let result = self.add(Node::Binary(op, adjoint, factor));
        let is_risky = self.is_risky(factor) || op == BinaryOp::Divide && self.value(factor).is_none();
        match self.chosen(adjoint).filter(|_| is_risky) {
            Some(is_chosen) => {
                let nothing = self.literal(0.0);
                self.choose(is_chosen, result, nothing)
            }
            None => result,
        }
    }

    /// Where an adjoint may be something; none if that is everywhere.
    pub fn chosen(&self, id: Id) -> Option<Truth> {
        match self.node(id) {
            Node::If(condition, then, otherwise) => self.chosen_of_branches(condition, *then, *otherwise),
            Node::Negate(value) => self.chosen(*value),
            Node::Binary(BinaryOp::Add | BinaryOp::Subtract, left, right) => {
                Some(either(self.chosen(*left)?, self.chosen(*right)?))
            }
            // Numbers come first, else the adjoint does.
            Node::Binary(BinaryOp::Multiply, left, right) => {
                self.chosen(if self.value(*left).is_some() { *right } else { *left })
            }
            Node::Binary(BinaryOp::Divide, above, _) => self.chosen(*above),
            _ => None,
        }
    }

    fn chosen_of_branches(&self, condition: &Truth, then: Id, otherwise: Id) -> Option<Truth> {
        let not = || Truth::Not(Box::new(condition.clone()));
        let narrowed = |condition: Truth, branch: Id| match self.chosen(branch) {
            Some(inner) => Truth::And(Box::new(condition), Box::new(inner)),
            None => condition,
        };
        match (self.value(then) == Some(0.0), self.value(otherwise) == Some(0.0)) {
            (_, true) => Some(narrowed(condition.clone(), then)),
            (true, _) => Some(narrowed(not(), otherwise)),
            _ if self.chosen(then).is_none() && self.chosen(otherwise).is_none() => None,
            _ => Some(either(narrowed(condition.clone(), then), narrowed(not(), otherwise))),
        }
    }

    /// Whether a node may be infinite or no number, though all that the kernel reads is finite and nothing overflows.
    pub fn may_be_no_number(&self, node: &Node) -> bool {
        match node {
            Node::Binary(BinaryOp::Divide | BinaryOp::Remainder, above, by) => {
                self.value(*by).is_none() || self.is_risky(*above)
            }
            Node::Call(Math::Exp | Math::Ln | Math::Sqrt | Math::Recip, _) => true,
            Node::If(_, then, otherwise) => self.is_risky(*then) || self.is_risky(*otherwise),
            node => node.children().into_iter().any(|child| self.is_risky(child)),
        }
    }
}

/// Either of two conditions.
fn either(one: Truth, other: Truth) -> Truth {
    if one == other { one } else { Truth::Or(Box::new(one), Box::new(other)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::CompareOp;

    #[test]
    fn a_sum_of_what_two_conditions_choose_is_nothing_where_neither_does() {
        let mut graph = Graph::default();
        let [x, y] = ["x", "y"].map(|name| graph.name(name, true));
        let zero = graph.literal(0.0);
        let [one, other] = [x, y].map(|it| {
            let is_positive = Truth::Compare(CompareOp::Greater, it, zero);
            graph.choose(is_positive, it, zero)
        });
        let sum = graph.plus(one, other);
        let root = graph.call(Math::Sqrt, x);
        for risky in [graph.times(sum, root), graph.over(sum, y)] {
            assert!(matches!(graph.node(risky), Node::If(truth, _, otherwise)
                if matches!(**truth, Truth::Or(..)) && *otherwise == zero));
        }
        let harmless = graph.times(sum, y);
        assert!(matches!(graph.node(harmless), Node::Binary(BinaryOp::Multiply, ..)), "a select that nothing needs");
        let counts = graph.plus(sum, y);
        let always = graph.times(counts, root);
        assert!(matches!(graph.node(always), Node::Binary(BinaryOp::Multiply, ..)));
    }
}
