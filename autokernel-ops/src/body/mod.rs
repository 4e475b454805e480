//! A body as plain data: what a parser makes of the Rust text, and what holds for bodies of every operation.

pub mod check;
pub mod cuda;
mod fetch;
mod in_place;
mod made_scales;

use std::collections::BTreeSet;
use std::fmt;

use autokernel_core::{Dtype, Passed, Role};
use serde::{Deserialize, Serialize};

use crate::expr::{Axis, Expr, Precision};

pub use check::{Complaint, Fault, Place, Rotated};
pub use fetch::{Columns, Fetch};
pub use in_place::InPlace;
pub use made_scales::MadeScales;

/// What a function declares: its parameters and its statements.
///
/// In every expression a name stands for one `f32`: the element of an operand, a `let` or a reduction before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// In the order of the function's parameters.
    pub operands: Vec<Operand>,
    /// What is read elsewhere than where the body writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetches: Vec<Fetch>,
    /// In the order of the text. Complaints name a step by its number here.
    pub steps: Vec<Step>,
    /// The outputs whose blocks the kernel scales.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_scales: Vec<MadeScales>,
    /// The outputs that are written over what is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_place: Vec<InPlace>,
}

/// The types of what a body reads and writes; the factors of a product have types of their own.
pub const ELEMENTS: [Dtype; 3] = [Dtype::Bf16, Dtype::F16, Dtype::F32];

/// Floats of 8 bits, which bodies write too: what is beyond their largest number becomes that.
pub const FP8: [Dtype; 2] = [Dtype::E4m3, Dtype::E5m2];

/// All types that bodies write and do not read.
pub const NARROW: [Dtype; 3] = [Dtype::E4m3, Dtype::E5m2, Dtype::I8];

/// A tensor that a body reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The parameter's name.
    pub name: String,
    /// By what it is indexed.
    pub kind: Kind,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Whether it is read or written.
    pub role: Role,
    /// Whether there is one for each matrix of a batch; else all share it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub batched: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The kinds of operands of which there is one for each matrix of a batch, by the names of their types.
const BATCHES: [(&str, Kind); 4] = [
    ("Batch", Kind::Matrix),
    ("RowBatch", Kind::Row),
    ("ColumnBatch", Kind::Column),
    ("ScalarBatch", Kind::DeviceScalar),
];

/// By what an operand is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By row and column.
    Matrix,
    /// By column: a bias, a norm's weight.
    Row,
    /// By row: a scale, a statistic.
    Column,
    /// By row, a whole number: it picks rows of other operands.
    Index,
    /// By nothing: a number of the launch, as an epsilon.
    Scalar,
    /// By nothing: a number in device memory, which may change between two runs of a graph.
    DeviceScalar,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `let name = value;`
    Let {
        /// Unique in its body, operands included.
        name: String,
        /// The value.
        value: Expr,
    },
    /// `let name = row_sum(of);`
    Reduce {
        /// Unique in its body, operands included.
        name: String,
        /// How.
        reduction: Reduction,
        /// What, element by element along the row.
        of: Expr,
    },
    /// `output = value;` or `output[row] = value;`
    Store {
        /// The name of an output.
        output: String,
        /// The index that picks the rows that are written. The others are left as they are, and so is all where it picks a row
        /// that is not there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<String>,
        /// How the values of all rows are reduced to one number a column, as in `out = column_sum(value);`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fold: Option<Reduction>,
        /// The value.
        value: Expr,
    },
}

