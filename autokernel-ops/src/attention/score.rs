//! What a body makes of a score before the softmax.

use serde::{Deserialize, Serialize};

use crate::expr::ball::{self, Ball};
use crate::expr::{Binding, Cost, Expr, Precision};

/// The names that a body has beside its operands: the sum of products, what scores are multiplied by without a body, and where
/// the score stands.
pub const NAMES: &[&str] = &[SCORE, SCALE, "batch", "head", "query", "key"];
/// What is changed.
pub const SCORE: &str = "score";
/// What scores are multiplied by without a body.
pub const SCALE: &str = "scale";

/// `score = value;`, a function of the score and of where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// In the order of the function's parameters, between the values and the output.
    pub operands: Vec<Operand>,
    /// `let` after `let`; each may use those before it. Names are unique.
    pub bindings: Vec<Binding>,
    /// What the score becomes.
    pub value: Expr,
}

/// What a body reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The parameter's name.
    pub name: String,
    /// By what it is indexed.
    pub kind: Kind,
}

/// By what an operand of a body is indexed. Its elements are `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By nothing: a number of the launch.
    Number,
    /// By the head of the query.
    PerHead,
}

impl Score {
    /// The body without what its score does not need.
    #[must_use]
    pub fn without_idle_bindings(mut self) -> Self {
        let mut needed: Vec<String> = self.value.variables().into_iter().map(str::to_owned).collect();
        let mut kept: Vec<Binding> = Vec::new();
        for binding in self.bindings.into_iter().rev() {
            if needed.contains(&binding.name) {
                needed.extend(binding.value.variables().into_iter().map(str::to_owned));
                kept.push(binding);
            }
        }
        kept.reverse();
        self.bindings = kept;
        self
    }

    /// The kinds of its operands.
    pub fn kinds(&self) -> Vec<Kind> {
        self.operands.iter().map(|operand| operand.kind).collect()
    }

    /// What the score becomes where its names have those values, in fp64.
    pub fn eval(&self, name: &dyn Fn(&str) -> f64) -> f64 {
        let mut bound: Vec<(&str, Ball)> = Vec::new();
        for Binding { name: own, value } in &self.bindings {
            let value = self.eval_one(value, &bound, name);
            bound.push((own, value));
        }
        self.eval_one(&self.value, &bound, name).value
    }

    fn eval_one(&self, expr: &Expr, bound: &[(&str, Ball)], name: &dyn Fn(&str) -> f64) -> Ball {
        ball::eval(expr, Precision::Full, &|wanted| {
            let own = bound.iter().find(|(own, _)| *own == wanted);
            own.map_or_else(|| Ball::exact(name(wanted)), |(_, value)| *value)
        })
    }

    /// What a score costs the thread that computes it.
    pub fn cost(&self) -> Cost {
        let costs = self.expressions().map(|expr| expr.cost_to(Precision::Exponent).and(of_conditions(expr)));
        costs.fold(Cost::NONE, Cost::and)
    }

    /// Every expression, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.bindings.iter().map(|binding| &binding.value).chain([&self.value])
    }
}

/// Registers of what conditions are on, which several scores have in common, and of what they choose from.
const CONDITION_REGISTERS: u32 = 40;

fn of_conditions(expr: &Expr) -> Cost {
    let mut has_one = false;
    expr.walk(&mut |expr| has_one |= matches!(expr, Expr::If(..)));
    Cost { registers: if has_one { CONDITION_REGISTERS } else { 0 }, ..Cost::NONE }
}
