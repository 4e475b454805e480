//! What must be computed.

use std::fmt;
use std::ops::Range;

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

use super::lower::lower;
use super::score::{Kind, Score};
use super::sequences::Sequences;
use crate::expr::Cost;
use crate::hash;

/// The widest window that a kernel counts: keys and queries are below 2³¹ together.
pub const WIDEST_WINDOW: u32 = 1 << 30;

/// `out = softmax(scale · q kᵀ + mask) v` for every head of every batch.
///
/// Queries and keys are aligned at their ends: query `i` of `queries` stands at key `i + keys − queries`. Several heads of
/// `q` may share one of `k` and `v`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of every operand but the log-sum-exp.
    pub dtype: Dtype,
    /// Elements of a query and of a key.
    pub head_dim: u32,
    /// Elements of a value.
    pub value_dim: u32,
    /// Whether a query sees no key behind its own place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub causal: bool,
    /// A query sees no key so far from its own place, or farther; none where it sees any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// What scores are multiplied by; positive.
    pub scale: f32,
    /// Whether the logarithm of each query's sum of exponentials is an output too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub log_sum_exp: bool,
    /// What becomes of a score before the softmax; none where it is multiplied by the scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// How sequences lie.
    #[serde(default, skip_serializing_if = "Sequences::are_whole")]
    pub sequences: Sequences,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Problems that are tuned together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Type of every operand but the log-sum-exp.
    pub dtype: Dtype,
    /// Elements of a query and of a key.
    pub head_dim: u32,
    /// Elements of a value.
    pub value_dim: u32,
    /// Whether a query sees no key behind its own place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub causal: bool,
    /// Whether a query sees no key that is far from its own place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub windowed: bool,
    /// Whether the logarithm of each query's sum of exponentials is an output too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub log_sum_exp: bool,
    /// What a body on the score reads and costs; none where there is no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreClass>,
    /// How sequences lie.
    #[serde(default, skip_serializing_if = "Sequences::are_whole")]
    pub sequences: Sequences,
}

/// Bodies on scores that are tuned together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScoreClass {
    /// The operands in order, without their names.
    pub operands: Vec<Kind>,
    /// What a score costs in registers and functions.
    pub cost: Cost,
    /// Whether it has bounds, as of a soft cap alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bounded: bool,
    /// Whether all that it adds to a scaled score grows by the same number of a head from key to key, as of a slope alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub climbs: bool,
}

impl Class {
    /// Operands of a body on the score.
    pub fn score_operands(&self) -> &[Kind] {
        self.score.as_ref().map_or(&[], |score| &score.operands)
    }

    /// Whether a body reads numbers by distance.
    pub fn reads_distances(&self) -> bool {
        self.score_operands().contains(&Kind::PerDistance)
    }

    /// Whether Hopper's kernels may set the shift of a row's exponents once, as scores have bounds and weights the range of fp32.
    pub fn may_stay_within(&self) -> bool {
        self.dtype == Dtype::Bf16 && self.score.as_ref().is_some_and(|score| score.bounded)
    }

    /// Whether Hopper's kernels may have the tensor cores add what a body does, whose parts bf16 can hold.
    pub fn may_step(&self) -> bool {
        self.dtype == Dtype::Bf16 && self.score.as_ref().is_some_and(|score| score.climbs)
    }
}

impl Problem {
    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> Class {
        let &Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, ref score, sequences } = self;
        let score = score.as_ref().map(|score| {
            let lowered = lower(score, scale);
            let (bounded, climbs) = (lowered.is_bounded(), lowered.step().is_some());
            ScoreClass { operands: score.kinds(), cost: score.cost(), bounded, climbs }
        });
        Class { dtype, head_dim, value_dim, causal, windowed: window.is_some(), log_sum_exp, score, sequences }
    }

    /// The keys that the query at place `query` sees, of `keys`: from the first to one past the last.
    pub fn keys_of(&self, query: u32, queries: u32, keys: u32) -> Range<u32> {
        let Range { start, end } = keys_of(self.causal, self.window, [query, queries, keys].map(|size| size as usize));
        start as u32..end as u32
    }
}

/// The keys that query `query` of `queries` sees of `keys`: from the first to one past the last.
pub fn keys_of(causal: bool, window: Option<u32>, [query, queries, keys]: [usize; 3]) -> Range<usize> {
    let [query, queries, end] = [query, queries, keys].map(|size| size as i64);
    let place = query + end - queries;
    let window = window.map(i64::from);
    let first = window.map_or(0, |window| (place - window + 1).max(0));
    let behind = if causal { Some(1) } else { window };
    let last = behind.map_or(end, |behind| (place + behind).clamp(0, end));
    first as usize..last.max(first) as usize
}

impl Class {
    /// The class as one word: `attention_causal_128_bf16`.
    pub fn slug(&self) -> String {
        let Class { dtype, head_dim, value_dim, causal, windowed, log_sum_exp, score, sequences } = self;
        let score = score.as_ref().map_or_else(String::new, |score| {
            let json = serde_json::to_string(score).expect("a class has only string keys");
            format!("_score_{}", hash::short(&json))
        });
        let value = if value_dim == head_dim { String::new() } else { format!("v{value_dim}") };
        let causal = if *causal { "_causal" } else { "" };
        let windowed = if *windowed { "_window" } else { "" };
        let lse = if *log_sum_exp { "_lse" } else { "" };
        let sequences = sequences.slug();
        format!("attention{causal}{windowed}{sequences}{lse}{score}_{head_dim}{value}_{dtype}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { dtype, head_dim, value_dim, causal, window, scale, log_sum_exp, score, sequences } = self;
        write!(f, "attention {dtype}, head_dim = {head_dim}")?;
        if value_dim != head_dim {
            write!(f, ", value_dim = {value_dim}")?;
        }
        if *causal {
            write!(f, ", causal")?;
        }
        if let Some(window) = window {
            write!(f, ", window = {window}")?;
        }
        write!(f, "{}, scale = {scale}", sequences.words())?;
        if *log_sum_exp {
            write!(f, ", with log-sum-exp")?;
        }
        if score.is_some() { write!(f, ", with a body on the score") } else { Ok(()) }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.slug())
    }
}
