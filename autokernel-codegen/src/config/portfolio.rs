//! The few images that every kernel carries beside its tuned entries, and the constants of the model that chooses among
//! them.

use autokernel_core::{Arch, check_between};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::matmul::model::Constants;
use crate::problem::{Layout, Problem, ProblemClass};
use crate::schedule::Schedule;

/// Images for every kernel of a layout, whatever its epilogue: those that together leave the least to be gained over
/// drawn shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Portfolio {
    /// The operation.
    pub operation: Operation,
    /// Layout of `B`.
    pub layout: Layout,
    /// Bytes of an element of `A` and `B`.
    pub element_bytes: u32,
    /// For which target.
    pub arch: Arch,
    /// The images, most useful first.
    #[serde(deserialize_with = "some_images")]
    pub images: Vec<PortfolioImage>,
    /// What the model that chooses among them was fitted to.
    #[serde(deserialize_with = "plausible_constants")]
    pub model: Constants,
    /// Where the choice comes from.
    pub provenance: PortfolioProvenance,
}

/// The operations that have portfolios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PortfolioOperation"))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Matrix products.
    Matmul,
}

/// An image of a portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PortfolioImage {
    /// The schedule that stands for it; the model chooses its knobs that are set at launch.
    pub schedule: Schedule,
    /// Measured over predicted time in the geometric mean: what the constants do not tell of this image.
    #[serde(deserialize_with = "plausible_factor")]
    pub measured_over_predicted: f64,
}

/// How a portfolio was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PortfolioProvenance {
    /// The GPUs that the recordings are of.
    pub gpus: Vec<String>,
    /// Hashes of the CUDA files that the kernels of the recordings were made of.
    pub sources: String,
    /// The day of the choice, `YYYY-MM-DD`.
    pub date: String,
    /// The command that chose, with its recordings.
    pub command: String,
    /// Shapes that it was chosen over.
    pub shapes: u32,
    /// By how much the best image of the portfolio is slower than the best that was tried, in the geometric mean, in
    /// percent.
    pub left_pct: f64,
    /// The same at the worst shape.
    pub left_at_worst_pct: f64,
    /// By how much the image that the model chooses is slower than the best that was tried, at shapes that its fit did
    /// not see, in the geometric mean, in percent.
    pub regret_pct: f64,
    /// Root mean square of the model's relative error at such shapes, near the fastest schedules, in percent.
    pub model_error_pct: f64,
}

/// Measured over predicted time of an image that nobody measured.
pub(crate) const AS_PREDICTED: f64 = 1.0;

fn some_images<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PortfolioImage>, D::Error> {
    let images = Vec::<PortfolioImage>::deserialize(deserializer)?;
    if images.is_empty() {
        return Err(D::Error::custom("a portfolio without images serves nothing; leave it out"));
    }
    Ok(images)
}

fn plausible_constants<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Constants, D::Error> {
    let constants = Constants::deserialize(deserializer)?;
    constants.check().map_err(|implausible| D::Error::custom(format!("no fit finds that: {implausible}")))?;
    Ok(constants)
}

/// An image that is predicted a hundredfold too fast or too slow is chosen always or never.
fn plausible_factor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let factor = f64::deserialize(deserializer)?;
    check_between("measured_over_predicted", factor, 0.01, 100.0).map_err(D::Error::custom)?;
    Ok(factor)
}

impl Portfolio {
    /// Whether its images serve `problem` on `arch`.
    pub fn serves(&self, problem: &Problem, arch: Arch) -> bool {
        let Operation::Matmul = self.operation;
        problem.as_product().is_some_and(|product| {
            let layouts = [product.layout, product.layout.measured_as()];
            layouts.contains(&self.layout) && (product.input.bytes(), arch) == (self.element_bytes, self.arch)
        })
    }

    /// The images whose schedules keep the rules for `class`.
    pub fn images_for<'p>(&'p self, class: &'p ProblemClass) -> impl Iterator<Item = &'p PortfolioImage> + 'p {
        self.images.iter().filter(|image| class.check(&image.schedule, self.arch).is_ok())
    }

    /// Which portfolio it is: a file has one of a kind.
    pub(super) fn kind(&self) -> (Operation, Layout, u32, Arch) {
        (self.operation, self.layout, self.element_bytes, self.arch)
    }
}
