//! What schedules must know of a body.

use std::collections::{BTreeMap, BTreeSet};

use autokernel_core::{Dtype, Role};
use serde::{Deserialize, Serialize};

use super::joined::joins;
use super::written::{Made, Written};
use crate::body::{self, Columns, Kind, Operand, Step};
use crate::expr::Cost;
use crate::matmul::many::Many;

/// Bodies that are tuned together: those of the same operands and cost, whatever they compute exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BodyClass {
    /// The operands in order, without their names; the factors among them.
    pub operands: Vec<(Kind, Dtype, Role)>,
    /// The numbers of the factors.
    pub factors: [u8; 2],
    /// The number of the index that says which row of the first factor each row of the result is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathers: Option<u8>,
    /// The number of a second product's second factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_factor: Option<u8>,
    /// The numbers of the scales of groups or blocks of second factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scales: Vec<u8>,
    /// The numbers of the zero points of groups of second factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zeros: Vec<u8>,
    /// The number of the scales of blocks of the first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_scales: Option<u8>,
    /// The numbers of the operands of which each product of a batch has its own; none where there is one product.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batched: Vec<u8>,
    /// Reductions along rows.
    #[serde(default, skip_serializing_if = "is_none")]
    pub statistics: u32,
    /// Those of them that are sums of exponentials relative to a maximum.
    #[serde(default, skip_serializing_if = "is_none")]
    pub joined: u32,
    /// What each element's partner is, where elements see partners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partners: Option<Columns>,
    /// The numbers of the operands whose columns repeat along a row: they are their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<u8>,
    /// The output whose blocks the kernel scales, and what holds its scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// What an element costs in functions.
    pub cost: Cost,
    /// Operations an element.
    pub operations: u32,
    /// The most values of an element that are needed at once, operands included.
    pub live: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The most names, of operands and values, that are needed between two steps.
fn live(steps: &[Step]) -> u32 {
    let mut last_use: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        last_use.extend(step.expr().variables().into_iter().map(|name| (name, at)));
    }
    let bound_at = |name: &str| steps.iter().position(|step| matches!(step, Step::Let { name: it, .. } if it == name));
    let live_at = |at: usize| {
        let names =
            last_use.iter().filter(|&(name, &last)| last >= at && bound_at(name).is_none_or(|bound| bound < at));
        names.map(|(name, _)| *name).collect::<BTreeSet<_>>().len()
    };
    (0..steps.len()).map(live_at).max().and_then(|most| u32::try_from(most).ok()).unwrap_or(0)
}

/// Elements of a thread that the compiler computes side by side.
const INTERLEAVED: u32 = 4;
/// Rows of which a thread holds elements at once, each with what is reduced of it so far.
const ROWS_OF_A_THREAD: u32 = 2;
/// Elements of a row that a thread holds until it takes their exponentials: two of each fragment (`kJoinedFragments` in
/// body_joined.cuh).
const JOINED_AT_ONCE: u32 = 8;
/// The most registers that a body may take for its own: those that the smallest tiles leave.
pub const MOST_REGISTERS: u32 = 168;

impl BodyClass {
    /// The bodies that are tuned together with `written`.
    pub fn of(written: &Written) -> Self {
        let (factors, other_factor) = written.numbers_of_factors();
        let body::Body { operands, steps, .. } = &written.body;
        BodyClass {
            operands: operands.iter().map(|&Operand { kind, dtype, role, .. }| (kind, dtype, role)).collect(),
            factors,
            gathers: written.number_of_rows(),
            other_factor,
            scales: written.numbers_of_scales(),
            zeros: written.numbers_of_zeros(),
            a_scales: written.number_of_a_scales(),
            batched: written.batched(),
            partners: written.partners(),
            repeated: written.repeated(),
            made: written.made(),
            joined: joins(&written.body).iter().map(|_| 1).sum(),
            statistics: steps.iter().map(|step| u32::from(matches!(step, Step::Reduce { .. }))).sum(),
            cost: steps.iter().map(|step| step.expr().cost()).fold(Cost::NONE, Cost::and),
            operations: steps.iter().map(|step| step.expr().operations()).sum(),
            live: live(steps),
        }
    }

