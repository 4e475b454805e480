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
    /// By nothing: a number in device memory, which each replay of a graph reads anew.
    DeviceScalar,
    /// By the head of the query.
    PerHead,
    /// By the head of the query, and by how far the key lies behind the query: `[heads, distances]`, of which the column in the middle is
    /// the query's own place. A key that is farther away has the first number or the last.
    PerDistance,
}

/// The column of a key so far behind a query, of a table of so many, at least one; [`Kind::PerDistance`].
pub fn column_of(distance: i64, columns: usize) -> usize {
    let (middle, last) = (columns as i64 / 2, columns as i64 - 1);
    distance.saturating_add(middle).clamp(0, last.max(0)) as usize
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
        costs.fold(of_distances(self.has_distances()), Cost::and)
    }

    /// Whether it reads numbers by distance.
    pub fn has_distances(&self) -> bool {
        self.operands.iter().any(|operand| operand.kind == Kind::PerDistance)
    }

    /// Every expression, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.bindings.iter().map(|binding| &binding.value).chain([&self.value])
    }
}

/// Registers of what conditions are on, which several scores have in common, and of what they choose from.
const CONDITION_REGISTERS: u32 = 40;

/// Registers of where numbers by distance lie, and of those that are on their way.
const DISTANCE_REGISTERS: u32 = 16;

fn of_distances(has_some: bool) -> Cost {
    Cost { registers: if has_some { DISTANCE_REGISTERS } else { 0 }, ..Cost::NONE }
}

fn of_conditions(expr: &Expr) -> Cost {
    let mut has_one = false;
    expr.walk(&mut |expr| has_one |= matches!(expr, Expr::If(..)));
    Cost { registers: if has_one { CONDITION_REGISTERS } else { 0 }, ..Cost::NONE }
}
