//! What a product's declaration computes from each sum and from other operands.

mod class;
mod complaint;
pub mod oracle;
pub mod print;

use std::fmt;

use autokernel_core::Role;
use serde::{Deserialize, Serialize};

use crate::body::{self, Complaint, Operand, Step};
use complaint::complaints;

pub use class::BodyClass;

/// The body of a product: one without mistakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Body(Written);

/// A body that may hold mistakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The product.
    pub product: Product,
    /// Operands, the factors among them, and statements; in these an element of the product has its name.
    #[serde(flatten)]
    pub body: body::Body,
}

/// `let name = dot(a, b);`: an element of a product under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Unique in the body, operands included.
    pub name: String,
    /// The operand whose rows are multiplied.
    pub a: String,
    /// The operand whose columns are; how it lies is the problem's [`Layout`](super::problem::Layout).
    pub b: String,
}

impl Body {
    /// What `written` says.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(written: Written) -> Result<Self, Vec<Complaint>> {
        let complaints = complaints(&written);
        if complaints.is_empty() { Ok(Body(written)) } else { Err(complaints) }
    }

    /// The name of an element of the product.
    pub fn sum(&self) -> &str {
        &self.0.product.name
    }

    /// Every operand, in the order of the parameters.
    pub fn operands(&self) -> &[Operand] {
        &self.0.body.operands
    }

    /// What some output needs, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.body.needed_steps()
    }

    /// The numbers of the factors.
    pub fn factors(&self) -> [u8; 2] {
        let Product { a, b, .. } = &self.0.product;
        [a, b].map(|name| self.numbered().find(|(_, operand)| operand.name == *name).map_or(0, |(number, _)| number))
    }

    /// The operands that are read beside the factors.
    pub fn inputs(&self) -> impl Iterator<Item = &Operand> {
        let factors = self.factors();
        self.numbered()
            .filter(move |(number, operand)| operand.role == Role::Input && !factors.contains(number))
            .map(|(_, operand)| operand)
    }

    /// What is written.
    pub fn outputs(&self) -> impl Iterator<Item = &Operand> {
        self.0.body.outputs()
    }

    fn numbered(&self) -> impl Iterator<Item = (u8, &Operand)> {
        (0..).zip(self.operands())
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
        let Product { a, b, .. } = &self.0.product;
        write!(f, "dot({a}, {b})")?;
        for operand in self.inputs() {
            write!(f, ", {operand}")?;
        }
        let outputs: Vec<String> = self.outputs().map(Operand::to_string).collect();
        write!(f, " -> {}", outputs.join(", "))
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
