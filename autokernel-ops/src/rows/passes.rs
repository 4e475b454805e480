//! From a body to passes over a row: which reductions share one, and what is kept from pass to pass.

use std::collections::{BTreeMap, BTreeSet};

use super::joined::{Join, Pair};
use super::lanes::{self, Lane};
pub use super::lower::RowStep;
use super::lower::{self, Lowered, ROW};
use crate::body::cuda::element;
use crate::body::{Body, Reduction};
use crate::expr::{Axis, Expr, Math};
use crate::knob::choices;

choices! {
    /// What a thread keeps of its elements from one pass to the next.
    Keep {
        /// The inputs as they were loaded: half a register an element of 16 bits; values are computed again.
        Inputs = "inputs",
        /// Values that are not cheap to compute again, in fp32, and what inputs are still needed beside them.
        Values = "values",
    }
}

/// A body, split into passes over a row. Its names are those of the emitted CUDA: `x_` is an element of the operand or
/// `let` called `x`, `row.x_` a value that all elements of a row share.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The passes, each of which needs what the ones before it reduced.
    pub passes: Vec<Pass>,
    /// What is computed once a row, before each pass; one more than passes, as the last is behind them.
    pub between: Vec<Vec<RowStep>>,
    /// The elements that are kept in fp32 between passes.
    pub kept: Vec<String>,
    /// Two passes that are one.
    pub join: Option<Join>,
    /// Sums of exponentials relative to their greatest, by their CUDA names: one at least, and no more than there are columns.
    sums_of_shares: Vec<String>,
}

/// A pass over a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Over the elements that a thread keeps.
    pub held: Elements,
    /// Over those that did not fit, and are read and computed again.
    pub streamed: Elements,
    /// What it reduces: the name of the result, how, and what.
    pub reduces: Vec<(String, Reduction, Expr)>,
    /// What it writes to matrices: the output's name, and its elements.
    pub stores: Vec<(String, Expr)>,
}

/// What a pass does to each element before it reduces or writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elements {
    /// Matrices that it reads, by their lanes' names.
    pub matrices: Vec<String>,
    /// Row operands that it reads, by their lanes' names.
    pub rows: Vec<String>,
    /// Whether it needs the number of the element's column.
    pub column_index: bool,
    /// Values that it computes, in order, by their CUDA names.
    pub values: Vec<(String, Source)>,
    /// Those of them that it keeps for later passes.
    pub keeps: Vec<String>,
}

/// Where a value of an element comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It is computed.
    Computed(Expr),
    /// An earlier pass kept it.
    Kept,
}

/// Operations below which a value is computed again rather than kept: a kept one takes a register an element.
const CHEAP: u32 = 4;

impl Program {
    /// The passes of a body without mistakes.
    pub fn new(body: &Body, keep: Keep) -> Self {
        Self::of(body, &lower::lower(body), keep, None)
    }

    /// The same where two reductions are made in one pass, if the body has two that can be.
    pub fn joining(body: &Body, keep: Keep) -> Self {
        let lowered = lower::lower(body);
        Self::of(body, &lowered, keep, Join::find(&lowered))
    }

    fn of(body: &Body, lowered: &Lowered, keep: Keep, join: Option<Join>) -> Self {
        let mut kept: BTreeSet<String> = BTreeSet::new();
        let mut held = vec![Elements::default(); lowered.passes];
        for pass in (0..lowered.passes).rev() {
            let keeps: Vec<String> = kept.iter().filter(|name| lowered.ready(name) == pass).cloned().collect();
            let mut needs = lowered.needs_of(pass);
            needs.extend(keeps.iter().map(String::as_str));
            let is_kept = |name: &str| {
                let ready = lowered.ready(name);
                let may_be = ready < pass && join.as_ref().is_none_or(|join| join.may_keep(name, ready));
                keep == Keep::Values && may_be && is_worth_keeping(body, lowered, name)
            };
            held[pass] = elements(body, lowered, &needs, &is_kept);
            let from_before = held[pass].values.iter().filter(|(_, source)| *source == Source::Kept);
            kept.extend(from_before.map(|(name, _)| name.clone()));
            held[pass].keeps = keeps;
        }
        let kept = lowered.order.iter().filter(|name| kept.contains(*name)).cloned().collect();

        let passes = held.into_iter().enumerate().map(|(pass, held)| Pass {
            held,
            streamed: elements(body, lowered, &lowered.needs_of(pass), &|_| false),
            reduces: of_pass(&lowered.reduces, pass),
            stores: of_pass(&lowered.stores, pass),
        });
        let passes = passes.collect();
        let sums_of_shares = Join::find(lowered).filter(|join| join.pair == Pair::Exponentials);
        let sums_of_shares = sums_of_shares.map(|join| format!("{ROW}{}", join.second)).into_iter().collect();
        Program { passes, between: lowered.between.clone(), kept, join, sums_of_shares }
    }

