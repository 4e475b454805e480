//! What a search makes small.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a search makes small.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The time of a launch.
    #[default]
    Time,
    /// The energy that the whole board takes for a launch, by the counter of its driver.
    Energy,
}

impl Objective {
    /// Whether it is what all trials of earlier versions were made by.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub const fn is_time(&self) -> bool {
        matches!(self, Objective::Time)
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Objective::Time => "time",
            Objective::Energy => "energy",
        })
    }
}
