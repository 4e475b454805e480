//! What is printed, and what all of its parts ask.

use crate::body::Body;
use crate::body::Reduction;
use crate::expr::cuda::Spelling;
use crate::expr::{Expr, Precision};
use crate::rows::joined::Join;
use crate::rows::lanes::{self, Lane};
use crate::rows::passes::Program;

/// How functions of the struct begin.
pub const FUNCTION: &str = "__device__ __forceinline__ static";

/// What a kernel's blocks bring to shared memory by bulk copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// Nothing: threads load what they read.
    Nothing,
    /// Nothing either, and threads request the `Row`s with the row, before they reduce anything.
    NothingAtOnce,
    /// Rows of the matrices.
    Matrices,
    /// These, and once a launch the `Row`s.
    MatricesAndRows,
}

impl Brought {
    pub fn is_in_shared_memory(self) -> bool {
        matches!(self, Brought::Matrices | Brought::MatricesAndRows)
    }
}

/// A body that is split into passes.
pub struct Printer<'p> {
    pub body: &'p Body,
    pub program: &'p Program,
    pub brought: Brought,
}

impl Printer<'_> {
    /// The pair of reductions that pass `at` brings together.
    pub fn joined(&self, at: usize) -> Option<&Join> {
        self.program.join.as_ref().filter(|join| join.pass + 1 == at)
    }

    /// Of pass `at`, or of a joined one and the one before it, the reductions that cross the threads by themselves.
    pub fn reductions(&self, at: usize) -> Vec<&(String, Reduction, Expr)> {
        let join = self.joined(at);
        let passes = if join.is_some() { at - 1..=at } else { at..=at };
        let reduces = passes.filter_map(|at| self.program.passes.get(at)).flat_map(|pass| &pass.reduces);
        reduces.filter(|(name, ..)| join.is_none_or(|join| *name != join.first && *name != join.second)).collect()
    }

    /// Numbers that threads tell each other at the end of pass `at`.
    pub fn numbers(&self, at: usize) -> usize {
        if self.program.joins(at) {
            0
        } else {
            self.reductions(at).len() + self.joined(at).map_or(0, |it| it.pair.numbers())
        }
    }

    pub fn number(&self, expr: &Expr) -> String {
        Spelling::Fast(self.body.precision()).number(expr)
    }

    /// The C++ type of a number that elements are divided by. Where threads load rows of f32 themselves, a multiplication more costs
    /// nothing, and ptxas spills a register of a layer_norm without it.
    pub fn divisor(&self, number: &Expr) -> &'static str {
        let is_short = self.body.precision() != Precision::Full;
        if (is_short || self.brought.is_in_shared_memory()) && self.program.is_near(number) {
            "autokernel::fast_math::NearDivisor"
        } else {
            "autokernel::fast_math::Divisor"
        }
    }

    /// The `Row`s that a block reads once and keeps.
    pub fn kept_rows(&self) -> impl Iterator<Item = Lane<'_>> {
        lanes::of(self.body).filter(|lane| self.brought == Brought::MatricesAndRows && lane.is_read_row())
    }

    /// The `Row`s that threads request with the row: those that a pass reads.
    pub fn requested_rows(&self) -> impl Iterator<Item = Lane<'_>> {
        let is_read =
            |name: &str| self.program.passes.iter().any(|pass| pass.streamed.rows.iter().any(|it| it == name));
        let with_the_row = |lane: &Lane<'_>| self.brought == Brought::NothingAtOnce && lane.is_read_row();
        lanes::of(self.body).filter(move |lane| with_the_row(lane) && is_read(lane.name))
    }

    pub fn is_requested(&self, name: &str) -> bool {
        self.requested_rows().any(|lane| lane.name == name)
    }

    /// What of a row threads request before they use any of it, by the lanes' names.
    pub fn requested(&self) -> Vec<&str> {
        let rows = self.requested_rows().map(|lane| lane.name);
        self.program.matrices(self.body).into_iter().chain(rows).collect()
    }

    /// The lane of that name.
    pub fn lane(&self, name: &str) -> Lane<'_> {
        let mut lanes = lanes::of(self.body);
        lanes.find(|lane| lane.name == name).expect("a pass reads lanes of its body")
    }
}

/// The name of the field that makes what a thread kept of a joined pass relative to the whole row.
pub fn factor(join: &Join) -> String {
    format!("{}factor", join.first)
}
