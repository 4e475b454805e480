//! Expressions as a graph in which what is equal is one node, and what it takes to add to it without needless arithmetic.

use std::collections::HashMap;

use crate::body::Reduction;
use crate::expr::{Axis, BinaryOp, CompareOp, Math};

/// A node, by its number. What it is made of has smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(usize);

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// An element of an operand or of a fetch.
    Name(String),
    /// The `f32` of these bits.
    Literal(u32),
    /// The number of the element's row or column.
    Index(Axis),
    Extent(Axis),
    /// `-x`
    Negate(Id),
    /// `left op right`
    Binary(BinaryOp, Id, Id),
    /// A function.
    Call(Math, Vec<Id>),
    /// `if condition { then } else { otherwise }`
    If(Box<Truth>, Id, Id),
    /// A reduction along the row.
    Reduce(Reduction, Id),
}

/// A truth value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// `left op right`
    Compare(CompareOp, Id, Id),
    /// `!condition`
    Not(Box<Truth>),
    /// `left && right`
    And(Box<Truth>, Box<Truth>),
    /// `left || right`
    Or(Box<Truth>, Box<Truth>),
}

/// Nodes, each once.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Whether the node's value differs along a row.
    varies: Vec<bool>,
    /// Whether it may be infinite or no number.
    risky: Vec<bool>,
    known: HashMap<Node, Id>,
    /// What was found of products, [`Graph::split`]: nodes stay what they are.
    pub(super) splits: HashMap<Id, (Option<Id>, Id)>,
}

impl Node {
    /// What it is computed of, conditions included.
    pub fn children(&self) -> Vec<Id> {
        match self {
            Node::Name(_) | Node::Literal(_) | Node::Index(_) | Node::Extent(_) => Vec::new(),
            Node::Negate(value) | Node::Reduce(_, value) => vec![*value],
            Node::Binary(_, left, right) => vec![*left, *right],
            Node::Call(_, arguments) => arguments.clone(),
            Node::If(condition, then, otherwise) => [condition.numbers(), vec![*then, *otherwise]].concat(),
        }
    }
}

impl Truth {
    /// The numbers that it compares.
    pub fn numbers(&self) -> Vec<Id> {
        match self {
            Truth::Compare(_, left, right) => vec![*left, *right],
            Truth::Not(condition) => condition.numbers(),
            Truth::And(left, right) | Truth::Or(left, right) => [left.numbers(), right.numbers()].concat(),
        }
    }
}

