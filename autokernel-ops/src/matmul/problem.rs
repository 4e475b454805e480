//! What must be computed.

use std::fmt;

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

use super::body::{Body, BodyClass, Made};
use super::inputs::outputs;
use super::many::Many;
use crate::body::{Columns, Kind};
use crate::epilogue::{Epilogue, EpilogueClass};
use crate::hash;
use crate::weights::Weights;

/// How the factors lie in memory, `A` and then `B`: `n` as they are multiplied, `t` transposed. `C` is always row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// `B[k, n]` row-major: `x @ w`.
    Nn,
    /// `B[n, k]` row-major: `x @ wᵀ`, the layout of a linear layer's weight.
    Nt,
    /// `A[k, m]` and `B[k, n]` row-major: `xᵀ @ dy`, the gradient of a weight.
    Tn,
    /// `A[k, m]` and `B[n, k]` row-major: `xᵀ @ wᵀ`.
    Tt,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 4] = [Layout::Nn, Layout::Nt, Layout::Tn, Layout::Tt];

    /// Those of a row-major `A`: what ships is built and tuned for these.
    pub const OF_ROW_MAJOR_A: [Layout; 2] = [Layout::Nn, Layout::Nt];

    /// That of factors that are transposed or not.
    pub fn new(transpose_a: bool, transpose_b: bool) -> Self {
        match (transpose_a, transpose_b) {
            (false, false) => Layout::Nn,
            (false, true) => Layout::Nt,
            (true, false) => Layout::Tn,
            (true, true) => Layout::Tt,
        }
    }

    /// Those in which factors of `input` elements may lie: matrix units read 16-bit elements across K too, others along it alone.
    pub fn of(input: Dtype) -> &'static [Layout] {
        if input.bytes() == 2 { &Layout::ALL } else { &[Layout::Nt] }
    }

    /// Whether `A` is stored transposed, as `[k, m]`.
    pub fn transpose_a(self) -> bool {
        matches!(self, Layout::Tn | Layout::Tt)
    }

    /// Whether `B` is stored transposed, as `[n, k]`.
    pub fn transpose_b(self) -> bool {
        matches!(self, Layout::Nt | Layout::Tt)
    }

    /// The layout whose measured schedules and model serve this one. Of a transposed `A` nothing was measured; as with `nn`, a
    /// factor that lies across K comes in panels of it.
    pub fn measured_as(self) -> Layout {
        if self.transpose_a() { Layout::Nn } else { self }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layout::Nn => "nn",
            Layout::Nt => "nt",
            Layout::Tn => "tn",
            Layout::Tt => "tt",
        })
    }
}

/// A product: element types, layout, what is fused to it, and the dimensions that are known when it is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of `A`, and without `second` and `weights` of `B`.
    pub input: Dtype,
    /// Type of `B`, where it is the other one of the two floats of 8 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Dtype>,
    /// What `B` holds, where that is whole numbers beside floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// How large the blocks of both factors are that have a scale each: numbers along K, and columns of `B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Type of `C`: of the first matrix that is written, where a body has several outputs. Where none is written, and there is no `C`,
    /// the type that it has by default.
    pub output: Dtype,
    /// How the factors lie.
    pub layout: Layout,
    /// What is applied to each accumulated element before it is stored.
    pub epilogue: Epilogue,
    /// What is computed from that and other operands; without it, it is the one output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<Body>>,
    /// Columns of `C`, when known at compile time: launches are held to them, kernels take any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_n: Option<u32>,
    /// The reduced dimension, the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_k: Option<u32>,
}

impl Problem {
    /// A matrix product of `input` elements, giving `input` elements, of 8-bit floats bf16, and of whole numbers f32.
    pub fn new(input: Dtype, layout: Layout, epilogue: Epilogue) -> Self {
        let output = outputs(input).first().copied().unwrap_or(input);
        Problem {
            input,
            second: None,
            weights: None,
            block: None,
            output,
            layout,
            epilogue,
            body: None,
            known_n: None,
            known_k: None,
        }
    }

    /// The type of `B`.
    pub fn of_b(&self) -> Dtype {
        self.second.or(self.weights.map(|weights| weights.dtype)).unwrap_or(self.input)
    }

    /// Which products a launch computes.
    pub fn many(&self) -> Many {
        self.body.as_deref().map_or(Many::One, Body::many)
    }

