//! What must be computed.

use std::fmt;

use autokernel_core::{Dtype, Role};
use serde::{Deserialize, Serialize};

use super::complaint::complaints;
use super::passes::{Keep, Program};
use crate::body::Complaint;
use crate::body::{Body, Kind, Operand, Reduction, Step};
use crate::expr::Cost;
use crate::hash;

/// A row-wise kernel: a body without mistakes, nor steps that no output needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Body", into = "Body")]
pub struct Problem {
    body: Body,
}

impl Problem {
    /// The problem of computing `body`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(body: Body) -> Result<Self, Vec<Complaint>> {
        let complaints = complaints(&body);
        if complaints.is_empty() { Ok(Problem { body: body.without_idle_steps() }) } else { Err(complaints) }
    }

    /// What is computed.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The numbers of the operands whose rows indices pick, each once.
    pub fn picked(&self) -> Vec<u8> {
        self.class().picked()
    }

    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> Class {
        let operands = self.body.operands.iter().map(|&Operand { kind, dtype, role, .. }| (kind, dtype, role));
        let program = Program::new(&self.body, Keep::Values);
        let costs = self.body.steps.iter().map(|step| step.expr().cost());
        let number = |name: &str| self.body.operands.iter().position(|operand| operand.name == name);
        let picks = self.body.picked().filter_map(|(operand, index)| {
            Some([operand, index].map(number)).and_then(|[operand, index]| Some((operand?, index?)))
        });
        Class {
            operands: operands.collect(),
            picks: picks.map(|(operand, index)| (operand as u8, index as u8)).collect(),
            passes: program.passes.iter().map(|pass| pass.reductions().collect()).collect(),
            kept: u32::try_from(program.kept.len()).unwrap_or(u32::MAX),
            cost: costs.fold(Cost::NONE, Cost::and),
            operations: self.body.steps.iter().map(operations).sum(),
        }
    }
}

/// Operations of a step, each of which an element or a row takes once.
fn operations(step: &Step) -> u32 {
    u32::from(matches!(step, Step::Reduce { .. })) + step.expr().operations()
}

impl TryFrom<Body> for Problem {
    type Error = Complaint;

    fn try_from(body: Body) -> Result<Self, Complaint> {
        Problem::new(body).map_err(|mut complaints| complaints.swap_remove(0))
    }
}

impl From<Problem> for Body {
    fn from(problem: Problem) -> Self {
        problem.body
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |role| {
            let operands = self.body.operands.iter().filter(|operand| operand.role == role);
            operands.map(Operand::to_string).collect::<Vec<_>>().join(", ")
        };
        write!(f, "rows {} -> {}", list(Role::Input), list(Role::Output))
    }
}

/// Problems that are tuned together: those of the same structure and cost, whatever the body computes exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The operands in order, without their names.
    pub operands: Vec<(Kind, Dtype, Role)>,
    /// What is read or written at rows that an index picks: the number of the operand, and that of the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<(u8, u8)>,
    /// What each pass over a row reduces.
    pub passes: Vec<Vec<Reduction>>,
    /// Values of each element that later passes need and that are not cheap to compute again.
    pub kept: u32,
    /// What an element costs in registers and functions.
    pub cost: Cost,
    /// Operations an element.
    pub operations: u32,
}

impl Class {
    /// The class as one word, fit for file and symbol names.
    pub fn slug(&self) -> String {
        let json = serde_json::to_string(self).expect("a class has only string keys");
        format!("{}_{}", self.stem(), hash::short(&json))
    }

    /// The readable part of names: `rows_max_sum_bf16`.
    fn stem(&self) -> String {
        let reductions = self.passes.iter().flatten().map(|reduction| &reduction.name()["row_".len()..]);
        let dtype = self.matrices().map(Dtype::name).next().unwrap_or_default();
        ["rows"].into_iter().chain(reductions).chain([dtype]).collect::<Vec<_>>().join("_")
    }

    /// The operands under names that tell nothing.
    pub(super) fn nameless_operands(&self) -> Vec<Operand> {
        let operands = self.operands.iter().enumerate();
        let named =
            operands.map(|(at, &(kind, dtype, role))| Operand { name: format!("operand{at}"), kind, dtype, role });
        named.collect()
    }

    /// The numbers of the operands whose rows indices pick, each once.
    pub fn picked(&self) -> Vec<u8> {
        let mut picked: Vec<u8> = self.picks.iter().map(|(operand, _)| *operand).collect();
        picked.sort_unstable();
        picked.dedup();
        picked
    }

    /// The element types of the matrices.
    pub fn matrices(&self) -> impl Iterator<Item = Dtype> + '_ {
        self.operands.iter().filter(|(kind, ..)| *kind == Kind::Matrix).map(|(_, dtype, _)| *dtype)
    }

    /// The element types of the matrices that are read.
    pub fn read_matrices(&self) -> impl Iterator<Item = Dtype> + '_ {
        self.read(Kind::Matrix)
    }

    /// The element types of the `Row` operands.
    pub fn read_rows(&self) -> impl Iterator<Item = Dtype> + '_ {
        self.read(Kind::Row)
    }

    /// Vectors on their way through the widest pass: what it reduces or what is written, whichever are more, and each `Row`.
    pub(super) fn passing(&self) -> u32 {
        let reduced = self.passes.iter().map(Vec::len).max().unwrap_or(0);
        let written = self.operands.iter().filter(|(kind, _, role)| (*kind, *role) == (Kind::Matrix, Role::Output));
        u32::try_from(reduced.max(written.count()) + self.read_rows().count()).unwrap_or(u32::MAX)
    }

    fn read(&self, of: Kind) -> impl Iterator<Item = Dtype> + '_ {
        let read = (0..).zip(&self.operands).filter(move |(_, (kind, _, role))| (*kind, *role) == (of, Role::Input));
        // Once for each index that picks its rows.
        let times = |number: u8| self.picks.iter().filter(|(operand, _)| *operand == number).count().max(1);
        read.flat_map(move |(number, (_, dtype, _))| std::iter::repeat_n(*dtype, times(number)))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.slug())
    }
}
