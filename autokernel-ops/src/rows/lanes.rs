//! What a body reads and writes along a row: its matrices and rows, and where each of them lies.

use autokernel_core::{Dtype, Role};

use crate::body::cuda::{columns, cuda_type, element, leading, rows};
use crate::body::{Body, Columns, Kind, Operand};

/// A row of an operand that is read or written element by element.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'b> {
    /// Its name in bodies: the operand's, or the fetch's.
    pub name: &'b str,
    /// What it is of.
    pub operand: &'b Operand,
    /// The index that picks the row.
    pub row: Option<&'b str>,
    /// Which columns.
    pub columns: Columns,
}

/// Those of a body, in the order of its operands, fetched ones last.
pub fn of(body: &Body) -> impl Iterator<Item = Lane<'_>> {
    let own = body.operands.iter().filter_map(|operand| {
        let row = body.row_of_output(&operand.name);
        let is_own = operand.kind.varies_along_row() && (row.is_some() || !body.has_own_axis(&operand.name));
        is_own.then_some(Lane { name: &operand.name, operand, row, columns: Columns::Same })
    });
    let fetched = body.fetches.iter().filter_map(|fetch| {
        let operand = body.operand(&fetch.of).filter(|operand| operand.kind.varies_along_row())?;
        Some(Lane { name: &fetch.name, operand, row: fetch.row.as_deref(), columns: fetch.columns })
    });
    own.chain(fetched)
}

impl Lane<'_> {
    /// Whether it is a row of a matrix that is read.
    pub fn is_read_matrix(&self) -> bool {
        (self.operand.kind, self.operand.role) == (Kind::Matrix, Role::Input)
    }

    /// Whether it is a `Row` that is read.
    pub fn is_read_row(&self) -> bool {
        (self.operand.kind, self.operand.role) == (Kind::Row, Role::Input)
    }

    /// The type of its elements.
    pub fn dtype(&self) -> Dtype {
        self.operand.dtype
    }

    /// Its first element, where the number of the row is called `index`.
    pub fn address(&self, index: &str) -> String {
        let name = &self.operand.name;
        match (self.operand.kind, self.row) {
            (Kind::Matrix, None) => format!("{} + {index} * args.{}", address(self.operand), leading(name)),
            (Kind::Matrix, Some(row)) => {
                let pick = pick(row, name, index);
                format!("{} + {pick}.row * args.{}", address(self.operand), leading(name))
            }
            _ => address(self.operand),
        }
    }
}

impl Lane<'_> {
    /// The C++ type of its place.
    pub fn place_type(&self) -> String {
        let element = qualified(self.operand);
        match (self.moves(), self.row) {
            (Some(moves), _) => format!("autokernel::rows::MovedPlace<{element}, {moves}>"),
            (None, Some(_)) => format!("autokernel::rows::PickedPlace<{element}>"),
            (None, None) => format!("autokernel::rows::Place<{element}>"),
        }
    }

    /// What finds its row, whose number is called `row`, and whose vectors begin at `first`.
    pub fn place(&self) -> String {
        let (name, picked) = (&self.operand.name, self.row.map(|index| pick(index, &self.operand.name, "row")));
        match (self.moves(), picked) {
            (Some(_), picked) => {
                let is_there = picked.map_or_else(|| "true".to_owned(), |pick| format!("{pick}.is_there"));
                format!("{{{}, {is_there}, {{args.{}}}}}", self.address("row"), self.own_columns())
            }
            (None, None) => format!("autokernel::rows::place<kVector>({}, first)", self.address("row")),
            (None, Some(pick)) => {
                let (first, ld) = (address(self.operand), leading(name));
                format!("autokernel::rows::place<kVector>({first}, args.{ld}, {pick}, first)")
            }
        }
    }

    /// The field that says how many columns its operand has.
    pub fn own_columns(&self) -> String {
        if self.columns == Columns::Repeat { columns(&self.operand.name) } else { "columns".to_owned() }
    }

    /// The C++ type of what moves its columns.
    fn moves(&self) -> Option<String> {
        match self.columns {
            Columns::Same => None,
            Columns::RotateHalf(head) => Some(format!("autokernel::rows::RotateHalf<{head}>")),
            Columns::RotatePairs => Some("autokernel::rows::RotatePairs".to_owned()),
            Columns::Repeat => Some("autokernel::rows::RepeatColumns".to_owned()),
        }
    }
}

/// The C++ type of an operand's element, const where it is read.
pub fn qualified(operand: &Operand) -> String {
    let constant = if operand.role == Role::Input { "const " } else { "" };
    format!("{constant}{}", cuda_type(operand))
}

/// The operand's address, typed.
pub fn address(operand: &Operand) -> String {
    format!("static_cast<{}*>(args.{})", qualified(operand), element(&operand.name))
}

/// The row of the operand called `of` that an index picks for the row whose number is called `index`.
pub fn pick(row: &str, of: &str, index: &str) -> String {
    format!("autokernel::rows::pick(args.{}, {index}, args.{})", element(row), rows(of))
}
