//! What must be computed.

use std::fmt;

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

use crate::epilogue::{Epilogue, EpilogueClass};

/// What is multiplied: the operation of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `C = epilogue(A · B)`.
    Matmul,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("matmul")
    }
}

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

/// A problem: operation, element types, layout, epilogue, and the dimensions that are known when it is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The operation.
    pub operation: Operation,
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
    pub fn matmul(input: Dtype, layout: Layout, epilogue: Epilogue) -> Self {
        let operation = Operation::Matmul;
        Problem { operation, input, output: input, layout, epilogue, known_n: None, known_k: None }
    }

    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> ProblemClass {
        ProblemClass {
            operation: self.operation,
            epilogue: self.epilogue.class(),
            input: self.input,
            output: self.output,
            layout: self.layout,
        }
    }

    /// A readable identifier, the same for equal problems and only for them:
    /// `matmul_leaky_relu_bf16_bf16_nt_1f0c…`.
    pub fn key(&self) -> String {
        let json = serde_json::to_string(self).expect("a problem has only string keys");
        format!("{}_{}", self.class().slug(), crate::hash::short(&json))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { operation, input, output, layout, epilogue, .. } = self;
        write!(f, "{operation} {layout} {input} -> {output}, epilogue {epilogue}")?;
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
pub struct ProblemClass {
    /// The operation.
    pub operation: Operation,
    /// The epilogue, whatever the values of its parameters: `leaky_relu`.
    pub epilogue: EpilogueClass,
    /// Type of `A` and `B`.
    pub input: Dtype,
    /// Type of `C`.
    pub output: Dtype,
    /// Layout of `B`.
    pub layout: Layout,
}

impl ProblemClass {
    /// The class as one word, fit for file and symbol names.
    pub fn slug(&self) -> String {
        let ProblemClass { operation, epilogue, input, output, layout } = self;
        format!("{operation}_{epilogue}_{input}_{output}_{layout}")
    }

    /// How far `other` is from this class, as a source of schedules: 0 is the class itself, none is unusable.
    ///
    /// Schedules carry over well. An epilogue costs little beside the product, bf16 and f16 run at the same rate, and a
    /// wider output changes only the store. Another layout of `B` changes the loads, and so the best schedule.
    pub fn distance(&self, other: &ProblemClass) -> Option<u32> {
        if (self.operation, self.layout) != (other.operation, other.layout) {
            return None;
        }
        let wider = u32::from(self.output.bytes() != other.output.bytes());
        let typed = u32::from((self.input, self.output) != (other.input, other.output));
        let fused = u32::from(self.epilogue != other.epilogue);
        Some(4 * wider + 2 * typed + fused)
    }
}

impl fmt::Display for ProblemClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProblemClass { operation, epilogue, input, output, layout } = self;
        write!(f, "{operation} {layout} {input} -> {output}, epilogue {epilogue}")
    }
}
