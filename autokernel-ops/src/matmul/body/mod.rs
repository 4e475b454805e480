//! What a product's declaration computes from each sum and from other operands.

mod behind;
mod class;
mod complaint;
mod gathered;
mod joined;
mod made_scales;
pub mod oracle;
pub mod print;
mod print_element;
mod print_extent;
pub(super) mod print_rotations;
mod print_rows;
mod rotations;
mod rows;
mod scales;
mod written;
mod zeros;

use std::fmt;

use autokernel_core::Role;
use serde::{Deserialize, Serialize};

use super::many::Many;
use crate::body::{Columns, Complaint, Fault, Fetch, Kind, MadeScales, Operand, Place, Reduction, Step};
use crate::expr::Precision;
use class::MOST_REGISTERS;
use complaint::complaints;

pub use class::BodyClass;
pub use joined::Join;
pub use written::{Made, Product, Second, Written};

/// The body of a product: one without mistakes, nor steps that no output needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Body(Written);

impl Body {
    /// What `written` says.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(written: Written) -> Result<Self, Vec<Complaint>> {
        let complaints = complaints(&written);
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let body = Body(Written { body: written.body.without_idle_steps(), ..written });
        let registers = body.class().registers();
        if registers <= MOST_REGISTERS {
            return Ok(body);
        }
        let message = format!(
            "so many values are needed at once that a thread would take about {registers} registers for them, and has \
             {MOST_REGISTERS}; write some of them to a matrix, and go on in another kernel"
        );
        Err(vec![Complaint { fault: Fault::TooLarge, ..Complaint::new(Place::Function, message) }])
    }

    /// What it was made of, without steps that no output needs.
    pub fn written(&self) -> &Written {
        &self.0
    }

    /// The names of an element of each product, one or two.
    pub fn sums(&self) -> impl Iterator<Item = &str> {
        self.0.sums()
    }

    /// Every operand, in the order of the parameters.
    pub fn operands(&self) -> &[Operand] {
        &self.0.body.operands
    }

    /// Its statements, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.body.steps.iter()
    }

    /// The numbers of the factors: of the first one, and of the second one of each product.
    pub fn factors(&self) -> Vec<u8> {
        let (factors, other) = self.numbers_of_factors();
        factors.into_iter().chain(other).collect()
    }

    /// The numbers of the first product's factors, and that of the other one's second factor, if there is another.
    pub(super) fn numbers_of_factors(&self) -> ([u8; 2], Option<u8>) {
        self.0.numbers_of_factors()
    }

    /// The numbers of the scales of groups or blocks of each product's second factor.
    pub fn scales(&self) -> Vec<u8> {
        self.0.numbers_of_scales()
    }

    /// The numbers of the zero points of groups of each product's second factor.
    pub fn zeros(&self) -> Vec<u8> {
        self.0.numbers_of_zeros()
    }

    /// The number of the scales of blocks of the first factor.
    pub fn a_scales(&self) -> Option<u8> {
        self.0.number_of_a_scales()
    }

    /// The numbers of what is multiplied: factors, their scales and zero points.
    pub fn multiplied(&self) -> Vec<u8> {
        [self.factors(), self.scales(), self.zeros(), self.a_scales().into_iter().collect()].concat()
    }

    /// Which products a launch computes.
    pub fn many(&self) -> Many {
        self.class().many()
    }

    /// The number of the operand that says where groups begin, or how many rows count.
    pub fn sizes(&self) -> Option<u8> {
        self.0.sizes().next().map(|(number, _)| number)
    }

    /// The number of the index that says which row of the first factor each row of the result is of.
    pub fn gathers(&self) -> Option<u8> {
        self.0.number_of_rows()
    }

    /// The bodies that are tuned together with this one.
    pub fn class(&self) -> BodyClass {
        BodyClass::of(&self.0)
    }

    /// The operands whose elements are read beside the factors.
    pub fn inputs(&self) -> impl Iterator<Item = &Operand> {
        let factors = self.multiplied();
        self.numbered()
            .filter(move |(number, operand)| {
                operand.role == Role::Input && operand.kind != Kind::Index && !factors.contains(number)
            })
            .map(|(_, operand)| operand)
    }

    /// What is read element by element, under its name in expressions: an operand's own, or that of its repeated columns.
    pub fn reads(&self) -> impl Iterator<Item = (&str, &Operand)> {
        self.inputs().map(|operand| {
            let fetch = self.fetches().find(|fetch| fetch.of == operand.name && fetch.columns == Columns::Repeat);
            (fetch.map_or(operand.name.as_str(), |fetch| fetch.name.as_str()), operand)
        })
    }

    /// What is read elsewhere than where the body writes.
    pub fn fetches(&self) -> impl Iterator<Item = &Fetch> {
        self.0.body.fetches.iter()
    }

    /// What elements see of their partners.
    pub fn rotations(&self) -> impl Iterator<Item = &Fetch> {
        self.0.rotations()
    }

    /// What each element's partner is, where elements see partners.
    pub fn partners(&self) -> Option<Columns> {
        self.0.partners()
    }

    /// Whether the operand's columns repeat along a row: they are its own.
    pub fn is_repeated(&self, name: &str) -> bool {
        self.0.body.is_repeated(name)
    }

    /// The numbers of the operands whose columns repeat along a row.
    pub fn repeated(&self) -> Vec<u8> {
        self.0.repeated()
    }

    /// What is written.
    pub fn outputs(&self) -> impl Iterator<Item = &Operand> {
        self.0.body.outputs()
    }

    /// What is written element by element: the first of them is staged, which is the one that is scaled, if there is one.
    pub fn matrices(&self) -> impl Iterator<Item = &Operand> {
        let operands = &self.0.body.operands;
        let elements = self.numbered().filter(|(number, operand)| {
            (operand.role, operand.kind) == (Role::Output, Kind::Matrix)
                && self.made().is_none_or(|made| ![made.output, made.scales].contains(number))
        });
        let scaled = self.made().map(|made| &operands[usize::from(made.output)]);
        scaled.into_iter().chain(elements.map(|(_, operand)| operand))
    }

    /// The output whose blocks the kernel scales, by its name; one at most.
    pub fn made_scales(&self) -> &[MadeScales] {
        &self.0.body.made_scales
    }

    /// The output whose blocks are scaled, and what holds its scales.
    pub fn made(&self) -> Option<Made> {
        self.0.made()
    }

    /// How rows are reduced, and the names of the results, in order.
    pub fn reductions(&self) -> impl Iterator<Item = (&str, Reduction)> {
        self.steps().filter_map(|step| match step {
            Step::Reduce { name, reduction, .. } => Some((name.as_str(), *reduction)),
            Step::Let { .. } | Step::Store { .. } => None,
        })
    }

    /// How what the rows give of that output becomes one number; none where each row has its own.
    pub fn fold_of(&self, name: &str) -> Option<Reduction> {
        self.0.body.fold_of(name)
    }

    /// What one number of each row comes to: the output that it goes to, and how.
    pub fn folds(&self) -> impl Iterator<Item = (&Operand, Reduction)> {
        self.outputs().filter_map(|operand| Some((operand, self.fold_of(&operand.name)?)))
    }

    /// The sums along rows that are of exponentials relative to a maximum, in order.
    pub fn joins(&self) -> Vec<Join<'_>> {
        joined::joins(&self.0.body)
    }

    /// The statements that compute an element, in order; of reductions their terms.
    pub fn steps_of_elements(&self) -> Vec<&Step> {
        rows::of_elements(&self.0.body)
    }

    /// The statements that compute what partners see of each other, in order.
    pub fn steps_of_rotations(&self) -> Vec<&Step> {
        let values: Vec<&str> = self.rotations().map(|fetch| fetch.of.as_str()).collect();
        rows::of_names(&self.0.body, &values)
    }

    /// The statements behind the reductions of a row, in order.
    pub fn steps_of_rows(&self) -> Vec<&Step> {
        rows::of_rows(&self.0.body)
    }

    /// How finely functions are computed for its outputs.
    pub fn precision(&self) -> Precision {
        self.0.body.precision()
    }

    fn numbered(&self) -> impl Iterator<Item = (u8, &Operand)> {
        self.0.numbered()
    }
}