    /// Registers of a thread beside its accumulators, about: those of functions, the operands of a fragment, of which a thread
    /// has four elements, and the values of some elements.
    pub fn registers(&self) -> u32 {
        let words = self.inputs().map(|(_, kind, dtype)| match kind {
            Kind::Matrix => dtype.bytes(),
            Kind::Row => dtype.bytes() / 2,
            Kind::Column | Kind::Index => 2,
            Kind::Scalar => 0,
            Kind::DeviceScalar => 1,
        });
        let reduced = ROWS_OF_A_THREAD * (self.statistics + JOINED_AT_ONCE * self.joined);
        // Partners are computed together: the operands of both are there, and what each sees of the other.
        let (sides, seen) = if self.partners.is_some() { (2, INTERLEAVED) } else { (1, 0) };
        let held = sides * words.sum::<u32>() + seen + INTERLEAVED * self.live;
        self.cost.registers + self.cost.constants() + held + reduced
    }

    /// Whether a product is multiplied by a scale of each row and of each column at most, and nothing else is made of it.
    pub fn scales_alone(&self) -> bool {
        const FEWEST: u32 = 16; // the product and both scales of some elements, and these scales
        let reads_none = self.inputs().all(|(_, kind, _)| kind != Kind::Matrix);
        let outputs = self.operands.iter().filter(|(.., role)| *role == Role::Output).count();
        reads_none && outputs == 1 && self.made.is_none() && self.registers() <= FEWEST
    }

    /// Products of the same first factor.
    pub fn products(&self) -> u32 {
        if self.other_factor.is_some() { 2 } else { 1 }
    }

    /// Of what number of columns those that a lane holds are a multiple: of a head, where its halves are partners.
    pub fn head(&self) -> u32 {
        if let Some(Columns::RotateHalf(head)) = self.partners { head } else { 1 }
    }

    /// The operands under names that tell nothing.
    pub fn nameless_operands(&self) -> Vec<Operand> {
        let named = |(at, &(kind, dtype, role)): (usize, &(Kind, Dtype, Role))| Operand {
            name: format!("operand{at}"),
            kind,
            dtype,
            role,
            batched: self.batched.iter().any(|&batched| usize::from(batched) == at),
        };
        self.operands.iter().enumerate().map(named).collect()
    }

    /// Which products a launch computes.
    pub fn many(&self) -> Many {
        let has_one_each = |operand: u8| self.batched.contains(&operand);
        let [a, b] = self.factors;
        let mut outputs = (0..).zip(&self.operands).filter(|(_, (.., role))| *role == Role::Output);
        let mut indices = (0..).zip(&self.operands).filter(|(_, (kind, ..))| *kind == Kind::Index);
        match indices.any(|(number, _)| self.gathers != Some(number)) {
            false if self.batched.is_empty() => Many::One,
            false => Many::Batch,
            true if has_one_each(a) => Many::Masked,
            true if !has_one_each(b) && outputs.any(|(output, _)| has_one_each(output)) => Many::GroupsAlongK,
            true => Many::Groups,
        }
    }

    /// The inputs beside the factors whose elements are read, with their numbers.
    pub fn inputs(&self) -> impl Iterator<Item = (u8, Kind, Dtype)> + '_ {
        let is_scales = |at| self.scales.contains(&at) || self.zeros.contains(&at) || self.a_scales == Some(at);
        let factor = move |at| self.factors.contains(&at) || self.other_factor == Some(at) || is_scales(at);
        let inputs = (0..)
            .zip(&self.operands)
            .filter(move |(at, (kind, _, role))| *role == Role::Input && *kind != Kind::Index && !factor(*at));
        inputs.map(|(at, &(kind, dtype, _))| (at, kind, dtype))
    }

    /// The types of the matrices of which it reads each element once: tables whose columns repeat stay in L2.
    pub fn matrices_read_once(&self) -> impl Iterator<Item = Dtype> + '_ {
        let is_read_once = |at: u8, kind: Kind| kind == Kind::Matrix && !self.repeated.contains(&at);
        self.inputs().filter(move |&(at, kind, _)| is_read_once(at, kind)).map(|(.., dtype)| dtype)
    }

    /// Whether elements are written, and not numbers of rows alone.
    pub fn writes_elements(&self) -> bool {
        self.operands.iter().any(|(kind, _, role)| (*kind, *role) == (Kind::Matrix, Role::Output))
    }

    /// What is written, scales that the kernel makes apart.
    pub fn outputs(&self) -> impl Iterator<Item = (Kind, Dtype)> + '_ {
        let is_made = |at| self.made.is_some_and(|made| made.scales == at);
        let written = (0..).zip(&self.operands).filter(move |(at, (.., role))| *role == Role::Output && !is_made(*at));
        written.map(|(_, &(kind, dtype, _))| (kind, dtype))
    }
}