    /// Whether the reciprocal of a number of the row is in the normal range, or zero or no finite number: of a root, and of a sum
    /// whose terms are at most one, and one of them one.
    pub fn is_near(&self, number: &Expr) -> bool {
        let mut number = number;
        // As many names as there are, at most.
        for _ in 0..=self.between.iter().map(Vec::len).sum() {
            match number {
                Expr::Call(Math::Sqrt, _) => return true,
                Expr::Variable(name) if self.sums_of_shares.contains(name) => return true,
                Expr::Variable(name) => match self.value_of(name) {
                    Some(value) => number = value,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }

    /// What a name of the row stands for.
    fn value_of(&self, name: &str) -> Option<&Expr> {
        self.between.iter().flatten().find_map(|step| match step {
            RowStep::Value { name: known, value } if name.strip_prefix(ROW) == Some(known) => Some(value),
            _ => None,
        })
    }

    /// Whether the first pass makes all that is kept, and later ones read no matrix beside it.
    pub fn keeps_at_once(&self) -> bool {
        let Some((first, later)) = self.passes.split_first() else { return false };
        let reads_none = later.iter().all(|pass| pass.held.matrices.is_empty());
        !self.kept.is_empty() && first.held.keeps.len() == self.kept.len() && reads_none
    }

    /// Whether the pass of that number and the next one are one.
    pub fn joins(&self, pass: usize) -> bool {
        self.join.as_ref().is_some_and(|join| join.pass == pass)
    }

    /// Matrices that are read, by their lanes' names.
    pub fn matrices<'b>(&self, body: &'b Body) -> Vec<&'b str> {
        let read = |name: &str| {
            let mut parts = self.passes.iter().flat_map(|pass| [&pass.held, &pass.streamed]);
            parts.any(|elements| elements.matrices.iter().any(|matrix| matrix == name))
        };
        lanes::of(body).filter(Lane::is_read_matrix).map(|lane| lane.name).filter(|name| read(name)).collect()
    }
}

impl Pass {
    /// How it reduces.
    pub fn reductions(&self) -> impl Iterator<Item = Reduction> + '_ {
        self.reduces.iter().map(|(_, reduction, _)| *reduction)
    }
}

fn of_pass<T: Clone>(parts: &[(usize, T)], pass: usize) -> Vec<T> {
    parts.iter().filter(|(of, _)| *of == pass).map(|(_, part)| part.clone()).collect()
}

/// What must be read and computed for `needs`, where `is_kept` says what earlier passes kept.
fn elements(body: &Body, lowered: &Lowered, needs: &[&str], is_kept: &dyn Fn(&str) -> bool) -> Elements {
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = needs.to_vec();
    while let Some(name) = open.pop() {
        if !wanted.insert(name) || is_kept(name) {
            continue;
        }
        if let Some(value) = lowered.elements.get(name) {
            open.extend(value.expr.variables().into_iter().filter(|name| !lower::is_of_row(name)));
        }
    }
    let read = |of_kind: fn(&Lane<'_>) -> bool| {
        let read = lanes::of(body).filter(of_kind).filter(|lane| wanted.contains(&*element(lane.name)));
        read.map(|lane| lane.name.to_owned()).collect()
    };
    let values = lowered.order.iter().filter(|name| wanted.contains(&***name)).map(|name| {
        let source = if is_kept(name) { Source::Kept } else { Source::Computed(lowered.elements[name].expr.clone()) };
        (name.clone(), source)
    });
    Elements {
        matrices: read(|lane| lane.is_read_matrix()),
        rows: read(|lane| lane.is_read_row()),
        column_index: wanted.contains(Axis::Column.name()),
        values: values.collect(),
        keeps: Vec::new(),
    }
}

/// Whether computing the value again costs more than a register: many operations, or more than one matrix to hold for it.
fn is_worth_keeping(body: &Body, lowered: &Lowered, name: &str) -> bool {
    let mut operations = BTreeMap::new();
    let Some(total) = lowered.operations(name, &mut operations) else { return false };
    let needs = elements(body, lowered, &[name], &|_| false);
    total >= CHEAP || needs.matrices.len() > 1
}

#[cfg(test)]
#[path = "passes_tests.rs"]
mod tests;
