//! The order in which output tiles are visited (`raster.cuh`). A run-time knob: changing it compiles nothing.

use serde::{Deserialize, Serialize};

use crate::rule::{BrokenRule, require};

/// The axis along which consecutive tiles lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RasterOrder {
    /// Neighbours differ in M first: they share a column block of `B`.
    AlongM,
    /// Neighbours differ in N first: they share a row block of `A`.
    AlongN,
}

/// The order of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Raster {
    /// The axis along which consecutive tiles lie.
    pub order: RasterOrder,
    /// Tiles (with clusters: clusters) of that axis that are visited before the other axis moves on.
    pub group: u32,
}

impl Raster {
    /// The widest group: wider than any grid of tiles that fits the L2 cache has use for.
    pub const MAX_GROUP: u32 = 1024;

    pub(super) fn check(self) -> Result<(), BrokenRule> {
        require((1..=Raster::MAX_GROUP).contains(&self.group), "raster_group_in_range", || {
            format!("raster.group = {} is not in 1..={}", self.group, Raster::MAX_GROUP)
        })
    }
}
