//! What a launch must know of a schedule.

use serde::{Deserialize, Serialize};

use super::raster::Raster;
use super::sm80::{self, Sm80Schedule};
use super::sm90::{self, Sm90Schedule};
use crate::knob::Knob;
use crate::rule::{Rule, RuleText};

/// A kernel family: one `.cuh` file and the archs it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// `sm80_matmul.cuh`: mma.sync and cp.async; sm_80 and later.
    Sm80,
    /// `sm90_matmul.cuh`: wgmma and TMA; sm_90a alone.
    Sm90,
}

impl Family {
    /// The family's name, in JSON and as the CUDA namespace.
    pub fn name(self) -> &'static str {
        match self {
            Family::Sm80 => "sm80",
            Family::Sm90 => "sm90",
        }
    }

    /// Its knobs.
    pub fn knobs(self) -> &'static [Knob] {
        match self {
            Family::Sm80 => Sm80Schedule::KNOBS,
            Family::Sm90 => Sm90Schedule::KNOBS,
        }
    }

    /// Its rules, for people.
    pub fn rules(self) -> Vec<RuleText> {
        match self {
            Family::Sm80 => sm80::RULES.iter().map(Rule::text).collect(),
            Family::Sm90 => sm90::RULES.iter().map(Rule::text).collect(),
        }
    }
}

/// The launch geometry of a compiled kernel: plain numbers, derived from its schedule and problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// The kernel family, which decides the argument struct and the grid.
    pub family: Family,
    /// Rows of `C` a tile has.
    pub tile_m: u32,
    /// Columns of `C` a tile has.
    pub tile_n: u32,
    /// Elements of K in one stage.
    pub tile_k: u32,
    /// Blocks of a cluster along M.
    pub cluster_m: u32,
    /// Blocks of a cluster along N.
    pub cluster_n: u32,
    /// Whether the tile is computed transposed, which decides how it is stored.
    pub swap_ab: bool,
    /// Blocks that share one tile's sum over K.
    pub split_k: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The order of tiles.
    pub raster: Raster,
}
