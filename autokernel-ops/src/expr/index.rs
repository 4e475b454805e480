//! The place of the element that a body computes.

use serde::{Deserialize, Serialize};

/// What numbers the elements of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Its rows.
    Row,
    /// Its columns.
    Column,
}

impl Axis {
    /// Both.
    pub const ALL: [Axis; 2] = [Axis::Row, Axis::Column];

    /// The function of a body that gives the number, and the name of the number in CUDA.
    pub const fn name(self) -> &'static str {
        match self {
            Axis::Row => "row_index",
            Axis::Column => "column_index",
        }
    }

    /// The call that gives it, which is no name of a value.
    pub const fn call(self) -> &'static str {
        match self {
            Axis::Row => "row_index()",
            Axis::Column => "column_index()",
        }
    }

    /// The function of a body that gives how many there are.
    pub const fn count(self) -> &'static str {
        match self {
            Axis::Row => "rows",
            Axis::Column => "columns",
        }
    }

    /// The call that gives it, which is no name of a value.
    pub const fn count_call(self) -> &'static str {
        match self {
            Axis::Row => "rows()",
            Axis::Column => "columns()",
        }
    }

    /// The name of that number in CUDA.
    pub const fn count_name(self) -> &'static str {
        match self {
            Axis::Row => "row_count",
            Axis::Column => "column_count",
        }
    }

    /// The axis whose elements the function called `name` counts.
    pub fn from_count(name: &str) -> Option<Self> {
        Axis::ALL.into_iter().find(|axis| axis.count() == name)
    }

    /// The axis whose function is called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Axis::ALL.into_iter().find(|axis| axis.name() == name)
    }
}
