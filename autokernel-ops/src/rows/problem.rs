//! What must be computed.

use std::collections::BTreeSet;
use std::fmt;

use autokernel_core::{Dtype, Role};
use serde::{Deserialize, Serialize};

use super::complaint::complaints;
use super::joined::{self, Pair};
use super::own_axes::OwnAxes;
use super::passes::{Keep, Program};

use crate::body::Complaint;
use crate::body::{Body, Columns, FP8, Kind, Operand, Reduction, Step};
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

    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> Class {
        let operands = self.body.operands.iter().map(|&Operand { kind, dtype, role, .. }| (kind, dtype, role));
        let program = Program::new(&self.body, Keep::Values);
        let passes: Vec<Vec<Reduction>> = program.passes.iter().map(|pass| pass.reductions().collect()).collect();
        let joins = || Program::joining(&self.body, Keep::Values).join.is_some();
        let costs = self.body.steps.iter().map(|step| step.expr().cost());
        let number = |name: &str| self.body.operands.iter().position(|operand| operand.name == name);
        let number = |name: &str| number(name).and_then(|at| u8::try_from(at).ok());
        let fetches = self.body.fetches.iter().filter_map(|fetch| {
            let row = fetch.row.as_deref().and_then(number);
            Some(Fetched { of: number(&fetch.of)?, row, columns: fetch.columns })
        });
        let scatters = self.body.outputs().filter_map(|output| {
            let index = self.body.row_of_output(&output.name)?;
            Some((number(&output.name)?, number(index)?))
        });
        let unread = (0..).zip(&self.body.operands).filter(|(_, operand)| {
            operand.role == Role::Input
                && operand.kind.varies_along_row()
                && !self.body.is_in_expressions(&operand.name)
        });
        let is_fetched = |name: &str| self.body.fetches.iter().any(|fetch| fetch.of == name);
        Class {
            operands: operands.collect(),
            unread: unread.filter(|(_, operand)| !is_fetched(&operand.name)).map(|(at, _)| at).collect(),
            fetches: fetches.collect(),
            scatters: scatters.collect(),
            folds: self.body.outputs().filter_map(|output| self.body.fold_of(&output.name)).collect(),
            is_unjoined: joined::may_join(&passes, &Pair::ALL) && !joins(),
            passes,
            kept: u32::try_from(program.kept.len()).unwrap_or(u32::MAX),
            keeps_at_once: program.keeps_at_once(),
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

/// A fetch, by the numbers of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fetched {
    /// What it reads.
    pub of: u8,
    /// The index that picks the row, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u8>,
    /// Which columns.
    #[serde(default, skip_serializing_if = "Columns::are_same")]
    pub columns: Columns,
}

/// Problems that are tuned together: those of the same structure and cost, whatever the body computes exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The operands in order, without their names.
    pub operands: Vec<(Kind, Dtype, Role)>,
    /// The numbers of matrices and `Row`s that are passed, and that nothing written needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<u8>,
    /// What is read elsewhere than where a body writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetches: Vec<Fetched>,
    /// Outputs whose rows an index picks: their numbers, and the index's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatters: Vec<(u8, u8)>,
    /// How the outputs are reduced along columns; none where it is done along rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<Reduction>,
    /// What each pass over a row reduces.
    pub passes: Vec<Vec<Reduction>>,
    /// Whether no two of these reductions can be made in one pass though others of their kinds can: a sum behind a maximum, but not of
    /// what is relative to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unjoined: bool,
    /// Values of each element that later passes need and that are not cheap to compute again.
    pub kept: u32,
    /// Whether the first pass makes all of them, and later ones read no matrix beside them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_at_once: bool,
    /// What an element costs in registers and functions.
    pub cost: Cost,
    /// Operations an element.
    pub operations: u32,
}

