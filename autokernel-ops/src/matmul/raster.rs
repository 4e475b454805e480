//! The order in which output tiles are visited (`raster.cuh`). Set at launch: changing it compiles nothing.

use std::fmt;

use crate::knob::{At, Knob, KnobValue, choices};
use crate::rule::RuleText;
use crate::search::Search;

choices! {
    /// The axis along which consecutive tiles lie.
    RasterOrder {
        /// Neighbours differ in M first: they share a column block of `B`.
        AlongM = "along_m",
        /// Neighbours differ in N first: they share a row block of `A`.
        AlongN = "along_n",
    }
}

/// The order of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Raster {
    /// The axis along which consecutive tiles lie.
    pub order: RasterOrder,
    /// Tiles (with clusters: clusters) of that axis that are visited before the other axis moves on.
    pub group: u32,
}

/// Any raster suits any image: it never has to follow one.
const SEARCH: Search = Search { reluctance: 256, is_variant: true, ..Search::PLAIN };

impl fmt::Display for Raster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.order.name(), self.group)
    }
}

impl Raster {
    /// The raster that stands for all: schedules that differ in it alone share an image.
    pub const PLAIN: Raster = Raster { order: RasterOrder::AlongM, group: 1 };

    /// The widest group: wider than any grid of tiles that fits the L2 cache has use for.
    pub const MAX_GROUP: u32 = 1024;

    /// The knobs of a raster, which every family has last.
    pub const KNOBS: [Knob; 2] = [
        Knob {
            name: "raster_order",
            path_v1: "raster.order",
            at: At::Launch,
            kind: RasterOrder::KIND,
            absent: None,
            told_by: None,
            meaning: &["The axis along which consecutive tiles lie."],
            legal: "`along_m`, `along_n`",
            advice: "Share the operand whose tiles are larger in bytes.",
            search: Search { pairs: &["raster_group"], ..SEARCH },
        },
        Knob {
            name: "raster_group",
            path_v1: "raster.group",
            at: At::Launch,
            kind: u32::KIND,
            absent: None,
            told_by: None,
            meaning: &["Tiles (with clusters: clusters) of that axis that are visited before the other axis moves on."],
            legal: "1 … 1024",
            advice: "Decides what stays in L2; matters most when A and B exceed it. A good start is \
                     sqrt(SMs * tile_n / tile_m). Costs no compile.",
            search: SEARCH,
        },
    ];

    /// The rule of a raster, which every family has last.
    pub const RULE: RuleText = RuleText { name: "raster_group_in_range", words: "raster_group is 1 to 1024" };

    /// Where tile number `linear` lies along M and N of a grid of so many tiles: `tile_coord` in raster.cuh.
    pub fn tile(self, linear: u64, [tiles_m, tiles_n]: [u32; 2]) -> [u32; 2] {
        let along_m = self.order == RasterOrder::AlongM;
        let (fast_tiles, slow_tiles) = if along_m { (tiles_m, tiles_n) } else { (tiles_n, tiles_m) };
        let group = u64::from(self.group.min(fast_tiles).max(1));
        let tiles_per_group = group * u64::from(slow_tiles.max(1));
        let first_fast = linear / tiles_per_group * group;
        let group_size = group.min(u64::from(fast_tiles).saturating_sub(first_fast)).max(1);
        let within = linear % tiles_per_group;
        let (fast, slow) = ((first_fast + within % group_size) as u32, (within / group_size) as u32);
        if along_m { [fast, slow] } else { [slow, fast] }
    }

    /// Whether a raster keeps the rule.
    pub fn is_valid(self) -> bool {
        (1..=Raster::MAX_GROUP).contains(&self.group)
    }

    /// What is wrong with one that does not.
    pub fn reason(self) -> String {
        format!("raster_group = {} is not in 1..={}", self.group, Raster::MAX_GROUP)
    }
}
