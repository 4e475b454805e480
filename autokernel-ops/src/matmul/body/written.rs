//! A product's body as its author wrote it.

use serde::{Deserialize, Serialize};

use crate::body::{self, Columns, Fetch, Kind, Operand};

/// A body that may hold mistakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The product.
    pub product: Product,
    /// Another one of the same first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
    /// Operands, the factors among them, and statements; in these an element of a product has its name.
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
    /// The index that says which row of `a` each row of the result is of: `dot(a[rows], …)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// The operand of scales of blocks of `a`: `dot(a * scales, …)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_scales: Option<String>,
    /// The operand whose columns are; how it lies is the problem's [`Layout`](crate::matmul::problem::Layout).
    pub b: String,
    /// The operand of scales of groups or blocks of `b`: `dot(a, (b * scales).t())`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<String>,
    /// The operand of zero points of groups of `b`: `dot(a, ((b - zeros) * scales).t())`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zeros: Option<String>,
}

impl Product {
    /// The product `name` of `a` and `b`, neither with scales.
    pub fn plain(name: impl Into<String>, a: impl Into<String>, b: impl Into<String>) -> Self {
        let [name, a, b] = [name.into(), a.into(), b.into()];
        Product { name, a, rows: None, a_scales: None, b, scales: None, zeros: None }
    }
}

/// `let name = dot(a, b);` with the `a` of the product before it, and a `b` that lies as that one's does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Unique in the body, operands included.
    pub name: String,
    /// The operand whose columns are multiplied.
    pub b: String,
    /// The operand of scales of groups or blocks of `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<String>,
    /// The operand of zero points of groups of `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zeros: Option<String>,
}

impl Second {
    /// The product `name` with `b`, which has no scales.
    pub fn plain(name: impl Into<String>, b: impl Into<String>) -> Self {
        Second { name: name.into(), b: b.into(), scales: None, zeros: None }
    }
}

/// The numbers of an output that is scaled and of what holds its scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The output.
    pub output: u8,
    /// Its scales.
    pub scales: u8,
    /// Columns of a block.
    pub block: u32,
}

impl Written {
    /// The names of an element of each product.
    pub fn sums(&self) -> impl Iterator<Item = &str> {
        [&self.product.name].into_iter().chain(self.second.iter().map(|second| &second.name)).map(String::as_str)
    }

    /// The names of the factors: the first one, and the second one of each product.
    pub fn factors(&self) -> impl Iterator<Item = &str> {
        let Product { a, b, .. } = &self.product;
        [a, b].into_iter().chain(self.second.iter().map(|second| &second.b)).map(String::as_str)
    }

    /// The names of the scales of each product's second factor; none where they have none.
    pub fn scales(&self) -> impl Iterator<Item = &str> {
        let second = self.second.iter().flat_map(|second| &second.scales);
        self.product.scales.iter().chain(second).map(String::as_str)
    }

    /// The names of the zero points of each product's second factor; none where they have none.
    pub fn zeros(&self) -> impl Iterator<Item = &str> {
        let second = self.second.iter().flat_map(|second| &second.zeros);
        self.product.zeros.iter().chain(second).map(String::as_str)
    }

    /// The names of the scales of both factors, and of what is subtracted before.
    pub fn all_scales(&self) -> impl Iterator<Item = &str> {
        self.product.a_scales.iter().map(String::as_str).chain(self.scales()).chain(self.zeros())
    }

    /// The numbers of the zero points of each product's second factor.
    pub fn numbers_of_zeros(&self) -> Vec<u8> {
        self.zeros().map(|name| self.number(name)).collect()
    }

    /// The numbers of the scales of each product's second factor.
    pub fn numbers_of_scales(&self) -> Vec<u8> {
        self.scales().map(|name| self.number(name)).collect()
    }

    /// The number of the scales of the first factor.
    pub fn number_of_a_scales(&self) -> Option<u8> {
        self.product.a_scales.as_deref().map(|name| self.number(name))
    }

    /// The number of the index that picks rows of the first factor.
    pub fn number_of_rows(&self) -> Option<u8> {
        self.product.rows.as_deref().map(|name| self.number(name))
    }

    /// The operands that say which rows are of which product: where groups begin, or how many count. One at most, where there is no
    /// mistake.
    pub fn sizes(&self) -> impl Iterator<Item = (u8, &Operand)> {
        let is_of_sizes = |it: &Operand| it.kind == Kind::Index && Some(&it.name) != self.product.rows.as_ref();
        self.numbered().filter(move |(_, operand)| is_of_sizes(operand))
    }

    /// Whether a launch computes many products.
    pub fn is_of_many(&self) -> bool {
        self.sizes().next().is_some() || self.body.operands.iter().any(|operand| operand.batched)
    }

    /// The output whose blocks are scaled, and what holds its scales.
    pub fn made(&self) -> Option<Made> {
        let made = self.body.made_scales.first()?;
        Some(Made { output: self.number(&made.output), scales: self.number(&made.scales), block: made.block })
    }

    fn number(&self, name: &str) -> u8 {
        self.numbered().find(|(_, operand)| operand.name == name).map_or(0, |(at, _)| at)
    }

    /// The numbers of the first product's factors, and that of the other one's second factor, if there is another.
    pub fn numbers_of_factors(&self) -> ([u8; 2], Option<u8>) {
        let number = |name: &String| self.number(name);
        let Written { product: Product { a, b, .. }, second, .. } = self;
        ([a, b].map(number), second.as_ref().map(|second| number(&second.b)))
    }

    /// The numbers of the operands of which each product of a batch has its own.
    pub fn batched(&self) -> Vec<u8> {
        self.numbered().filter(|(_, operand)| operand.batched).map(|(at, _)| at).collect()
    }

    /// What the elements of the body see of partners, as far as something that is written needs it.
    pub fn rotations(&self) -> impl Iterator<Item = &Fetch> {
        let partners = self.body.fetches.iter().filter(|fetch| fetch.columns.are_partners());
        partners.filter(|fetch| self.body.is_in_expressions(&fetch.name))
    }

    /// What each element's partner is, where elements see partners.
    pub fn partners(&self) -> Option<Columns> {
        self.rotations().next().map(|fetch| fetch.columns)
    }

    /// The numbers of the operands whose columns repeat along a row.
    pub fn repeated(&self) -> Vec<u8> {
        self.numbered().filter(|(_, operand)| self.body.is_repeated(&operand.name)).map(|(at, _)| at).collect()
    }

    /// Every operand with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (u8, &Operand)> {
        (0..).zip(&self.body.operands)
    }
}
