//! From a body to a graph, as its author wrote it.

use std::collections::BTreeMap;

use super::graph::{Graph, Id, Node, Truth};
use crate::body::{Body, Reduction, Step};
use crate::expr::{Condition, Expr, Function};

/// A body as a graph.
pub struct Forward {
    /// Its nodes.
    pub graph: Graph,
    /// What the body calls a node.
    pub names: BTreeMap<Id, String>,
    /// What it writes: the output's name, how that is reduced along columns, and the value.
    pub stores: Vec<(String, Option<Reduction>, Id)>,
}

/// Names and what they stand for.
pub type Scope = BTreeMap<String, Id>;

impl Forward {
    /// The graph of a body without mistakes.
    pub fn of(body: &Body) -> Self {
        let (mut graph, mut scope) = (Graph::default(), Scope::new());
        let varies = |name: &str| body.operand(name).is_some_and(|operand| operand.kind.varies_along_row());
        for operand in &body.operands {
            scope.insert(operand.name.clone(), graph.name(&operand.name, varies(&operand.name)));
        }
        for fetch in &body.fetches {
            scope.insert(fetch.name.clone(), graph.name(&fetch.name, varies(&fetch.of)));
        }
        let mut forward = Forward { graph, names: BTreeMap::new(), stores: Vec::new() };
        for step in body.needed_steps() {
            let value = forward.graph.expression(step.expr(), &scope);
            match step {
                Step::Let { name, .. } => {
                    forward.names.entry(value).or_insert_with(|| name.clone());
                    scope.insert(name.clone(), value);
                }
                Step::Reduce { name, reduction, .. } => {
                    scope.insert(name.clone(), forward.graph.add(Node::Reduce(*reduction, value)));
                }
                Step::Store { output, fold, .. } => forward.stores.push((output.clone(), *fold, value)),
            }
        }
        forward
    }
}

impl Graph {
    /// The node of an expression whose names are all in `scope`.
    pub fn expression(&mut self, expr: &Expr, scope: &Scope) -> Id {
        let node = match expr {
            // A body without mistakes names nothing else.
            Expr::Variable(name) => return scope.get(name).copied().unwrap_or_else(|| self.name(name, true)),
            Expr::Literal(value) => Node::Literal(value.to_bits()),
            Expr::Index(axis) => Node::Index(*axis),
            Expr::Extent(axis) => Node::Extent(*axis),
            Expr::Negate(value) => Node::Negate(self.expression(value, scope)),
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expression(left, scope), self.expression(right, scope));
                Node::Binary(*op, left, right)
            }
            Expr::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| self.expression(argument, scope));
                Node::Call(*function, arguments.collect())
            }
            Expr::If(condition, then, otherwise) => {
                let condition = Box::new(self.condition(condition, scope));
                let (then, otherwise) = (self.expression(then, scope), self.expression(otherwise, scope));
                Node::If(condition, then, otherwise)
            }
        };
        self.add(node)
    }

    fn condition(&mut self, condition: &Condition, scope: &Scope) -> Truth {
        match condition {
            Condition::Compare(op, left, right) => {
                Truth::Compare(*op, self.expression(left, scope), self.expression(right, scope))
            }
            Condition::Not(condition) => Truth::Not(Box::new(self.condition(condition, scope))),
            Condition::And(left, right) => {
                Truth::And(Box::new(self.condition(left, scope)), Box::new(self.condition(right, scope)))
            }
            Condition::Or(left, right) => {
                Truth::Or(Box::new(self.condition(left, scope)), Box::new(self.condition(right, scope)))
            }
        }
    }

    /// The value of a function of one number.
    pub fn function(&mut self, function: &Function, argument: Id) -> Id {
        let mut scope = Scope::from([(function.parameter.clone(), argument)]);
        for binding in &function.bindings {
            let value = self.expression(&binding.value, &scope);
            scope.insert(binding.name.clone(), value);
        }
        self.expression(&function.result, &scope)
    }
}
