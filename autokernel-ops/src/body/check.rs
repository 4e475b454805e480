//! What is wrong with a body of any operation that its syntax does not show.

use std::collections::BTreeMap;

use autokernel_core::Role;

use super::{Body, Columns, Fetch, InPlace, Kind, Operand};
use crate::expr::{Axis, Expr};

/// A mistake, and what can be written instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Complaint {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub message: String,
    /// Of which kind it is.
    pub fault: Fault,
}

/// Why a declaration is refused, for those who decide by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something in it is wrong.
    Wrong,
    /// Nothing is, but a thread has too few registers for all of it.
    TooLarge,
}

impl Complaint {
    /// Something wrong at `place`.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Complaint { place, message: message.into(), fault: Fault::Wrong }
    }
}

/// The part of a declaration that a complaint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The function as a whole.
    Function,
    /// The operand with that number.
    Operand(usize),
    /// The step with that number.
    Step(usize),
    /// The fetch with that number.
    Fetch(usize),
}

/// What a rotation may take the partners of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotated {
    /// Operands, which are in memory.
    Operands,
    /// Values that are computed.
    Values,
}

/// The most operands that a kernel takes: a residual, and the rows and weights of eight experts beside what they computed.
pub const MAX_OPERANDS: usize = 20;

/// Goes through a body with its operation: names are unique and there, each output is written once and never read.
pub struct Checker<'b> {
    body: &'b Body,
    rotated: Rotated,
    /// The names in scope, and whether their values differ along a row.
    varies: BTreeMap<&'b str, bool>,
    stored: Vec<&'b str>,
    complaints: Vec<Complaint>,
}

impl<'b> Checker<'b> {
    /// Begins with the operands of `body`, which may rotate those, or what it computes.
    pub fn new(body: &'b Body, rotated: Rotated) -> Self {
        let mut checker =
            Checker { body, rotated, varies: BTreeMap::new(), stored: Vec::new(), complaints: Vec::new() };
        checker.operands();
        checker.fetches();
        checker.in_place(body);
        checker
    }

    /// Notes a mistake.
    pub fn complain(&mut self, place: Place, message: impl Into<String>) {
        self.complaints.push(Complaint::new(place, message));
    }

    fn operands(&mut self) {
        let body = self.body;
        if body.operands.len() > MAX_OPERANDS {
            let given = body.operands.len();
            self.complain(Place::Operand(MAX_OPERANDS), format!("{given} operands; a kernel takes {MAX_OPERANDS}"));
        }
        for (at, Operand { name, kind, role, .. }) in body.operands.iter().enumerate() {
            if self.varies.insert(name, kind.varies_along_row()).is_some() {
                self.complain(Place::Operand(at), format!("`{name}` is declared twice; give each operand its name"));
            }
            if (kind, role) == (&Kind::Index, &Role::Output) {
                let message = "an `Index` is only read; write `index: &Index`, and numbers into a `&mut Column`";
                self.complain(Place::Operand(at), message);
            }
            if (kind, role) == (&Kind::DeviceScalar, &Role::Output) && body.fold_of(name).is_none() {
                let message = match self.rotated {
                    Rotated::Values => {
                        "every row would write a `Scalar`; write a `&mut Column` or a `&mut Matrix`, or what all rows come to: `largest = \
                         column_max(row_max(y));`"
                            .to_owned()
                    }
                    Rotated::Operands => format!("every row would write a `Scalar`; {ALL_ROWS}"),
                };
                self.complain(Place::Operand(at), message);
            }
        }
        if body.outputs().next().is_none() {
            self.complain(Place::Function, "a kernel writes at least one operand: `out: &mut Matrix<bf16>`");
        }
    }

