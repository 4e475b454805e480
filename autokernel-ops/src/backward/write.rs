//! From a graph back to a body: a name for what is used more than once, and for what an author named.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Graph, Id, Node, Truth};
use super::read::Forward;
use crate::body::{Body, Fetch, Operand, Reduction, Step};
use crate::expr::{Condition, Expr};

/// A body that is made of a graph.
pub struct Writer<'g> {
    graph: &'g Graph,
    /// What nodes are called: those of the author's names that have one, and what is given to the kernel.
    names: BTreeMap<Id, String>,
    /// Nodes that the kernel is given.
    given: BTreeSet<Id>,
}

/// What a kernel writes.
#[derive(Clone)]
pub struct Output {
    /// The operand.
    pub operand: Operand,
    /// How it is reduced along columns.
    pub fold: Option<Reduction>,
    /// The value.
    pub value: Id,
}

impl<'g> Writer<'g> {
    /// A writer of parts of the forward body's graph.
    pub fn new(forward: &'g Forward) -> Self {
        Writer { graph: &forward.graph, names: forward.names.clone(), given: BTreeSet::new() }
    }

    /// The same, where operands of these names hold the values of nodes.
    #[must_use]
    pub fn given(mut self, values: &[(Id, Operand)]) -> Self {
        for (id, operand) in values {
            self.given.insert(*id);
            self.names.insert(*id, operand.name.clone());
        }
        self
    }

    /// The same, where something holds the value of a node.
    #[must_use]
    pub fn keeping(mut self, id: Id) -> Self {
        self.given.insert(id);
        self
    }

    /// The body that computes `outputs` of what it needs of the operands and fetches.
    pub fn body(&self, operands: &[Operand], fetches: &[Fetch], outputs: Vec<Output>) -> Body {
        let roots: Vec<Id> = outputs.iter().map(|output| output.value).collect();
        let uses = self.uses(&roots);
        let is_used = |name: &str| {
            let named = |id: &Id| match self.graph.node(*id) {
                Node::Name(of) if !self.given.contains(id) => of == name,
                _ => self.given.contains(id) && self.names.get(id).is_some_and(|of| of == name),
            };
            uses.keys().any(named)
        };
        let fetches: Vec<Fetch> = fetches.iter().filter(|fetch| is_used(&fetch.name)).cloned().collect();
        let is_fetched = |name: &str| {
            let mut of = fetches.iter();
            of.any(|fetch| fetch.of == name || fetch.row.as_deref() == Some(name))
        };
        let inputs = operands.iter().filter(|operand| is_used(&operand.name) || is_fetched(&operand.name)).cloned();
        let written = outputs.iter().map(|output| output.operand.clone());
        let operands: Vec<Operand> = inputs.chain(written).collect();

        let mut taken: BTreeSet<String> = operands.iter().map(|operand| operand.name.clone()).collect();
        taken.extend(fetches.iter().map(|fetch| fetch.name.clone()));
        taken.extend(self.given.iter().filter_map(|id| self.names.get(id)).cloned());
        let mut bound: BTreeMap<Id, String> = BTreeMap::new();
        let mut steps = Vec::new();
        for (&id, &count) in &uses {
            let Some(stem) = self.stem(id, count) else { continue };
            let name = unique(&stem, &taken);
            taken.insert(name.clone());
            steps.push(match *self.graph.node(id) {
                Node::Reduce(reduction, of) => {
                    Step::Reduce { name: name.clone(), reduction, of: self.expression(of, &bound) }
                }
                _ => Step::Let { name: name.clone(), value: self.written(id, &bound) },
            });
            bound.insert(id, name);
        }
        for Output { operand, fold, value } in outputs {
            let value = self.expression(value, &bound);
            steps.push(Step::Store { output: operand.name, row: None, fold, value });
        }
        Body { operands, fetches, steps, ..Body::default() }
    }

    /// How often each node that is needed is used; nothing of what is given is needed for it.
    pub fn uses(&self, roots: &[Id]) -> BTreeMap<Id, usize> {
        let mut uses: BTreeMap<Id, usize> = BTreeMap::new();
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            let count = uses.entry(id).or_default();
            *count += 1;
            if *count == 1 && !self.given.contains(&id) {
                open.extend(self.graph.node(id).children());
            }
        }
        uses
    }

    /// What the name of a node begins with; none of one that is written where it is used.
    fn stem(&self, id: Id, uses: usize) -> Option<String> {
        let own = self.names.get(&id).map(|name| name.trim_start_matches("r#").trim_end_matches('_').to_owned());
        match self.graph.node(id) {
            _ if self.given.contains(&id) => None,
            Node::Name(_) | Node::Literal(_) | Node::Index(_) | Node::Extent(_) => None,
            _ if own.is_some() => own,
            Node::Reduce(Reduction::Sum, _) => Some("sum".to_owned()),
            Node::Reduce(Reduction::Mean, _) => Some("mean".to_owned()),
            Node::Reduce(Reduction::Max, _) => Some("greatest".to_owned()),
            Node::Reduce(Reduction::Min, _) => Some("least".to_owned()),
            _ if uses > 1 => Some("part".to_owned()),
            _ => None,
        }
    }

    fn expression(&self, id: Id, bound: &BTreeMap<Id, String>) -> Expr {
        let name = if self.given.contains(&id) { self.names.get(&id) } else { bound.get(&id) };
        name.map_or_else(|| self.written(id, bound), |name| Expr::Variable(name.clone()))
    }

    /// The node where it is computed.
    fn written(&self, id: Id, bound: &BTreeMap<Id, String>) -> Expr {
        let boxed = |id: Id| Box::new(self.expression(id, bound));
        match self.graph.node(id) {
            Node::Name(name) => Expr::Variable(name.clone()),
            Node::Literal(bits) => Expr::Literal(f32::from_bits(*bits)),
            Node::Index(axis) => Expr::Index(*axis),
            Node::Extent(axis) => Expr::Extent(*axis),
            Node::Negate(value) => Expr::Negate(boxed(*value)),
            Node::Binary(op, left, right) => Expr::Binary(*op, boxed(*left), boxed(*right)),
            Node::Call(function, arguments) => {
                Expr::Call(*function, arguments.iter().map(|&argument| self.expression(argument, bound)).collect())
            }
            Node::If(condition, then, otherwise) => {
                Expr::If(Box::new(self.condition(condition, bound)), boxed(*then), boxed(*otherwise))
            }
            // Reductions have names, and those come before what uses them.
            Node::Reduce(_, of) => self.expression(*of, bound),
        }
    }

    fn condition(&self, condition: &Truth, bound: &BTreeMap<Id, String>) -> Condition {
        let boxed = |condition: &Truth| Box::new(self.condition(condition, bound));
        match condition {
            Truth::Compare(op, left, right) => {
                Condition::Compare(*op, self.expression(*left, bound), self.expression(*right, bound))
            }
            Truth::Not(condition) => Condition::Not(boxed(condition)),
            Truth::And(left, right) => Condition::And(boxed(left), boxed(right)),
            Truth::Or(left, right) => Condition::Or(boxed(left), boxed(right)),
        }
    }
}

/// A name with a number behind it, as none of the language has.
pub fn unique(stem: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (1..).map(|number| format!("{stem}_{number}"));
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_default()
}
