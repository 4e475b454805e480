//! What is tuned.

use std::fmt;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::{OtherDims, Problem, ProblemClass};
use autokernel_core::Extents;
use autokernel_runtime::roofline::Work;
use serde::{Deserialize, Serialize};

/// One problem, at one shape, for one arch: what a search finds the fastest schedule of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Target {
    /// What is computed.
    pub problem: Problem,
    /// For which target of nvcc.
    pub arch: Arch,
    /// At which shape.
    pub shape: Extents,
}

/// A target as written, its extents in whatever order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    problem: Problem,
    arch: Arch,
    shape: Extents,
}

impl TryFrom<Written> for Target {
    type Error = OtherDims;

    fn try_from(Written { problem, arch, shape }: Written) -> Result<Self, OtherDims> {
        let shape = problem.class().ordered(&shape)?;
        Ok(Target { problem, arch, shape })
    }
}

impl Target {
    /// The rate of a launch that takes `median_ms`, in 10¹² operations a second.
    pub fn tflops(&self, median_ms: f64) -> f64 {
        self.work().tflops(median_ms)
    }

    /// The operations and the least memory traffic of a launch.
    pub fn work(&self) -> Work {
        work(&self.problem.class(), &self.shape)
    }

    /// The type that it multiplies, by which the matrix units' peak is known; of what multiplies nothing, the type of its first input.
    pub fn input(&self) -> Option<Dtype> {
        let first = || self.problem.signature().inputs().map(|operand| operand.dtype).next();
        self.problem.class().multiplies().or_else(first)
    }

    /// A word for file names and the history: `matmul_leaky_relu_bf16_bf16_nt_4096x4096x4096`.
    pub fn slug(&self) -> String {
        format!("{}_{}", self.problem.class().slug(), self.shape)
    }
}

/// The operations and the least memory traffic of a launch of `class` at `extents`.
pub fn work(class: &ProblemClass, extents: &Extents) -> Work {
    let work = class.work(extents);
    Work { flops: work.operations, bytes: work.bytes() }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {} · {}", self.problem, self.shape, self.arch)
    }
}
