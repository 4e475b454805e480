//! A declared kernel, as the build describes it to the runtime.

use serde::{Deserialize, Serialize};

use crate::{Arch, LaunchPlan, Signature, Tuned};

/// Everything a build knows of one declared kernel, its images apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor<Image> {
    /// The declared function's name.
    pub name: String,
    /// What is computed, for people.
    pub about: String,
    /// What is computed, in the JSON of `best_config.json`: for the launch log.
    pub problem: String,
    /// What it takes.
    pub signature: Signature,
    /// The compiled schedules; those of one arch are its tuned entries and its portfolio, or its default.
    pub variants: Vec<Variant<Image>>,
    /// Of each arch whose variants have a portfolio, by what is chosen among its images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub portfolios: Vec<Portfolio>,
    /// The one arch that has kernels for it, where that is not any from `sm_80` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    /// Why there are no images, with the remedy; none where there are.
    pub not_compiled: Option<String>,
}

/// A problem that kernels of one arch alone compute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confined {
    /// The arch.
    pub arch: Arch,
    /// What no other has, as the end of a sentence.
    pub why: String,
}

/// By what is chosen among the images that serve any extents on one arch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portfolio {
    /// The target.
    pub arch: Arch,
    /// The constants of the model, in the JSON of `best_config.json`; none where they are the operation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The GPUs on which images and constants were measured, as the driver names them; none: nowhere.
    pub gpus: Vec<String>,
}

/// One compiled schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant<Image> {
    /// The target.
    pub arch: Arch,
    /// What it was tuned for; none for an image of the portfolio and for the arch's default schedule.
    pub tuned: Option<Tuned>,
    /// Measured over predicted time of an image of the portfolio, which serves any extents; none for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portfolio: Option<f64>,
    /// The schedule, for people.
    pub schedule: String,
    /// How it is launched.
    pub plan: LaunchPlan,
    /// The image; none where nothing was compiled.
    pub image: Option<Image>,
}