impl Class {
    /// The files by which outputs of 8 bits are stored.
    pub fn narrow_stores(&self) -> impl Iterator<Item = &'static str> {
        let writes = |types: &[Dtype]| {
            self.operands.iter().any(|(_, dtype, role)| *role == Role::Output && types.contains(dtype))
        };
        let (fp8, int8) = (writes(&FP8), writes(&[Dtype::I8]));
        fp8.then_some("rows_fp8.cuh").into_iter().chain(int8.then_some("rows_int8.cuh"))
    }

    /// The class as one word, fit for file and symbol names.
    pub fn slug(&self) -> String {
        let json = serde_json::to_string(self).expect("a class has only string keys");
        format!("{}_{}", self.stem(), hash::short(&json))
    }

    /// The readable part of names: `rows_max_sum_bf16`.
    fn stem(&self) -> String {
        let along_rows = self.passes.iter().flatten().map(|reduction| &reduction.name()["row_".len()..]);
        let along_columns = self.folds.iter().map(|fold| fold.column_name());
        let reductions = along_rows.chain(along_columns);
        let dtype = self.matrices().map(Dtype::name).next().unwrap_or_default();
        ["rows"].into_iter().chain(reductions).chain([dtype]).collect::<Vec<_>>().join("_")
    }

    /// The operands under names that tell nothing.
    pub(super) fn nameless_operands(&self) -> Vec<Operand> {
        let operands = self.operands.iter().enumerate();
        let named = operands.map(|(at, &(kind, dtype, role))| {
            let name = format!("operand{at}");
            Operand { name, kind, dtype, role, batched: false }
        });
        named.collect()
    }

    /// The operands that have axes of their own.
    pub fn own_axes(&self) -> OwnAxes {
        let each_once = |numbers: &mut dyn Iterator<Item = u8>| numbers.collect::<BTreeSet<_>>().into_iter().collect();
        let gathered = self.fetches.iter().filter(|fetch| fetch.row.is_some()).map(|fetch| fetch.of);
        let scattered = self.scatters.iter().map(|(output, _)| *output);
        let repeated = self.fetches.iter().filter(|fetch| fetch.columns == Columns::Repeat).map(|fetch| fetch.of);
        OwnAxes { rows: each_once(&mut gathered.chain(scattered)), columns: each_once(&mut { repeated }) }
    }

    /// Whether it reduces along columns.
    pub fn is_by_columns(&self) -> bool {
        !self.folds.is_empty()
    }

    /// Whether nothing is reduced, so that blocks may take parts of a row.
    pub fn is_elementwise(&self) -> bool {
        !self.is_by_columns() && matches!(&self.passes[..], [pass] if pass.is_empty())
    }

    /// Whether two of its reductions can be made in one pass over the row.
    pub(super) fn may_join(&self) -> bool {
        !self.is_unjoined && joined::may_join(&self.passes, &Pair::ALL)
    }

    /// Whether these are a maximum and exponentials, whose sum takes less when it is made in one pass than a sum of squares does.
    pub(super) fn may_join_exponentials(&self) -> bool {
        self.may_join() && joined::may_join(&self.passes, &[Pair::Exponentials])
    }

    /// Whether all that is read lies where a body writes, and all that is written too.
    pub(super) fn is_in_place(&self) -> bool {
        self.fetches.is_empty() && self.scatters.is_empty()
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

    /// Whether each row of one matrix reads several `Row`s, which threads that load them read again for each.
    pub(super) fn reads_rows_again(&self) -> bool {
        self.passes.len() > 1 && self.read_matrices().count() == 1 && self.read_rows().count() > 1
    }

    /// Vectors on their way through the widest pass: what it reduces or what is written, whichever are more, and each `Row`.
    pub(super) fn passing(&self) -> u32 {
        let reduced = self.passes.iter().map(Vec::len).max().unwrap_or(0);
        let written = self.operands.iter().filter(|(kind, _, role)| (*kind, *role) == (Kind::Matrix, Role::Output));
        u32::try_from(reduced.max(written.count()) + self.read_rows().count()).unwrap_or(u32::MAX)
    }

    fn read(&self, of: Kind) -> impl Iterator<Item = Dtype> + '_ {
        let read = (0..).zip(&self.operands).filter(move |(_, (kind, _, role))| (*kind, *role) == (of, Role::Input));
        let own = self.own_axes();
        // Once for each fetch, and once more where it is read by itself.
        let times = move |number: u8| {
            let fetched = self.fetches.iter().filter(|fetch| fetch.of == number).count();
            let apart = [&own.rows, &own.columns, &self.unread];
            fetched + usize::from(!apart.iter().any(|numbers| numbers.contains(&number)))
        };
        read.flat_map(move |(number, (_, dtype, _))| std::iter::repeat_n(*dtype, times(number)))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.slug())
    }
}