    /// Puts what is read elsewhere into scope.
    fn fetches(&mut self) {
        for (at, Fetch { name, of, row, columns }) in self.body.fetches.iter().enumerate() {
            let place = Place::Fetch(at);
            let mut varies = true;
            if let Some(row) = row {
                self.index(place, row);
                varies = self.picked(place, of);
            }
            self.moved(place, of, *columns);
            let is_repeated = *columns == Columns::Repeat;
            if row.is_none() && self.body.is_picked(of) || is_repeated != self.body.is_repeated(of) {
                self.complain(place, twice(of));
            }
            let is_read = self.body.operand(of).is_none_or(|operand| operand.role == Role::Input);
            if !is_read {
                let message = format!("`{of}` is written and never read; pass what is read as an operand of its own");
                self.complain(Place::Fetch(at), message);
            }
            self.varies.insert(name, varies);
        }
    }

    /// Complains of what is read of such an output elsewhere than where it is written.
    fn in_place(&mut self, body: &Body) {
        for InPlace { output, before } in &body.in_place {
            let place = body
                .operands
                .iter()
                .position(|operand| operand.name == *output)
                .map_or(Place::Function, Place::Operand);
            let is_matrix = |it: &Operand| (it.kind, it.role) == (Kind::Matrix, Role::Output);
            if !body.operand(output).is_some_and(is_matrix) {
                let message = format!(
                    "`{output}` is read and written, which only a `&mut Matrix` or a `&mut Batch` can be; pass what is read as an operand of \
                     its own"
                );
                self.complain(place, message);
            }
            if body.has_own_axis(output) || body.fetches.iter().any(|fetch| fetch.of == *before) {
                let message = format!(
                    "`{output}` is written, and read in other rows or columns, which may be written before; pass what is read as an \
                     operand of its own"
                );
                self.complain(place, message);
            }
            if body.fold_of(output).is_some() || body.made_scales.iter().any(|made| made.output == *output) {
                let message =
                    format!("`{output}` is made of many elements; pass what is read as an operand of its own");
                self.complain(place, message);
            }
        }
    }

    /// Complains unless an operand has the columns that a fetch asks for.
    fn moved(&mut self, place: Place, name: &str, columns: Columns) {
        let operand = self.body.operand(name);
        match (self.rotated, columns.are_partners(), operand.is_some()) {
            (Rotated::Values, true, true) => {
                let message = format!(
                    "`{name}` is an operand, and beside a product a value is rotated that the body computes: `let y = dot(…);`"
                );
                self.complain(place, message);
            }
            (Rotated::Values, false, false) | (Rotated::Operands, _, false) => {
                let message =
                    format!("`{name}` is computed here, and only operands have elements elsewhere; pass it as one");
                self.complain(place, message);
            }
            _ => {}
        }
        let varies = operand.is_none_or(|operand| operand.kind.varies_along_row());
        if !columns.are_same() && !varies {
            let message = format!("`{name}` has no columns; rotate, or repeat, a `Matrix` or a `Row`");
            self.complain(place, message);
        }
        if let Columns::RotateHalf(head) = columns
            && (head < 2 || !head.is_multiple_of(2))
        {
            let message =
                format!("a head of {head} columns has no halves; write an even number, as in `rotate_half(x, 128)`");
            self.complain(place, message);
        }
    }

    /// Complains unless an operand has rows that can be picked; gives whether its elements differ along them.
    fn picked(&mut self, place: Place, name: &str) -> bool {
        match self.body.operand(name).map(|operand| operand.kind) {
            Some(kind @ (Kind::Matrix | Kind::Column)) => kind.varies_along_row(),
            Some(kind) => {
                let message = format!(
                    "`{name}` is a `{}`, which has no rows to pick; an index picks rows of a `Matrix` or a `Column`",
                    kind.name()
                );
                self.complain(place, message);
                kind.varies_along_row()
            }
            None => {
                let message = format!("`{name}` is no operand; an index picks rows of a `Matrix` or a `Column`");
                self.complain(place, message);
                true
            }
        }
    }

