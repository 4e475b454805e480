//! Reverse mode: from what a kernel writes to what it reads, the factor by which each value changes the whole.

use std::collections::BTreeMap;

use super::graph::{Graph, Id, Node, Truth};
use crate::body::Reduction;
use crate::expr::{BinaryOp, CompareOp, Math};

/// What is known of a value's adjoint.
#[derive(Clone, Copy, Default)]
struct Adjoint {
    /// What counts as it is.
    plain: Option<Id>,
    /// What each element of the row adds to a number of the row.
    of_elements: Option<Id>,
}

/// The adjoints of values, from the last to the first.
struct Reverse<'g> {
    graph: &'g mut Graph,
    /// Whether a value changes with what is wanted.
    active: BTreeMap<Id, bool>,
    adjoints: BTreeMap<Id, Adjoint>,
}

impl Graph {
    /// The adjoint of each of `wanted`, in order, where the results have those of `seeds`; none where no result changes with it.
    pub fn adjoints(&mut self, seeds: &[(Id, Id)], wanted: &[Id]) -> Vec<Option<Id>> {
        let forward: Vec<Id> = self.ids().collect();
        let results: Vec<Id> = seeds.iter().map(|(result, _)| *result).collect();
        let (active, adjoints) = (self.changing_with(wanted), BTreeMap::new());
        let mut reverse = Reverse { graph: self, active, adjoints };
        for &(result, seed) in seeds {
            // A number of the row that is written to a matrix is written once an element.
            let is_of_elements = reverse.graph.varies(seed) && !reverse.graph.varies(result);
            reverse.contribute(result, seed, is_of_elements);
        }
        for id in forward.into_iter().rev() {
            let is_invariant = || match reverse.graph.node(id) {
                Node::Reduce(Reduction::Max | Reduction::Min, _) => reverse.graph.is_invariant(id, &results),
                _ => false,
            };
            if reverse.is_active(id) && !wanted.contains(&id) && !is_invariant() {
                reverse.pass_on(id);
            }
        }
        wanted.iter().map(|&id| reverse.adjoint(id)).collect()
    }

    fn changing_with(&self, wanted: &[Id]) -> BTreeMap<Id, bool> {
        let mut active: BTreeMap<Id, bool> = BTreeMap::new();
        for id in self.ids() {
            let is_of = |child: &Id| active.get(child).copied().unwrap_or(false);
            let is_active = match self.node(id) {
                Node::If(_, then, otherwise) => is_of(then) || is_of(otherwise),
                node => node.children().iter().any(is_of),
            };
            active.insert(id, is_active || wanted.contains(&id));
        }
        active
    }
}

impl Reverse<'_> {
    fn is_active(&self, id: Id) -> bool {
        self.active.get(&id).copied().unwrap_or(false)
    }

    /// The whole of a value's adjoint.
    fn adjoint(&mut self, id: Id) -> Option<Id> {
        let Adjoint { plain, of_elements } = self.adjoints.get(&id).copied().unwrap_or_default();
        let summed = of_elements.map(|of| self.graph.row_sum(of));
        let whole = match (plain, summed) {
            (Some(plain), Some(summed)) => Some(self.graph.plus(plain, summed)),
            (plain, summed) => plain.or(summed),
        };
        whole.filter(|&whole| self.graph.value(whole) != Some(0.0))
    }

    fn contribute(&mut self, to: Id, part: Id, is_of_elements: bool) {
        if !self.is_active(to) {
            return;
        }
        let Adjoint { plain, of_elements } = self.adjoints.get(&to).copied().unwrap_or_default();
        let before = if is_of_elements { of_elements } else { plain };
        let sum = before.map_or(part, |before| self.graph.plus(before, part));
        let adjoint = if is_of_elements {
            Adjoint { plain, of_elements: Some(sum) }
        } else {
            Adjoint { plain: Some(sum), of_elements }
        };
        self.adjoints.insert(to, adjoint);
    }

    /// Passes a value's adjoint on to what it is computed of.
    fn pass_on(&mut self, id: Id) {
        let Some(adjoint) = self.adjoint(id) else { return };
        let parts = self.parts(id, adjoint);
        let is_reduction = matches!(self.graph.node(id), Node::Reduce(..));
        for (to, part) in parts {
            let is_of_elements = !is_reduction && self.graph.varies(id) && !self.graph.varies(to);
            self.contribute(to, part, is_of_elements);
        }
    }

    /// What the value passes to each that it is computed of.
    fn parts(&mut self, id: Id, adjoint: Id) -> Vec<(Id, Id)> {
        if let Some((argument, derivative)) = self.graph.known_derivative(id) {
            return vec![(argument, self.graph.times(adjoint, derivative))];
        }
        let graph = &mut *self.graph;
        match graph.node(id).clone() {
            Node::Name(_) | Node::Literal(_) | Node::Index(_) | Node::Extent(_) => Vec::new(),
            Node::Negate(value) => vec![(value, graph.negate(adjoint))],
            Node::Binary(op, left, right) => graph.of_operator(op, (id, adjoint), left, right),
            Node::Call(function, arguments) => graph.of_call(function, (id, adjoint), &arguments),
            Node::If(condition, then, otherwise) => {
                let nothing = graph.literal(0.0);
                let to_then = graph.choose((*condition).clone(), adjoint, nothing);
                vec![(then, to_then), (otherwise, graph.choose(*condition, nothing, adjoint))]
            }
            Node::Reduce(reduction, value) => vec![(value, graph.of_reduction(reduction, (id, adjoint), value))],
        }
    }
}