impl TryFrom<Written> for Body {
    type Error = Complaint;

    fn try_from(written: Written) -> Result<Self, Complaint> {
        Body::new(written).map_err(|mut complaints| complaints.swap_remove(0))
    }
}

impl From<Body> for Written {
    fn from(body: Body) -> Self {
        body.0
    }
}

impl fmt::Display for Body {
    /// `dot(x, w), bias: Row<bf16> -> out: Matrix<bf16>`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product { a, rows, b, .. } = &self.0.product;
        let a = rows.as_ref().map_or_else(|| a.clone(), |rows| format!("{a}[{rows}]"));
        write!(f, "dot({a}, {b})")?;
        if let Some(Second { b, .. }) = &self.0.second {
            write!(f, ", dot({a}, {b})")?;
        }
        for operand in self.inputs() {
            write!(f, ", {operand}")?;
        }
        for scales in self.a_scales().into_iter().chain(self.scales()).chain(self.zeros()) {
            write!(f, ", {}", self.operands()[usize::from(scales)])?;
        }
        if let Some(sizes) = self.sizes() {
            write!(f, ", {}", self.operands()[usize::from(sizes)])?;
        }
        let shown = |operand: &Operand| match self.made_scales().iter().find(|made| made.output == operand.name) {
            Some(made) => format!("{operand} in blocks of {}", made.block),
            None => operand.to_string(),
        };
        let outputs: Vec<String> = self.outputs().map(shown).collect();
        write!(f, " -> {}", outputs.join(", "))
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod statistics_tests;

#[cfg(test)]
#[path = "joined_tests.rs"]
mod joined_tests;

#[cfg(test)]
#[path = "two_products_tests.rs"]
mod two_products_tests;

#[cfg(test)]
#[path = "fp8_output_tests.rs"]
mod fp8_output_tests;

#[cfg(test)]
#[path = "made_scales_tests.rs"]
mod made_scales_tests;
