//! Which two reductions of a body can be made in one pass over the row, though the second needs the first: a maximum with the
//! sum of exponentials relative to it, a mean with the sum of squares about it.
//!
//! Each thread takes the second relative to what it has of the first so far, and moves it whenever that changes. This is M. Milakov
//! and N. Gimelshein, "Online normalizer calculation for softmax", 2018, and T. Chan, G. Golub and R. LeVeque, "Updating formulae
//! and a pairwise algorithm for computing sample variances", 1979. What is found is found by what is computed, not by names.

use super::lower::{Lowered, RowStep};
use crate::body::Reduction;
use crate::expr::{BinaryOp, Expr, Named};

/// Two reductions in one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// What they are.
    pub pair: Pair,
    /// The pass of the first one; the second one's is the next.
    pub pass: usize,
    /// The first one's name in CUDA, without `row.`.
    pub first: String,
    /// The second one's.
    pub second: String,
    /// Other names of the first one, which the body gave it.
    pub aliases: Vec<String>,
    /// Elements that are a term of the second one: what a thread keeps of them is relative to its own first one.
    terms: Vec<String>,
}

/// What the second reduction is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Of `(x - row_max(x)).exp()`.
    Exponentials,
    /// Of `(x - row_mean(x)) * (x - row_mean(x))`.
    Squares,
}

impl Pair {
    pub const ALL: [Pair; 2] = [Pair::Exponentials, Pair::Squares];

    /// How the first one reduces.
    pub fn first(self) -> Reduction {
        match self {
            Pair::Exponentials => Reduction::Max,
            Pair::Squares => Reduction::Mean,
        }
    }

    /// Its name in CUDA.
    pub fn name(self) -> &'static str {
        match self {
            Pair::Exponentials => "Exponentials",
            Pair::Squares => "Squares",
        }
    }

    /// Numbers that threads tell each other for it.
    pub fn numbers(self) -> usize {
        match self {
            Pair::Exponentials => 2,
            Pair::Squares => 3,
        }
    }

    /// What the second one reduces where the first one, called `first`, reduces `of`.
    fn term(self, of: &Expr, first: &str) -> Expr {
        let first = Expr::Variable(format!("row.{first}"));
        let relative = || Box::new(of.relative_to(&first));
        match self {
            Pair::Exponentials => of.exponential_relative_to(&first),
            Pair::Squares => Expr::Binary(BinaryOp::Multiply, relative(), relative()),
        }
    }
}

/// Whether passes that reduce in these ways may have one of these pairs. The body says whether they do.
pub fn may_join(passes: &[Vec<Reduction>], pairs: &[Pair]) -> bool {
    let is_sum = |second: &[Reduction]| matches!(second, [Reduction::Sum | Reduction::Mean]);
    let has_first = |pass: &[Reduction]| pairs.iter().any(|pair| pass.contains(&pair.first()));
    passes.windows(2).any(|two| has_first(&two[0]) && is_sum(&two[1]))
}

impl Join {
    /// The first pair of a body, if it has one.
    pub fn find(lowered: &Lowered) -> Option<Self> {
        (1..lowered.passes).find_map(|next| Self::of_passes(lowered, next - 1))
    }

    fn of_passes(lowered: &Lowered, pass: usize) -> Option<Self> {
        let of = |number: usize| lowered.reduces.iter().filter(move |(of, _)| *of == number).map(|(_, it)| it);
        let mut seconds = of(pass + 1);
        let (Some((second, Reduction::Sum | Reduction::Mean, term)), None) = (seconds.next(), seconds.next()) else {
            return None;
        };
        // What is written would be relative to what one thread has seen.
        if lowered.stores.iter().any(|(of, _)| *of == pass + 1) {
            return None;
        }
        let names = named(lowered);
        Pair::ALL.into_iter().find_map(|pair| {
            let firsts = of(pass).filter(|(_, reduction, _)| *reduction == pair.first());
            let found = firsts.map(|(first, _, of)| (first, pair.term(of, first)));
            let (first, expected) = { found }.find(|(_, expected)| names.are_same(term, expected))?;
            let is_term = |name: &&String| names.are_same(&Expr::Variable((*name).clone()), &expected);
            let terms = match pair {
                Pair::Exponentials => lowered.order.iter().filter(is_term).cloned().collect(),
                // They cannot be moved one by one without what they are the squares of.
                Pair::Squares => Vec::new(),
            };
            let (aliases, second) = (aliases(&names, first), second.clone());
            Some(Join { pair, pass, first: first.clone(), second, aliases, terms })
        })
    }

    /// Whether an element may be kept for later passes which is there from pass `ready` on: in the joined pass those that need
    /// the first reduction have it of one thread alone.
    pub fn may_keep(&self, name: &str, ready: usize) -> bool {
        ready != self.pass + 1 || self.is_relative(name)
    }

    /// Whether what a thread keeps of the element is relative to its own first reduction.
    pub fn is_relative(&self, name: &str) -> bool {
        self.terms.iter().any(|term| term == name)
    }
}

/// What names stand for: elements, and what is another name for a value of the row.
fn named(lowered: &Lowered) -> Named<'_> {
    let elements = lowered.elements.iter().map(|(name, element)| (name.clone(), &element.expr));
    let aliases = lowered.between.iter().flatten().filter_map(|step| match step {
        RowStep::Value { name, value: value @ Expr::Variable(_) } => Some((format!("row.{name}"), value)),
        _ => None,
    });
    Named::new(elements.chain(aliases))
}

/// The names, without `row.`, that stand for the value of the row called `first`.
fn aliases(names: &Named<'_>, first: &str) -> Vec<String> {
    let first = Expr::Variable(format!("row.{first}"));
    let known = names.names().filter_map(|name| Some((name, name.strip_prefix("row.")?)));
    let stands = known.filter(|(name, _)| names.are_same(&Expr::Variable((*name).to_owned()), &first));
    stands.map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
#[path = "joined_tests.rs"]
mod tests;