impl Graph {
    /// Every node so far, those first of which others are made.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + use<> {
        (0..self.nodes.len()).map(Id)
    }

    /// What the node is.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0]
    }

    /// Whether the node's value differs along a row.
    pub fn varies(&self, id: Id) -> bool {
        self.varies[id.0]
    }

    /// Whether the node may be infinite or no number where what the kernel reads is finite.
    pub fn is_risky(&self, id: Id) -> bool {
        self.risky[id.0]
    }

    /// The node, as it is: for what an author wrote.
    pub fn add(&mut self, node: Node) -> Id {
        let varies = match &node {
            Node::Index(Axis::Column) => true,
            Node::Reduce(..) => false,
            node => node.children().into_iter().any(|child| self.varies(child)),
        };
        self.insert(node, varies)
    }

    /// An operand's or a fetch's element.
    pub fn name(&mut self, name: &str, varies: bool) -> Id {
        self.insert(Node::Name(name.to_owned()), varies)
    }

    fn insert(&mut self, node: Node, varies: bool) -> Id {
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let id = Id(self.nodes.len());
        self.risky.push(self.may_be_no_number(&node));
        self.known.insert(node.clone(), id);
        self.nodes.push(node);
        self.varies.push(varies);
        id
    }

    /// A number.
    pub fn literal(&mut self, value: f32) -> Id {
        self.add(Node::Literal(value.to_bits()))
    }

    /// The number that a node is, if it is one.
    pub fn value(&self, id: Id) -> Option<f32> {
        match self.node(id) {
            Node::Literal(bits) => Some(f32::from_bits(*bits)),
            _ => None,
        }
    }

    fn is(&self, id: Id, number: f32) -> bool {
        self.value(id) == Some(number)
    }

    /// The number that `op` makes of two, unless it is none.
    fn folded(&mut self, op: BinaryOp, left: Id, right: Id) -> Option<Id> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        let value = match op {
            BinaryOp::Add => left + right,
            BinaryOp::Subtract => left - right,
            BinaryOp::Multiply => left * right,
            BinaryOp::Divide => left / right,
            BinaryOp::Remainder => left % right,
        };
        value.is_finite().then(|| self.literal(value))
    }

    fn binary(&mut self, op: BinaryOp, left: Id, right: Id) -> Id {
        self.add(Node::Binary(op, left, right))
    }

    /// A function's value.
    pub fn call(&mut self, function: Math, argument: Id) -> Id {
        self.add(Node::Call(function, vec![argument]))
    }

    /// `-value`
    pub fn negate(&mut self, value: Id) -> Id {
        match self.node(value).clone() {
            Node::Literal(bits) => self.literal(-f32::from_bits(bits)),
            Node::Negate(inner) => inner,
            Node::Binary(BinaryOp::Subtract, left, right) => self.subtract(right, left),
            Node::If(condition, then, otherwise) => {
                let (then, otherwise) = (self.negate(then), self.negate(otherwise));
                self.choose(*condition, then, otherwise)
            }
            _ => self.add(Node::Negate(value)),
        }
    }

    /// `if condition { then } else { otherwise }`
    pub fn choose(&mut self, condition: Truth, then: Id, otherwise: Id) -> Id {
        if then == otherwise { then } else { self.add(Node::If(Box::new(condition), then, otherwise)) }
    }

    /// `left + right`
    pub fn plus(&mut self, left: Id, right: Id) -> Id {
        if let Some(number) = self.folded(BinaryOp::Add, left, right) {
            return number;
        }
        match (self.node(left).clone(), self.node(right).clone()) {
            _ if self.is(left, 0.0) => right,
            _ if self.is(right, 0.0) => left,
            _ if left == right => self.scaled(2.0, left),
            (_, Node::Negate(right)) => self.subtract(left, right),
            (Node::Negate(left), _) => self.subtract(right, left),
            (Node::Binary(BinaryOp::Add, rest, once), _) if once == right => {
                let twice = self.scaled(2.0, right);
                self.plus(rest, twice)
            }
            (Node::If(condition, a, b), Node::If(same, c, d)) if condition == same => {
                let (then, otherwise) = (self.plus(a, c), self.plus(b, d));
                self.choose(*condition, then, otherwise)
            }
            (Node::Binary(BinaryOp::Divide, a, of), Node::Binary(BinaryOp::Divide, b, by)) if of == by => {
                let sum = self.plus(a, b);
                self.over(sum, of)
            }
            _ => self.binary(BinaryOp::Add, left, right),
        }
    }

    /// `left - right`
    pub fn subtract(&mut self, left: Id, right: Id) -> Id {
        if let Some(number) = self.folded(BinaryOp::Subtract, left, right) {
            return number;
        }
        match (self.node(left).clone(), self.node(right).clone()) {
            _ if left == right => self.literal(0.0),
            _ if self.is(right, 0.0) => left,
            _ if self.is(left, 0.0) => self.negate(right),
            (_, Node::Negate(right)) => self.plus(left, right),
            (Node::Binary(BinaryOp::Subtract, rest, once), _) if once == right => {
                let twice = self.scaled(2.0, right);
                self.subtract(rest, twice)
            }
            (Node::Negate(left), _) => {
                let sum = self.plus(left, right);
                self.negate(sum)
            }
            (Node::Binary(BinaryOp::Divide, a, of), Node::Binary(BinaryOp::Divide, b, by)) if of == by => {
                let difference = self.subtract(a, b);
                self.over(difference, of)
            }
            _ => self.binary(BinaryOp::Subtract, left, right),
        }
    }

    /// `left * right`; numbers come first, and go with what is computed once a row.
    pub fn times(&mut self, left: Id, right: Id) -> Id {
        if let Some(number) = self.folded(BinaryOp::Multiply, left, right) {
            return number;
        }
        if self.value(left).is_none() && self.value(right).is_some() {
            return self.times(right, left);
        }
        if let Some(number) = self.value(left) {
            return self.scaled(number, right);
        }
        match (self.node(left).clone(), self.node(right).clone()) {
            (Node::Negate(left), _) => {
                let product = self.times(left, right);
                self.negate(product)
            }
            (_, Node::Negate(right)) => {
                let product = self.times(left, right);
                self.negate(product)
            }
            // A branch that is nothing stays so: what the other one is multiplied by may be no number there.
            (Node::If(condition, then, otherwise), _) if self.has_nothing(then, otherwise) => {
                let (then, otherwise) = (self.times(then, right), self.times(otherwise, right));
                self.choose(*condition, then, otherwise)
            }
            (_, Node::If(condition, then, otherwise)) if self.has_nothing(then, otherwise) => {
                let (then, otherwise) = (self.times(left, then), self.times(left, otherwise));
                self.choose(*condition, then, otherwise)
            }
            (Node::Binary(BinaryOp::Divide, value, by), _) if self.is_pulled(value, by, right) => {
                let product = self.times(value, right);
                self.over(product, by)
            }
            (_, Node::Binary(BinaryOp::Divide, value, by)) if self.is_pulled(value, by, left) => {
                let product = self.times(left, value);
                self.over(product, by)
            }
            _ => self.gated(BinaryOp::Multiply, left, right),
        }
    }

    /// Whether a branch is nothing, or may be by what it chooses itself.
    fn has_nothing(&self, then: Id, otherwise: Id) -> bool {
        [then, otherwise].into_iter().any(|branch| self.is(branch, 0.0) || self.chosen(branch).is_some())
    }

    /// Whether the divisor of `value / by` goes out of its product with `other`: unless that makes an element's what is the row's.
    fn is_pulled(&self, value: Id, by: Id, other: Id) -> bool {
        self.is(value, 1.0) || !self.varies(by) && (self.varies(value) || !self.varies(other))
    }

    fn scaled(&mut self, number: f32, value: Id) -> Id {
        let literal = self.literal(number);
        if let Some(number) = self.folded(BinaryOp::Multiply, literal, value) {
            return number;
        }
        match self.node(value).clone() {
            _ if number == 0.0 => self.literal(0.0),
            _ if number == 1.0 => value,
            _ if number == -1.0 => self.negate(value),
            Node::Negate(value) => self.scaled(-number, value),
            Node::Binary(BinaryOp::Multiply, left, right) => match (self.value(left), self.varies(right)) {
                (Some(first), _) if (number * first).is_finite() => self.scaled(number * first, right),
                (None, false) if self.varies(left) => {
                    let right = self.scaled(number, right);
                    self.times(left, right)
                }
                (None, true) if !self.varies(left) => {
                    let left = self.scaled(number, left);
                    self.times(left, right)
                }
                _ => self.binary(BinaryOp::Multiply, literal, value),
            },
            Node::Binary(BinaryOp::Divide, above, below) if self.has_number(above) => {
                let above = self.scaled(number, above);
                self.over(above, below)
            }
            Node::If(condition, then, otherwise) if self.has_nothing(then, otherwise) => {
                let (then, otherwise) = (self.scaled(number, then), self.scaled(number, otherwise));
                self.choose(*condition, then, otherwise)
            }
            _ => self.binary(BinaryOp::Multiply, literal, value),
        }
    }

    /// Whether a factor of the node is a number, with which another one becomes one.
    fn has_number(&self, id: Id) -> bool {
        match self.node(id) {
            Node::Literal(_) => true,
            Node::Binary(BinaryOp::Multiply, left, _) => self.value(*left).is_some(),
            Node::Binary(BinaryOp::Divide, above, _) | Node::Negate(above) => self.has_number(*above),
            _ => false,
        }
    }

    /// `value / by`
    pub fn over(&mut self, value: Id, by: Id) -> Id {
        match self.node(value).clone() {
            _ if self.is(value, 0.0) => value,
            _ if self.is(by, 1.0) => value,
            Node::Negate(value) => {
                let quotient = self.over(value, by);
                self.negate(quotient)
            }
            Node::If(condition, then, otherwise) if self.has_nothing(then, otherwise) => {
                let (then, otherwise) = (self.over(then, by), self.over(otherwise, by));
                self.choose(*condition, then, otherwise)
            }
            _ => self.gated(BinaryOp::Divide, value, by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_arithmetic_has_none() {
        let mut graph = Graph::default();
        let (x, row) = (graph.name("x", true), graph.name("row", false));
        let [zero, one] = [0.0, 1.0].map(|number| graph.literal(number));
        assert_eq!(graph.times(x, one), x);
        assert_eq!(graph.times(zero, x), zero);
        assert_eq!(graph.plus(zero, x), x);
        assert_eq!(graph.subtract(x, x), zero);
        let negative = graph.negate(x);
        assert_eq!(graph.negate(negative), x);
        let (left, right) = (graph.over(x, row), graph.over(row, row));
        let difference = graph.subtract(left, right);
        assert!(matches!(graph.node(difference), Node::Binary(BinaryOp::Divide, _, by) if *by == row));
    }

    #[test]
    fn a_branch_that_is_nothing_is_multiplied_by_nothing() {
        let mut graph = Graph::default();
        let x = graph.name("x", true);
        let zero = graph.literal(0.0);
        let chosen = graph.choose(Truth::Compare(CompareOp::Greater, x, zero), x, zero);
        let logarithm = graph.call(Math::Ln, x);
        let product = graph.times(chosen, logarithm);
        assert!(matches!(graph.node(product), Node::If(_, _, otherwise) if *otherwise == zero));
    }
}
