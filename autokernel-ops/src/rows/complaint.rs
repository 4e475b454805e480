//! What is wrong with a body that its syntax does not show.

use std::collections::BTreeMap;

use autokernel_core::Role;

use super::body::{Body, Kind, Operand, Step};

/// A mistake, and what can be written instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Complaint {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub message: String,
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
}

/// The most operands that a kernel takes.
pub const MAX_OPERANDS: usize = 8;

/// Every mistake in `body`; none in one that can be compiled.
pub fn complaints(body: &Body) -> Vec<Complaint> {
    let mut checker = Checker { body, varies: BTreeMap::new(), stored: Vec::new(), complaints: Vec::new() };
    checker.operands();
    for (at, step) in body.steps.iter().enumerate() {
        checker.step(at, step);
    }
    checker.outputs();
    checker.complaints
}

struct Checker<'b> {
    body: &'b Body,
    /// The names in scope, and whether their values differ along a row.
    varies: BTreeMap<&'b str, bool>,
    stored: Vec<&'b str>,
    complaints: Vec<Complaint>,
}

impl<'b> Checker<'b> {
    fn complain(&mut self, place: Place, message: String) {
        self.complaints.push(Complaint { place, message });
    }

    fn operands(&mut self) {
        let body = self.body;
        if body.operands.len() > MAX_OPERANDS {
            let given = body.operands.len();
            self.complain(Place::Operand(MAX_OPERANDS), format!("{given} operands; a kernel takes {MAX_OPERANDS}"));
        }
        for (at, operand) in body.operands.iter().enumerate() {
            let Operand { name, kind, role, .. } = operand;
            if self.varies.insert(name, kind.varies_along_row()).is_some() {
                self.complain(Place::Operand(at), format!("`{name}` is declared twice; give each operand its name"));
            }
            if (*kind, *role) == (Kind::Row, Role::Output) {
                let message = "a `Row` has one element a column, so every row would write it; write a `&mut Matrix`, or \
                               reduce along the row into a `&mut Column`";
                self.complain(Place::Operand(at), message.to_owned());
            }
        }
        if !body.operands.iter().any(|operand| operand.kind == Kind::Matrix) {
            let message = "one operand must be a `Matrix`: it says how long the rows are";
            self.complain(Place::Function, message.to_owned());
        }
        if body.outputs().next().is_none() {
            let message = "a kernel writes at least one operand: `out: &mut Matrix<bf16>`";
            self.complain(Place::Function, message.to_owned());
        }
    }

    fn step(&mut self, at: usize, step: &'b Step) {
        let body = self.body;
        let mut varies = false;
        for name in step.expr().variables() {
            match (self.varies.get(name), body.operand(name).map(|operand| operand.role)) {
                (_, Some(Role::Output)) => {
                    let message =
                        format!("`{name}` is written and never read; bind its value first: `let y = …; {name} = y;`");
                    self.complain(Place::Step(at), message);
                }
                (Some(along_row), _) => varies |= along_row,
                (None, _) => {
                    let message =
                        format!("there is no `{name}` here; a body sees its operands and its own `let` names");
                    self.complain(Place::Step(at), message);
                }
            }
        }
        match step {
            Step::Let { name, .. } => self.bind(at, name, varies),
            Step::Reduce { name, reduction, .. } => {
                if !varies {
                    let reduction = reduction.name();
                    let message = format!(
                        "`{reduction}` is given one number a row, which does not vary along it; use the number itself"
                    );
                    self.complain(Place::Step(at), message);
                }
                self.bind(at, name, false);
            }
            Step::Store { output, .. } => self.store(at, output, varies),
        }
    }

    fn bind(&mut self, at: usize, name: &'b str, varies: bool) {
        if self.varies.insert(name, varies).is_some() {
            self.complain(Place::Step(at), format!("`{name}` is bound twice; give each value its own name"));
        }
    }

    fn store(&mut self, at: usize, output: &'b str, varies: bool) {
        let Some(operand) = self.body.operand(output).filter(|operand| operand.role == Role::Output) else {
            let message =
                format!("`{output}` is no output; only a `&mut` operand is assigned to, a value is bound by `let`");
            return self.complain(Place::Step(at), message);
        };
        if self.stored.contains(&output) {
            self.complain(Place::Step(at), format!("`{output}` is written twice; write its final value once"));
        }
        self.stored.push(output);
        if operand.kind == Kind::Column && varies {
            let message = format!(
                "`{output}` has one element a row, and this value varies along it; reduce it (`row_sum`, `row_mean`, \
                 `row_max`, `row_min`) or make `{output}` a `&mut Matrix`"
            );
            self.complain(Place::Step(at), message);
        }
    }

    fn outputs(&mut self) {
        for (at, operand) in self.body.operands.iter().enumerate() {
            if operand.role == Role::Output && !self.stored.contains(&&*operand.name) {
                let name = &operand.name;
                self.complain(Place::Operand(at), format!("`{name}` is never written; write `{name} = …;`"));
            }
        }
    }
}

#[cfg(test)]
#[path = "complaint_tests.rs"]
mod tests;
