//! Every operation and every kernel family, a line each. What is not in an operation's room reaches it through here.

mod families;
mod forward;
mod operations;
mod products;

use std::fmt;

use autokernel_core::{Arch, Confined, Dim, Dtype, Extents, LaunchPlan, Role, Signature};
use serde::{Deserialize, Serialize};

use self::families::families;
use self::forward::forward;
use self::operations::operations;
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::family::{Family, OtherFamily};
use crate::forecast::{Forecast, Machine};
use crate::knob::Knob;
use crate::operation::{self, Operation, Tolerance, Work};
use crate::opponent::Opponent;
use crate::rule::{self, BrokenRule, RuleText};
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, SHARED};

operations! {
    matmul: Matmul;
    rows: Rows;
    attention: Attention;
    routing: Routing;
    packing: Packing;
    #[cfg(feature = "sketch")] scaled_copy: ScaledCopy;
}

families! {
    matmul: Sm80, schedule::Sm80Schedule, SM80_RULES;
    matmul: Sm90, schedule::Sm90Schedule, SM90_RULES;
    matmul: SkinnySm80, schedule::SkinnySchedule, SKINNY_RULES;
    rows: RowsSm80, Sm80Schedule, SM80_RULES;
    rows: RowsSm90, Sm90Schedule, SM90_RULES;
    attention: AttentionSm80, Sm80Schedule, SM80_RULES;
    attention: AttentionSm90, Sm90Schedule, SM90_RULES;
    routing: RoutingSm80, Schedule, RULES;
    packing: PackingSm80, Schedule, RULES;
    #[cfg(feature = "sketch")] scaled_copy: Copy, Schedule, RULES;
}

/// The CUDA files that emitted sources include.
pub fn all_headers() -> impl Iterator<Item = Header> {
    SHARED.iter().chain(ROOM_HEADERS.iter().copied().flatten()).copied()
}

/// The attributes of every operation.
pub fn attributes() -> impl Iterator<Item = &'static Attribute> {
    ROOM_ATTRIBUTES.iter().copied().flatten()
}

/// The dimensions of the first operation whose problems have so many: what a shape is that gives sizes alone.
pub fn dims_of_rank(rank: usize) -> Option<&'static [Dim]> {
    ROOM_DIMS.iter().copied().find(|dims| dims.len() == rank)
}

impl Family {
    /// The place of the knob called `name` in the table.
    pub fn knob(self, name: &str) -> Option<usize> {
        self.knobs().iter().position(|knob| knob.name == name)
    }
}

impl Problem {
    /// A readable identifier, the same for equal problems and only for them:
    /// `matmul_leaky_relu_bf16_bf16_nt_1f0c…`.
    pub fn key(&self) -> String {
        let json = serde_json::to_string(self).expect("a problem has only string keys");
        format!("{}_{}", self.class().slug(), crate::hash::short(&json))
    }

    /// The text of one of its fields in JSON: `epilogue`.
    pub fn field(&self, name: &str) -> Option<String> {
        field(self, name)
    }

    /// What the reference takes: the same, with outputs in fp32.
    pub fn reference_signature(&self) -> Signature {
        let mut signature = self.signature();
        let outputs = signature.operands.iter_mut().filter(|operand| operand.role == Role::Output);
        outputs.for_each(|operand| operand.dtype = Dtype::F32);
        signature
    }

    /// Whether it can be launched at `extents`: they are of its dimensions, and those compiled in are the same.
    pub fn fits(&self, extents: &Extents) -> bool {
        let signature = self.signature();
        let dims = &signature.dims;
        let fits = |dim: &autokernel_core::Dimension| {
            extents.get(dim.name).is_some_and(|size| dim.known.is_none_or(|known| known == size))
        };
        let is_whole =
            || dims.iter().zip(signature.whole(extents).sizes()).all(|(dim, size)| extents.get(dim.name) == Some(size));
        extents.iter().count() == dims.len() && dims.iter().all(fits) && is_whole()
    }
}

/// The text of a field of what is written as `value`.
fn field(value: &impl Serialize, name: &str) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    Some(value.get(name)?.as_str()?.to_owned())
}

impl Class {
    /// The oldest arch that has a family for it, and why, where that is not any.
    pub fn confined(&self) -> Option<Confined> {
        let arch = [Arch::SM_89, Arch::SM_90A].into_iter().find(|arch| !self.families(*arch).is_empty())?;
        self.missing_on_the_oldest().map(|why| Confined { arch, why })
    }

    /// The text of one of its fields in JSON: `layout`.
    pub fn field(&self, name: &str) -> Option<String> {
        field(self, name)
    }

    /// `extents` in the order of its dimensions, however a file has them.
    ///
    /// # Errors
    /// They are those of another operation; the message says which there are.
    pub fn ordered(&self, extents: &Extents) -> Result<Extents, OtherDims> {
        let dims = self.dims();
        let sizes = dims.iter().map(|dim| Some((*dim, extents.get(*dim)?)));
        let ordered = sizes.collect::<Option<Vec<_>>>().and_then(Extents::collect);
        let refused = || OtherDims { operation: self.operation(), dims, extents: *extents };
        ordered.filter(|_| extents.iter().count() == dims.len()).ok_or_else(refused)
    }
}

/// Extents that are not those of the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherDims {
    operation: &'static str,
    dims: &'static [Dim],
    extents: Extents,
}

impl std::error::Error for OtherDims {}

impl fmt::Display for OtherDims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherDims { operation, dims, extents } = self;
        let dims: Vec<&str> = dims.iter().map(|dim| dim.as_str()).collect();
        write!(f, "{operation} has the dimensions {}, not {extents:?}", dims.join(", "))
    }
}

impl Schedule {
    /// Registers of a thread by arithmetic alone, where nothing was compiled: about what ptxas will take.
    pub fn estimated_registers(&self) -> u32 {
        self.family().registers(self).expect("a schedule is of its own family")
    }
}

#[cfg(test)]
mod tests;
