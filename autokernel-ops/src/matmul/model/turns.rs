//! How the tiles of a launch fall on the SMs.

use autokernel_core::{Extents, Placement};

use super::{Machine, Traits};
use crate::matmul::extents::sizes;
use crate::matmul::sm90::Sharing;

/// Share of the SMs that clusters of four reach, which do not span GPCs; and those of eight.
const REACHED_BY_4: f64 = 0.93;
const REACHED_BY_8: f64 = 0.87;

/// How the tiles fall on the SMs.
pub(super) struct Turns {
    /// Tiles, or shares of tiles, that the busiest SM computes.
    pub longest: f64,
    /// Blocks that have work at once.
    pub active: f64,
    /// Of them, those of the busiest SM.
    pub resident: f64,
    /// Clusters whose sums another one adds to its own, for a tile.
    pub contributors: f64,
}

impl Turns {
    pub fn new(image: &Traits, extents: &Extents, machine: &Machine, shared_waves: u32) -> Self {
        let geometry = &image.geometry;
        let reached = match image.blocks_of_cluster() {
            1 | 2 => 1.0,
            3 | 4 => REACHED_BY_4,
            _ => REACHED_BY_8,
        };
        let sms = (f64::from(machine.sm_count) * reached).max(1.0) as u32;
        let blocks_per_sm = image.blocks_per_sm(machine.capability);
        let Placement { tiles, slots, .. } = Placement::of_held(&image.grid, extents, sms, blocks_per_sm);
        let blocks_of = |tiles: u64| (tiles * u64::from(geometry.split_k)) as f64;
        // An SM works on its resident blocks together, so a full wave of them takes as many turns.
        let held = f64::from(blocks_per_sm);

        let of_cluster = u64::from(image.grid.tiles.max(1));
        let [.., k] = sizes(extents);
        let of_tile = u64::from(k.div_ceil(geometry.tile_k));
        let sharing = Sharing::new(tiles / of_cluster, slots / of_cluster, of_tile, shared_waves);
        if sharing.shared_tiles > 0 {
            return Turns {
                longest: sharing.longest() as f64 / sharing.of_tile as f64,
                active: blocks_of(sharing.sharers * of_cluster),
                resident: held,
                contributors: sharing.contributors() as f64,
            };
        }
        let full_waves = tiles.div_ceil(slots).saturating_sub(1);
        let last = (blocks_of(tiles - full_waves * slots) / f64::from(sms)).ceil();
        Turns {
            longest: full_waves as f64 * held + last,
            active: blocks_of(tiles.min(slots)).max(1.0),
            resident: if full_waves == 0 { last.clamp(1.0, held) } else { held },
            contributors: 0.0,
        }
    }
}
