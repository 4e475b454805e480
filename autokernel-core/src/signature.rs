//! What a kernel takes: its operands and the dimensions that they share.

use serde::{Deserialize, Serialize};

use crate::{Dim, Dtype};

/// The operands of a kernel and the dimensions that tie them together. Launch checks, the launch log, test buffers and
/// documentation all read this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Every dimension; operands name them by their number here.
    pub dims: Vec<Dimension>,
    /// In the order of the function's parameters.
    pub operands: Vec<Operand>,
    /// Pairs of dimensions by their numbers: the first is a multiple of the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub multiples: Vec<(u8, u8)>,
    /// The axes of operands along which an element stands for more than one index of the dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coarse: Vec<Coarse>,
}

/// An axis of an operand along which an element stands for several indices of the dimension: of numbers of 4 bits there are two in a
/// byte, and a scale is of a group. The dimension is a multiple of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coarse {
    /// The operand, by its number.
    pub operand: u8,
    /// The axis, from 0, outermost first.
    pub axis: u8,
    /// Indices of the dimension an element.
    pub indices: u32,
    /// Elements that stand for theirs together, so that there are whole such units.
    pub together: u32,
}

/// A dimension of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Its name in extents.
    pub name: Dim,
    /// Its size, where that was compiled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u32>,
}

/// A tensor that a kernel reads or writes. Its last axis is contiguous; the others have any stride.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The parameter's name.
    pub name: String,
    /// Whether it is read or written.
    pub role: Role,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The number of the dimension along each of its axes, outermost first, or [`OWN_AXIS`]. None for a scalar.
    pub axes: Vec<u8>,
    /// How a launch hands it over.
    #[serde(default, skip_serializing_if = "Passed::is_by_address")]
    pub passed: Passed,
}

/// Stands where the number of a dimension does, of an axis that no other operand shares: as many rows as a table has of which an
/// index picks some. It is no dimension of the problem, as nothing that is chosen depends on its size.
pub const OWN_AXIS: u8 = u8::MAX;

/// How a launch hands an operand to a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// As the address of its first element.
    #[default]
    ByAddress,
    /// As an `f32` among the launch's arguments.
    ByValue,
    /// As the address of the first of bounds, between which lie parts of something: one more than the dimension along its axis
    /// counts.
    Bounds,
}

impl Passed {
    const fn is_by_address(&self) -> bool {
        matches!(self, Passed::ByAddress)
    }
}

/// What a kernel does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is read.
    Input,
    /// Each of its elements is written, and none is read.
    Output,
}

impl Signature {
    /// The names of the dimensions, in order.
    pub fn names(&self) -> impl Iterator<Item = Dim> + '_ {
        self.dims.iter().map(|dimension| dimension.name)
    }

    /// The number of the dimension called `name`.
    pub fn number(&self, name: Dim) -> Option<u8> {
        self.names().position(|known| known == name).and_then(|at| u8::try_from(at).ok())
    }

    /// What is said of that axis of an operand, where an element of it stands for several indices.
    pub fn coarse(&self, operand: usize, axis: usize) -> Option<&Coarse> {
        self.coarse.iter().find(|it| (usize::from(it.operand), usize::from(it.axis)) == (operand, axis))
    }

    /// The operands that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Input)
    }

    /// The operands that are written.
    pub fn outputs(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.role == Role::Output)
    }
}