impl Graph {
    fn of_operator(&mut self, op: BinaryOp, (id, adjoint): (Id, Id), left: Id, right: Id) -> Vec<(Id, Id)> {
        match op {
            BinaryOp::Add => vec![(left, adjoint), (right, adjoint)],
            BinaryOp::Subtract => vec![(left, adjoint), (right, self.negate(adjoint))],
            BinaryOp::Multiply => vec![(left, self.times(adjoint, right)), (right, self.times(adjoint, left))],
            BinaryOp::Divide => {
                let to_left = self.over(adjoint, right);
                let product = self.times(adjoint, id);
                let quotient = self.over(product, right);
                vec![(left, to_left), (right, self.negate(quotient))]
            }
            // `left - trunc(left / right) * right`, whose jumps have no slope.
            BinaryOp::Remainder => {
                let quotient = self.over(left, right);
                let whole = self.call(Math::Trunc, quotient);
                let product = self.times(adjoint, whole);
                vec![(left, adjoint), (right, self.negate(product))]
            }
        }
    }

    fn of_call(&mut self, function: Math, (id, adjoint): (Id, Id), arguments: &[Id]) -> Vec<(Id, Id)> {
        let x = arguments[0];
        let part = match function {
            Math::Max | Math::Min => return self.of_extreme(function, adjoint, x, arguments[1]),
            Math::MulAdd => {
                let (to_left, to_right) = (self.times(adjoint, arguments[1]), self.times(adjoint, x));
                return vec![(x, to_left), (arguments[1], to_right), (arguments[2], adjoint)];
            }
            Math::Abs => {
                let (zero, negative) = (self.literal(0.0), self.negate(adjoint));
                let otherwise = self.choose(Truth::Compare(CompareOp::Less, x, zero), negative, zero);
                self.choose(Truth::Compare(CompareOp::Greater, x, zero), adjoint, otherwise)
            }
            Math::Floor | Math::Ceil | Math::Trunc | Math::RoundTiesEven => self.literal(0.0),
            Math::Exp => self.times(adjoint, id),
            Math::Ln => self.over(adjoint, x),
            Math::Sqrt => {
                let half = self.literal(0.5);
                let derivative = self.over(half, id);
                self.times(adjoint, derivative)
            }
            Math::Tanh => {
                let (one, squared) = (self.literal(1.0), self.times(id, id));
                let derivative = self.subtract(one, squared);
                self.times(adjoint, derivative)
            }
            Math::Erf => {
                let squared = self.times(x, x);
                let negative = self.negate(squared);
                let bell = self.call(Math::Exp, negative);
                let derivative = self.scaled_by(std::f32::consts::FRAC_2_SQRT_PI, bell);
                self.times(adjoint, derivative)
            }
            Math::Sin => {
                let derivative = self.call(Math::Cos, x);
                self.times(adjoint, derivative)
            }
            Math::Cos => {
                let sine = self.call(Math::Sin, x);
                let product = self.times(adjoint, sine);
                self.negate(product)
            }
            Math::Recip => {
                let squared = self.times(id, id);
                let product = self.times(adjoint, squared);
                self.negate(product)
            }
        };
        vec![(x, part)]
    }

    fn scaled_by(&mut self, number: f32, value: Id) -> Id {
        let number = self.literal(number);
        self.times(number, value)
    }

    /// Of two equal numbers the second one has it all: `x.max(0.0)` has the derivative 0 at 0, as everywhere else.
    fn of_extreme(&mut self, function: Math, adjoint: Id, x: Id, other: Id) -> Vec<(Id, Id)> {
        let op = if function == Math::Max { CompareOp::Greater } else { CompareOp::Less };
        let nothing = self.literal(0.0);
        let mut is_first = Truth::Compare(op, x, other);
        if self.value(other).is_none() {
            // Of a NaN and a number it is the number.
            let is_nan = Truth::Compare(CompareOp::NotEqual, other, other);
            is_first = Truth::Or(Box::new(is_first), Box::new(is_nan));
        }
        let to_first = self.choose(is_first.clone(), adjoint, nothing);
        vec![(x, to_first), (other, self.choose(is_first, nothing, adjoint))]
    }

    fn of_reduction(&mut self, reduction: Reduction, (id, adjoint): (Id, Id), value: Id) -> Id {
        match reduction {
            Reduction::Sum => adjoint,
            Reduction::Mean => self.over_columns(adjoint),
            // Elements that are the greatest share it evenly, as PyTorch's `amax` has it.
            Reduction::Max | Reduction::Min => {
                let (one, nothing) = (self.literal(1.0), self.literal(0.0));
                let is_it = Truth::Compare(CompareOp::Equal, value, id);
                let counted = self.choose(is_it.clone(), one, nothing);
                let count = self.add(Node::Reduce(Reduction::Sum, counted));
                let share = self.over(adjoint, count);
                self.choose(is_it, share, nothing)
            }
        }
    }
}
