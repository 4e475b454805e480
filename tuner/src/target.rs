//! What is tuned.

use std::fmt;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::matmul::{flops, ordered};
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use autokernel_runtime::roofline::Work;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// One problem, at one shape, for one arch: what a search finds the fastest schedule of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// What is computed.
    pub problem: Problem,
    /// For which target of nvcc.
    pub arch: Arch,
    /// At which shape.
    #[serde(deserialize_with = "of_product")]
    pub shape: Extents,
}

/// Extents of a matrix product as a file has them, in whatever order.
///
/// # Errors
/// They are those of another operation.
pub fn of_product<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Extents, D::Error> {
    let extents = Extents::deserialize(deserializer)?;
    ordered(&extents).ok_or_else(|| D::Error::custom(format!("a matrix product has m, n and k, not {extents:?}")))
}

impl Target {
    /// The rate of a launch that takes `median_ms`, in 10¹² operations a second: `2·m·n·k` over the time.
    pub fn tflops(&self, median_ms: f64) -> f64 {
        flops(&self.shape) / (median_ms * 1e9)
    }

    /// The operations and the least memory traffic of a launch.
    pub fn work(&self) -> Work {
        let Problem { input, output, .. } = self.problem;
        autokernel_runtime::matmul::work(&self.shape, input, output)
    }

    /// A word for file names and the history: `matmul_leaky_relu_bf16_bf16_nt_4096x4096x4096`.
    pub fn slug(&self) -> String {
        format!("{}_{}", self.problem.class().slug(), self.shape)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {} · {}", self.problem, self.shape, self.arch)
    }
}
