//! Forms whose derivative somebody wrote: what the rules give of `x / (1 + e⁻ˣ)` is no number below −88.

use std::sync::LazyLock;

use super::graph::{Graph, Id, Node, Truth};
use crate::epilogue::Epilogue;
use crate::expr::{Condition, Expr, Function};

/// Epilogues that are recognised, whoever wrote them.
const FORMS: [&str; 4] = ["gelu", "gelu_tanh", "silu", "sigmoid"];

/// A form, and its derivative.
struct Known {
    form: Function,
    derivative: Function,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let all = Epilogue::of_bodies();
    let named = |name: String| all.iter().find(|epilogue| epilogue.name() == name).map(|it| it.function().clone());
    let known = |name: &&str| {
        let (form, derivative) = (named((*name).to_owned())?, named(format!("{name}_derivative"))?);
        Some(Known { form, derivative })
    };
    FORMS.iter().filter_map(known).collect()
});

impl Graph {
    /// The argument of the form that a node is, and its derivative there; nothing of a node that is none.
    pub fn known_derivative(&mut self, id: Id) -> Option<(Id, Id)> {
        let (argument, derivative) = KNOWN.iter().find_map(|Known { form, derivative }| {
            let mut found = None;
            self.matches(form, &form.result, id, &mut found).then_some(())?;
            Some((found?, derivative))
        })?;
        Some((argument, self.function(derivative, argument)))
    }

    /// Whether a node is the function's `expr`, of an argument that is `found`.
    fn matches(&self, of: &Function, expr: &Expr, id: Id, found: &mut Option<Id>) -> bool {
        match (expr, self.node(id)) {
            (Expr::Variable(name), _) if *name == of.parameter => *found.get_or_insert(id) == id,
            (Expr::Variable(name), _) => {
                let binding = of.bindings.iter().find(|binding| binding.name == *name);
                binding.is_some_and(|binding| self.matches(of, &binding.value, id, found))
            }
            (Expr::Literal(value), Node::Literal(bits)) => value.to_bits() == *bits,
            (Expr::Negate(value), Node::Negate(of_node)) => self.matches(of, value, *of_node, found),
            (Expr::Binary(op, left, right), Node::Binary(other, a, b)) if op == other => {
                self.matches(of, left, *a, found) && self.matches(of, right, *b, found)
            }
            (Expr::Call(function, written), Node::Call(other, arguments)) if function == other => {
                written.iter().zip(arguments).all(|(expr, argument)| self.matches(of, expr, *argument, found))
            }
            (Expr::If(condition, then, otherwise), Node::If(truth, a, b)) => {
                self.holds(of, condition, truth, found)
                    && self.matches(of, then, *a, found)
                    && self.matches(of, otherwise, *b, found)
            }
            _ => false,
        }
    }

    fn holds(&self, of: &Function, condition: &Condition, truth: &Truth, found: &mut Option<Id>) -> bool {
        match (condition, truth) {
            (Condition::Compare(op, left, right), Truth::Compare(other, a, b)) if op == other => {
                self.matches(of, left, *a, found) && self.matches(of, right, *b, found)
            }
            _ => false,
        }
    }
}