    fn index(&mut self, place: Place, name: &str) {
        if self.body.operand(name).is_none_or(|operand| operand.kind != Kind::Index) {
            self.complain(place, format!("`{name}` is no index; rows are picked by an operand `{name}: &Index`"));
        }
    }

    /// Whether the value of a step differs along a row. All its names must be there.
    pub fn varies(&mut self, at: usize, value: &'b Expr) -> bool {
        let body = self.body;
        let mut varies = value.has_index(Axis::Column);
        for name in value.variables() {
            match (self.varies.get(name), body.operand(name).map(|operand| operand.role)) {
                (_, Some(Role::Output)) => {
                    let message = match body.operand(name) {
                        Some(operand) if operand.kind != Kind::Matrix && !self.stored.contains(&name) => format!(
                            "`{name}` is written and never read, as only a `&mut Matrix` or a `&mut Batch` is written over what it held; pass that \
                             as an operand of its own, `before: &{}<{}>`",
                            operand.container(),
                            operand.dtype
                        ),
                        _ => format!(
                            "`{name}` is read behind where it is written; bind its value first: `let y = …; {name} = y;`"
                        ),
                    };
                    // As the value does that is bound instead: no second complaint says that it does not.
                    varies |= body.operand(name).is_some_and(|operand| operand.kind.varies_along_row());
                    self.complain(Place::Step(at), message);
                }
                (Some(&along_row), _) => {
                    if body.has_own_axis(name) {
                        self.complain(Place::Step(at), twice(name));
                    }
                    varies |= along_row;
                }
                (None, _) => {
                    let message =
                        format!("there is no `{name}` here; a body sees its operands and its own `let` names");
                    self.complain(Place::Step(at), message);
                }
            }
        }
        varies
    }

    /// Puts the name of a value into scope.
    pub fn bind(&mut self, place: Place, name: &'b str, varies: bool) {
        if self.varies.insert(name, varies).is_some() {
            self.complain(place, format!("`{name}` is bound twice; give each value its own name"));
        }
    }

    /// The output that a step writes, if it is one.
    pub fn store(&mut self, at: usize, output: &'b str, row: Option<&str>) -> Option<&'b Operand> {
        let Some(operand) = self.body.operand(output).filter(|operand| operand.role == Role::Output) else {
            let message =
                format!("`{output}` is no output; only a `&mut` operand is assigned to, a value is bound by `let`");
            self.complain(Place::Step(at), message);
            return None;
        };
        if let Some(row) = row {
            self.index(Place::Step(at), row);
            self.picked(Place::Step(at), output);
        }
        self.write(Place::Step(at), output);
        Some(operand)
    }

    /// Counts an output as written there.
    pub fn write(&mut self, place: Place, output: &'b str) {
        if self.stored.contains(&output) {
            self.complain(place, format!("`{output}` is written twice; write its final value once"));
        }
        self.stored.push(output);
    }

    /// Every mistake, those of outputs that no step wrote last.
    pub fn finish(mut self) -> Vec<Complaint> {
        for (at, operand) in self.body.operands.iter().enumerate() {
            if operand.role == Role::Output && !self.stored.contains(&&*operand.name) {
                let name = &operand.name;
                self.complain(Place::Operand(at), format!("`{name}` is never written; write `{name} = …;`"));
            }
        }
        self.complaints
    }
}

/// How a row-wise kernel's numbers of all rows become one.
pub const ALL_ROWS: &str = "write each row's number to a `&mut Column`, and reduce that in another kernel, along the only column of \
                            `column.view().as_matrix(rows, 1)`: `out = column_max(x);` into a `&mut Row` of one element";

/// What is said of an operand that is read where the body writes, and elsewhere by rows or columns of its own.
fn twice(name: &str) -> String {
    format!(
        "`{name}` is read here element by element, and elsewhere where an index picks its rows or its columns repeat; pass it \
         twice, under two names"
    )
}
