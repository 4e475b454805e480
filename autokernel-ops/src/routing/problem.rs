//! What must be computed.

use std::fmt;

use autokernel_core::{Dim, Dimension, Dtype, Extents, Operand, Passed, Role, Signature, dim};
use serde::{Deserialize, Serialize};

/// The dimensions, in order: choices are the experts of each token.
pub const DIMS: [Dim; 3] = [dim("tokens"), dim("experts"), dim("top_k")];

/// The extents of so many tokens, each computed by `choices` of `experts`.
///
/// ```
/// assert_eq!(autokernel_ops::routing::extents(4096, 64, 6).to_string(), "4096x64x6");
/// ```
pub const fn extents(tokens: u32, experts: u32, choices: u32) -> Extents {
    Extents::new([(DIMS[0], tokens), (DIMS[1], experts), (DIMS[2], choices)])
}

pub(super) const TOKENS: u8 = 0;
const EXPERTS: u8 = 1;
const CHOICES: u8 = 2;

/// The most experts that there are: a block counts their tokens in shared memory.
pub const MOST_EXPERTS: u32 = 1024;
/// The most experts of a token: each is held by a lane of a warp.
pub const LARGEST_TOP_K: u32 = 32;

/// The operands by their numbers.
pub(super) const SCORES: u8 = 0;
pub(super) const WEIGHTS: u8 = 1;
pub(super) const OFFSETS: u8 = 2;
pub(super) const ORDER: u8 = 3;
pub(super) const ROWS: u8 = 4;

/// Of each token the `top_k` of `experts` with the greatest scores, and all choices in the order of their experts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of the scores.
    pub dtype: Dtype,
    /// How many experts there are.
    pub experts: u32,
    /// How many of them compute a token.
    pub top_k: u32,
    /// Whether weights are shares among all experts, not among the chosen ones.
    pub over_all: bool,
}

/// Routings that are tuned together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Type of the scores.
    pub dtype: Dtype,
    /// How many experts there are.
    pub experts: u32,
    /// How many of them compute a token.
    pub top_k: u32,
}

impl Problem {
    /// The class whose tuned entries serve it.
    pub fn class(&self) -> Class {
        let &Problem { dtype, experts, top_k, .. } = self;
        Class { dtype, experts, top_k }
    }

    /// What a kernel takes. `order` and `rows` have a row for each choice of all tokens; read on from row to row, `order` has the
    /// token of each row of the sorted matrix.
    pub fn signature(&self) -> Signature {
        let operand = |name: &str, role, dtype, axes: &[u8], passed| Operand {
            name: name.to_owned(),
            role,
            dtype,
            axes: axes.to_vec(),
            passed,
        };
        let of_choices = [CHOICES, TOKENS];
        let operands = vec![
            operand("scores", Role::Input, self.dtype, &[TOKENS, EXPERTS], Passed::ByAddress),
            operand("weights", Role::Output, Dtype::F32, &of_choices, Passed::ByAddress),
            operand("offsets", Role::Output, Dtype::I32, &[EXPERTS], Passed::Bounds),
            operand("order", Role::Output, Dtype::I32, &of_choices, Passed::ByAddress),
            operand("rows", Role::Output, Dtype::I32, &of_choices, Passed::ByAddress),
        ];
        let known = [None, Some(self.experts), Some(self.top_k)];
        let dims = DIMS.into_iter().zip(known).map(|(name, known)| Dimension { name, known });
        Signature { dims: dims.collect(), operands, ..Signature::default() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class(), if self.over_all { ", weights over all" } else { "" })
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Class { dtype, experts, top_k } = self;
        write!(f, "routing {dtype}, {top_k} of {experts} experts")
    }
}