/// A reduction along a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// The sum of its elements.
    Sum,
    /// Their sum over their number.
    Mean,
    /// The greatest; NaNs are passed over, as by `f32::max`. Of nothing else it is −∞.
    Max,
    /// The least; as `Max`, and of nothing +∞.
    Min,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: [Reduction; 4] = [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min];

    /// Its name in Rust.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "row_sum",
            Reduction::Mean => "row_mean",
            Reduction::Max => "row_max",
            Reduction::Min => "row_min",
        }
    }

    /// The name in Rust of the same along the columns of a matrix.
    pub const fn column_name(self) -> &'static str {
        match self {
            Reduction::Sum => "column_sum",
            Reduction::Mean => "column_mean",
            Reduction::Max => "column_max",
            Reduction::Min => "column_min",
        }
    }

    /// The reduction along columns called `name`.
    pub fn from_column_name(name: &str) -> Option<Self> {
        Reduction::ALL.into_iter().find(|reduction| reduction.column_name() == name)
    }

    /// The reduction called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Reduction::ALL.into_iter().find(|reduction| reduction.name() == name)
    }
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 6] = [Kind::Matrix, Kind::Row, Kind::Column, Kind::Index, Kind::Scalar, Kind::DeviceScalar];

    /// The name of its type in Rust.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Matrix => "Matrix",
            Kind::Row => "Row",
            Kind::Column => "Column",
            Kind::Index => "Index",
            Kind::Scalar => "f32",
            Kind::DeviceScalar => "Scalar",
        }
    }

    /// The kind of tensor whose type, of elements of some type, is called `name`, and whether that holds one for each matrix of a batch.
    pub fn of_container(name: &str) -> Option<(Self, bool)> {
        let one = Kind::ALL.into_iter().find(|kind| !matches!(kind, Kind::Scalar | Kind::Index) && kind.name() == name);
        let batch = || BATCHES.iter().find(|(batch, _)| *batch == name);
        one.map(|kind| (kind, false)).or_else(|| batch().map(|(_, kind)| (*kind, true)))
    }

    /// The kind of the same operand, of a matrix that lies transposed.
    #[must_use]
    pub const fn transposed(self) -> Self {
        match self {
            Kind::Row => Kind::Column,
            Kind::Column => Kind::Row,
            other => other,
        }
    }

    /// How a launch hands it over.
    pub const fn passed(self) -> Passed {
        if matches!(self, Kind::Scalar) { Passed::ByValue } else { Passed::ByAddress }
    }

    /// Whether its elements differ along a row.
    pub const fn varies_along_row(self) -> bool {
        matches!(self, Kind::Matrix | Kind::Row)
    }
}

