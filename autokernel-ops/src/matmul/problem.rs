//! What must be computed.

use std::fmt;

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

use crate::epilogue::{self, Epilogue};
use crate::expr::Cost;
use crate::registry;

/// The types that the matrix units multiply: those of `A` and `B`. Accumulation is always in `f32`.
pub const INPUTS: [Dtype; 2] = [Dtype::Bf16, Dtype::F16];

/// How `B` lies in memory. `A` and `C` are always row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// `B[k, n]` row-major: `x @ w`.
    Nn,
    /// `B[n, k]` row-major: `x @ wᵀ`, the layout of a linear layer's weight.
    Nt,
}

impl Layout {
    /// Both layouts.
    pub const ALL: [Layout; 2] = [Layout::Nn, Layout::Nt];

    /// Whether `B` is stored transposed, as `[n, k]`.
    pub fn transpose_b(self) -> bool {
        self == Layout::Nt
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layout::Nn => "nn",
            Layout::Nt => "nt",
        })
    }
}

/// A product: element types, layout, epilogue, and the dimensions that are known when it is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of `A` and `B`.
    pub input: Dtype,
    /// Type of `C`.
    pub output: Dtype,
    /// Layout of `B`.
    pub layout: Layout,
    /// What is applied to each accumulated element before it is stored.
    pub epilogue: Epilogue,
    /// Columns of `C`, when known at compile time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_n: Option<u32>,
    /// The reduced dimension, when known at compile time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_k: Option<u32>,
}

impl Problem {
    /// A matrix product of `input` elements, giving `input` elements.
    pub fn new(input: Dtype, layout: Layout, epilogue: Epilogue) -> Self {
        Problem { input, output: input, layout, epilogue, known_n: None, known_k: None }
    }

    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> Class {
        let Problem { input, output, layout, .. } = *self;
        Class { epilogue: self.epilogue.name().to_owned(), input, output, layout }
    }
}

impl registry::Problem {
    /// A matrix product of `input` elements, giving `input` elements.
    pub fn matmul(input: Dtype, layout: Layout, epilogue: Epilogue) -> Self {
        Problem::new(input, layout, epilogue).into()
    }
}

impl registry::Problem {
    /// The product, if it is one.
    pub fn as_product(&self) -> Option<&Problem> {
        match self {
            registry::Problem::Matmul(product) => Some(product),
            #[allow(unreachable_patterns, reason = "reachable with more than one operation")]
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { input, output, layout, epilogue, .. } = self;
        write!(f, "matmul {layout} {input} -> {output}, epilogue {epilogue}")?;
        if let Some(n) = self.known_n {
            write!(f, ", n = {n}")?;
        }
        if let Some(k) = self.known_k {
            write!(f, ", k = {k}")?;
        }
        Ok(())
    }
}

/// Problems that are tuned together: known dimensions and epilogue parameters do not tell them apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The epilogue's name, without its parameters: `leaky_relu`.
    pub epilogue: String,
    /// Type of `A` and `B`.
    pub input: Dtype,
    /// Type of `C`.
    pub output: Dtype,
    /// Layout of `B`.
    pub layout: Layout,
}

impl Class {
    /// What its epilogue costs a thread.
    pub fn epilogue_cost(&self) -> Cost {
        epilogue::cost_of(&self.epilogue)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Class { epilogue, input, output, layout } = self;
        write!(f, "matmul {layout} {input} -> {output}, epilogue {epilogue}")
    }
}