    /// The class whose tuned entries serve this problem.
    pub fn class(&self) -> Class {
        let Problem { input, second, weights, block, output, layout, .. } = *self;
        let (epilogue, body) = (self.epilogue.class(), self.body.as_deref().map(Body::class));
        Class { epilogue, input, second, weights, block, output, layout, body }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { input, output, layout, epilogue, .. } = self;
        write!(f, "matmul {layout} {input}")?;
        if let Some(second) = self.second {
            write!(f, " · {second}")?;
        }
        if let Some(weights) = self.weights {
            write!(f, " · {weights}")?;
        }
        if let Some(block) = self.block {
            write!(f, " in blocks of {block}")?;
        }
        match &self.body {
            Some(body) => write!(f, ", {body}")?,
            None => write!(f, " -> {output}, epilogue {epilogue}")?,
        }
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
    /// The epilogue, whatever the values of its parameters: `leaky_relu`.
    pub epilogue: EpilogueClass,
    /// Type of `A`, and without `second` and `weights` of `B`.
    pub input: Dtype,
    /// Type of `B`, where it is the other one of the two floats of 8 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Dtype>,
    /// What `B` holds, where that is whole numbers beside floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// How large the blocks of both factors are that have a scale each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Type of `C`.
    pub output: Dtype,
    /// How the factors lie.
    pub layout: Layout,
    /// The body, by its structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyClass>,
}

impl Class {
    /// What is fused, in a word: `leaky_relu`, or `body_` with a hash of the body's structure.
    pub fn fused(&self) -> String {
        let hashed = |body| hash::short(&serde_json::to_string(body).expect("a class has only string keys"));
        self.body.as_ref().map_or_else(|| self.epilogue.to_string(), |body| format!("body_{}", hashed(body)))
    }
}

impl Class {
    /// Products of the same first factor: one, or the two that a body may take.
    pub fn products(&self) -> u32 {
        self.body.as_ref().map_or(1, BodyClass::products)
    }

    /// Layouts in which its factors may lie: what is made of weights goes into registers row by row.
    pub fn layouts(&self) -> &'static [Layout] {
        if self.weights.is_some() { &[Layout::Nt] } else { Layout::of(self.input) }
    }

    /// Numbers of a group along K that has a scale of its own.
    pub fn group(&self) -> Option<u32> {
        self.weights.and_then(|weights| weights.scales).map(|scales| scales.group)
    }

    /// Whether groups along K have zero points.
    pub fn has_zeros(&self) -> bool {
        self.weights.and_then(|weights| weights.scales).is_some_and(|scales| scales.zeros)
    }

    /// The type of `B`.
    pub fn of_b(&self) -> Dtype {
        self.second.or(self.weights.map(|weights| weights.dtype)).unwrap_or(self.input)
    }

    /// Which products a launch computes.
    pub fn many(&self) -> Many {
        self.body.as_ref().map_or(Many::One, BodyClass::many)
    }

    /// Whether an index says which row of `A` each row of `C` is of.
    pub fn gathers(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.gathers.is_some())
    }

    /// Columns of `C` that a tile covers whose block stages so many columns of second factors: each product has its share
    /// of them.
    pub fn columns_of_c(&self, staged: u32) -> u32 {
        staged / self.products()
    }

    /// What each element's partner is, where elements see partners.
    pub fn partners(&self) -> Option<Columns> {
        self.body.as_ref().and_then(|body| body.partners)
    }

    /// Whether a lane can hold elements with their partners that has so many columns of `C`.
    pub fn holds_partners(&self, columns: u32) -> bool {
        self.body.as_ref().is_none_or(|body| columns.is_multiple_of(body.head()))
    }

    /// Whether it reads tables whose columns repeat along a row.
    pub fn has_repeated(&self) -> bool {
        self.body.as_ref().is_some_and(|body| !body.repeated.is_empty())
    }

    /// The output whose blocks are scaled, and what holds its scales.
    pub fn made(&self) -> Option<Made> {
        self.body.as_ref().and_then(|body| body.made)
    }

    /// Whether `C` is written: a body may reduce its rows alone.
    pub fn writes_c(&self) -> bool {
        self.body.as_ref().is_none_or(BodyClass::writes_elements)
    }

    /// Whether sums along rows are joined with the maximum that they are relative to.
    pub fn joins_rows(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.joined > 0)
    }

    /// Reductions along rows of the result.
    pub fn statistics(&self) -> u32 {
        self.body.as_ref().map_or(0, |body| body.statistics)
    }

    /// Whether each product of a batch has an operand of that number of its own.
    pub fn has_one_each(&self, operand: u8) -> bool {
        self.body.as_ref().is_some_and(|body| body.batched.contains(&operand))
    }

    /// The inputs beside the factors, with their numbers.
    pub fn inputs(&self) -> impl Iterator<Item = (u8, Kind, Dtype)> + '_ {
        self.body.iter().flat_map(BodyClass::inputs)
    }

    /// Whether each product has scales of groups or blocks of its own.
    pub fn has_scales_of_each(&self) -> bool {
        let Some(BodyClass { scales, a_scales, .. }) = &self.body else { return false };
        scales.iter().chain(a_scales).any(|scales| self.has_one_each(*scales))
    }

    /// Registers that what is fused needs beside the accumulators.
    pub fn body_registers(&self) -> u32 {
        self.body.as_ref().map_or(0, BodyClass::registers)
    }

    /// What is written, and its types; scales that the kernel makes apart.
    pub fn outputs(&self) -> impl Iterator<Item = (Kind, Dtype)> + '_ {
        let plain = if self.body.is_none() { Some((Kind::Matrix, self.output)) } else { None };
        plain.into_iter().chain(self.body.iter().flat_map(BodyClass::outputs))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Class { input, output, layout, .. } = self;
        let fused = if self.body.is_some() { "" } else { "epilogue " };
        write!(f, "matmul {layout} {input}")?;
        if let Some(second) = self.second {
            write!(f, " · {second}")?;
        }
        if let Some(weights) = self.weights {
            write!(f, " · {weights}")?;
        }
        if let Some(block) = self.block {
            write!(f, " in blocks of {block}")?;
        }
        write!(f, " -> {output}, {fused}{}", self.fused())
    }
}