impl Body {
    /// The operand called `name`.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|operand| operand.name == name)
    }

    /// The operands that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Input)
    }

    /// The operands that are written.
    pub fn outputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Output)
    }

    /// The steps that some output needs, in order.
    pub fn needed_steps(&self) -> impl Iterator<Item = &Step> {
        let mut names = BTreeSet::new();
        for step in self.steps.iter().rev() {
            if matches!(step, Step::Store { .. }) || names.contains(step.name()) {
                names.extend(self.names_in(step.expr()));
            }
        }
        let is_needed = move |step: &&Step| matches!(step, Step::Store { .. }) || names.contains(step.name());
        self.steps.iter().filter(is_needed)
    }

    /// The names in an expression, and those of what it sees of partners.
    pub fn names_in<'b>(&'b self, expr: &'b Expr) -> Vec<&'b str> {
        let names = expr.variables();
        let fetched = names.iter().filter_map(|name| self.fetch(name)).map(|fetch| fetch.of.as_str());
        let fetched: Vec<&str> = fetched.collect();
        [names, fetched].concat()
    }

    /// The same without the steps that no output needs, and without what is seen elsewhere of values that are left out with them.
    /// What is read elsewhere of an operand stays, needed or not: it says whose rows and columns are the operand's own.
    #[must_use]
    pub fn without_idle_steps(self) -> Self {
        let is_kept = |fetch: &&Fetch| self.operand(&fetch.of).is_some() || self.is_in_expressions(&fetch.name);
        let fetches = self.fetches.iter().filter(is_kept).cloned().collect();
        Body { fetches, steps: self.needed_steps().cloned().collect(), ..self }
    }

    /// Whether some output depends on the number of its element along `axis`.
    pub fn has_index(&self, axis: Axis) -> bool {
        self.needed_steps().any(|step| step.expr().has_index(axis))
    }

    /// Whether some output depends on the number of elements along `axis`.
    pub fn has_extent(&self, axis: Axis) -> bool {
        self.needed_steps().any(|step| step.expr().has_extent(axis))
    }

    /// What is read or written under the operand's own name at rows that an index picks: the operand's name, and the index's.
    /// Its rows are its own, as many as it likes.
    pub fn picked(&self) -> impl Iterator<Item = (&str, &str)> {
        let read = self.fetches.iter().filter_map(|Fetch { of, row, .. }| Some((of.as_str(), row.as_deref()?)));
        let written = self.steps.iter().filter_map(|step| match step {
            Step::Store { output, row: Some(row), .. } => Some((output.as_str(), row.as_str())),
            _ => None,
        });
        read.chain(written)
    }

    /// The index that picks the rows of an output; none where each row is written in its place.
    pub fn row_of_output(&self, name: &str) -> Option<&str> {
        self.steps.iter().find_map(|step| match step {
            Step::Store { output, row, .. } if output == name => row.as_deref(),
            _ => None,
        })
    }

    /// How an output is reduced along columns; none where each row has its own.
    pub fn fold_of(&self, name: &str) -> Option<Reduction> {
        self.steps.iter().find_map(|step| match step {
            Step::Store { output, fold, .. } if output == name => *fold,
            _ => None,
        })
    }

    /// Whether it reduces along columns.
    pub fn is_by_columns(&self) -> bool {
        self.outputs().any(|output| self.fold_of(&output.name).is_some())
    }

    /// Whether an index picks rows of the operand.
    pub fn is_picked(&self, name: &str) -> bool {
        self.picked().any(|(operand, _)| operand == name)
    }

    /// Whether the operand's columns repeat along a row: they are its own, as many as it likes.
    pub fn is_repeated(&self, name: &str) -> bool {
        self.fetches.iter().any(|fetch| fetch.of == name && fetch.columns == Columns::Repeat)
    }

    /// Whether the operand's rows or columns are its own, so that it is read by fetches alone.
    pub fn has_own_axis(&self, name: &str) -> bool {
        self.is_picked(name) || self.is_repeated(name)
    }

    /// The fetch called `name`.
    pub fn fetch(&self, name: &str) -> Option<&Fetch> {
        self.fetches.iter().find(|fetch| fetch.name == name)
    }

    /// Whether the name stands in an expression that some output needs.
    pub fn is_in_expressions(&self, name: &str) -> bool {
        self.needed_steps().any(|step| step.expr().variables().contains(&name))
    }

    /// How finely functions are computed for its outputs.
    pub fn precision(&self) -> Precision {
        let elements = self.outputs().filter(|operand| !self.is_made(&operand.name));
        Precision::of(elements.map(|operand| operand.dtype))
    }

    /// Whether the operand holds scales that the kernel makes.
    pub fn is_made(&self, name: &str) -> bool {
        self.made_scales.iter().any(|made| made.scales == name)
    }
}

impl Operand {
    /// The name of its type in Rust, without its elements'.
    pub fn container(&self) -> &'static str {
        let batch = BATCHES.iter().find(|(_, kind)| self.batched && *kind == self.kind);
        batch.map_or(self.kind.name(), |(name, _)| name)
    }

    /// The axis of a matrix along which its rows lie: behind that of the batch, if there is one.
    pub fn axis_of_rows(&self) -> u8 {
        u8::from(self.batched)
    }
}

impl Step {
    /// The name of what it gives: a value's, or an output's.
    pub fn name(&self) -> &str {
        match self {
            Step::Let { name, .. } | Step::Reduce { name, .. } => name,
            Step::Store { output, .. } => output,
        }
    }

    /// What it computes with.
    pub fn expr(&self) -> &Expr {
        match self {
            Step::Let { value, .. } | Step::Store { value, .. } => value,
            Step::Reduce { of, .. } => of,
        }
    }
}

impl fmt::Display for Operand {
    /// As its parameter is written: `bias: Row<bf16>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operand { name, kind, dtype, .. } = self;
        match kind {
            Kind::Scalar => write!(f, "{name}: {dtype}"),
            Kind::Index => write!(f, "{name}: {}", kind.name()),
            _ => write!(f, "{name}: {}<{dtype}>", self.container()),
        }
    }
}
