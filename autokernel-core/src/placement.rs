//! How the tiles of a launch fall onto a GPU's SMs.

use serde::{Deserialize, Serialize};

use crate::{Extents, Grid};

/// How the tiles of a launch fall onto a GPU's SMs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Tiles of the output, those that fill up a cluster included.
    pub tiles: u64,
    /// Tiles that are under way at once.
    pub slots: u64,
    /// `tiles / slots`: 1.1 has a long tail, 2.0 none.
    pub waves: f64,
    /// Slots of the last wave that have a tile, in percent: 100 is no tail.
    pub tail_pct: f64,
    /// Of all slots over all waves those that have a tile, in percent: what the tail alone leaves of the peak.
    pub utilization_pct: f64,
}

impl Placement {
    /// How the tiles of `grid` at `extents` fall on `sm_count` SMs that hold `blocks_per_sm` blocks each. A persistent
    /// grid says itself how many an SM holds.
    pub fn new(grid: &Grid, extents: &Extents, sm_count: u32, blocks_per_sm: u32) -> Self {
        Self::of_held(grid, extents, sm_count, grid.residency.blocks_per_sm().unwrap_or(blocks_per_sm))
    }

    /// The same where an SM holds `blocks_per_sm`, whatever a persistent grid asks for.
    pub fn of_held(grid: &Grid, extents: &Extents, sm_count: u32, blocks_per_sm: u32) -> Self {
        let tiles_per_cluster = u64::from(grid.tiles.max(1));
        let tiles = grid.clusters(extents) * tiles_per_cluster;
        let clusters_at_once = u64::from(sm_count / grid.cluster.max(1)) * u64::from(blocks_per_sm);
        let slots = (clusters_at_once * tiles_per_cluster).max(1);
        let last = match tiles % slots {
            0 => slots,
            rest => rest,
        };
        let rounds = tiles.div_ceil(slots).max(1);
        Placement {
            tiles,
            slots,
            waves: tiles as f64 / slots as f64,
            tail_pct: 100.0 * last as f64 / slots as f64,
            utilization_pct: 100.0 * tiles as f64 / (rounds * slots) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Residency, dim, plan::Axis};

    fn extents(m: u32, n: u32) -> Extents {
        Extents::new([(dim("m"), m), (dim("n"), n)])
    }

    /// Tiles of that size, in clusters of `cluster` of them.
    fn persistent(tile: (u32, u32), cluster: (u32, u32)) -> Grid {
        let blocks = cluster.0 * cluster.1;
        Grid {
            axes: vec![Axis { dim: 0, step: tile.0 * cluster.0 }, Axis { dim: 1, step: tile.1 * cluster.1 }],
            cluster: blocks,
            tiles: blocks,
            residency: Residency::Persistent { blocks_per_sm: 1 },
            split: None,
        }
    }

    fn resident(tile: (u32, u32)) -> Grid {
        Grid { residency: Residency::OneEach, ..persistent(tile, (1, 1)) }
    }

    #[test]
    fn tiles_fall_on_the_sms_in_waves_with_a_tail() {
        let found = Placement::new(&persistent((128, 256), (2, 1)), &extents(4096, 4096), 132, 1);
        assert_eq!((found.tiles, found.slots), (512, 132));
        assert!((found.waves - 3.8788).abs() < 1e-4);
        // 512 = 3 * 132 + 116.
        assert!((found.tail_pct - 100.0 * 116.0 / 132.0).abs() < 1e-9);
        assert!((found.utilization_pct - 100.0 * 512.0 / 528.0).abs() < 1e-9);

        let found = Placement::new(&resident((128, 128)), &extents(4096, 4096), 108, 2);
        assert_eq!((found.tiles, found.slots), (1024, 216));
        let even = Placement::new(&resident((128, 128)), &extents(1024, 2048), 64, 2);
        assert_eq!((even.waves, even.tail_pct, even.utilization_pct), (1.0, 100.0, 100.0));
    }

    #[test]
    fn clusters_fill_up_what_is_left_of_them_and_leave_an_odd_sm_idle() {
        let ragged = Placement::new(&persistent((128, 128), (2, 1)), &extents(300, 300), 133, 1);
        assert_eq!((ragged.tiles, ragged.slots), (4 * 3, 132));
    }

    #[test]
    fn the_blocks_that_share_a_tile_take_a_slot_together() {
        let split = Grid { cluster: 4, ..resident((128, 128)) };
        let found = Placement::new(&split, &extents(128, 4096), 132, 1);
        assert_eq!((found.tiles, found.slots), (32, 33));
    }

    #[test]
    fn nothing_to_compute_is_no_division_by_zero() {
        let none = Placement::new(&resident((128, 128)), &extents(0, 0), 0, 0);
        assert!(none.waves == 0.0 && none.utilization_pct == 0.0);
    }
}
