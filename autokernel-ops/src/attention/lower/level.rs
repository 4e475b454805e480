//! How often a value is another.

use crate::attention::score::{Kind, SCALE, SCORE, Score};
use crate::expr::Expr;

/// The name of the key's place.
pub const KEY: &str = "key";
/// That of the query.
pub const QUERY: &str = "query";

/// What has a value of its own of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Launch,
    Head,
    /// A query of a head.
    Row,
    /// A key, and each query beside it.
    Key,
}

/// The level of each name.
pub struct Levels {
    names: Vec<(String, Level, bool)>,
}

impl Levels {
    pub fn new(score: &Score) -> Self {
        let operand = |kind| match kind {
            Kind::Number | Kind::DeviceScalar => Level::Launch,
            Kind::PerHead => Level::Head,
            Kind::PerDistance => Level::Key,
        };
        let own = [
            (SCALE, Level::Launch),
            ("head", Level::Head),
            ("batch", Level::Head),
            (QUERY, Level::Row),
            (KEY, Level::Key),
            (SCORE, Level::Key),
        ];
        let own = own.map(|(name, level)| (name.to_owned(), level, name == SCORE));
        let operands = score.operands.iter().map(|it| (it.name.clone(), operand(it.kind), false));
        Levels { names: operands.chain(own).collect() }
    }

    /// Adds a name of such a value.
    pub fn bind(&mut self, name: &str, value: &Expr) {
        let (level, has_score) = (self.of(value), self.has_score(value));
        self.names.push((name.to_owned(), level, has_score));
    }

    fn name(&self, name: &str) -> (Level, bool) {
        let found = self.names.iter().rev().find(|(own, ..)| own == name);
        found.map_or((Level::Head, false), |(_, level, has_score)| (*level, *has_score))
    }

    /// The level of an expression.
    pub fn of(&self, expr: &Expr) -> Level {
        expr.variables().into_iter().map(|name| self.name(name).0).max().unwrap_or(Level::Launch)
    }

    /// Whether the sum of products is in it.
    pub fn has_score(&self, expr: &Expr) -> bool {
        expr.variables().into_iter().any(|name| self.name(name).1)
    }
}
