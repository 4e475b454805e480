//! How many blocks a kernel is launched with.

use serde::{Deserialize, Serialize};

use crate::Extents;

/// The blocks of a kernel: clusters that divide some dimensions between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The dimensions that are divided; there is a cluster for each combination of their parts.
    pub axes: Vec<Axis>,
    /// Blocks of a cluster; 1 without clusters.
    pub cluster: u32,
    /// Tiles of the output that a cluster has in work at once: one for each block, or fewer where blocks share one.
    pub tiles: u32,
    /// Whether each cluster does one part, or walks over many.
    pub residency: Residency,
    /// Where a launch says how many blocks share a tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// Blocks of a cluster that share a tile, as many as a launch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The field of the kernel's parameter that holds their number: a knob.
    pub field: u8,
    /// How long a cluster lives where no tile is shared.
    pub whole: Residency,
}

/// A dimension that clusters divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The dimension's number in the signature.
    pub dim: u8,
    /// Elements of it that a cluster covers.
    pub step: u32,
}

/// How long a cluster lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// For one part: there is a cluster for each.
    OneEach,
    /// For the whole launch: as many clusters as the GPU holds at once walk over the parts.
    Persistent {
        /// Blocks that one SM is given.
        blocks_per_sm: u32,
    },
    /// The same, also where there are fewer parts than that, as clusters share some.
    Sharing {
        /// Blocks that one SM is given.
        blocks_per_sm: u32,
    },
}

impl Residency {
    /// Blocks that one SM is given for the whole launch; none where each is there for one part.
    pub const fn blocks_per_sm(self) -> Option<u32> {
        match self {
            Residency::OneEach => None,
            Residency::Persistent { blocks_per_sm } | Residency::Sharing { blocks_per_sm } => Some(blocks_per_sm),
        }
    }
}

impl Grid {
    /// Parts along one of the axes; 0 for an axis that is not there.
    pub fn parts(&self, axis: u8, extents: &Extents) -> u32 {
        self.axes.get(usize::from(axis)).map_or(0, |axis| extents.size(axis.dim).div_ceil(axis.step.max(1)))
    }

    /// Whether argument `number` says how many blocks share a tile.
    pub fn says_split(&self, number: usize) -> bool {
        self.split.is_some_and(|split| usize::from(split.field) == number)
    }

    /// The same where a launch has so many blocks share a tile; itself where launches do not say that. A cluster whose blocks share
    /// one is there for it alone.
    pub fn split_into(&self, blocks: u32) -> Grid {
        let (cluster, residency) = self.cluster_split_into(Some(blocks));
        Grid { cluster, residency, ..self.clone() }
    }

    /// Blocks of a cluster, and how long it lives, where a launch has so many blocks share a tile, or says nothing of it.
    pub fn cluster_split_into(&self, blocks: Option<u32>) -> (u32, Residency) {
        match (self.split, blocks) {
            (Some(Split { whole, .. }), Some(0 | 1)) => (self.tiles, whole),
            (Some(_), Some(blocks)) => (self.tiles.saturating_mul(blocks), Residency::OneEach),
            _ => (self.cluster, self.residency),
        }
    }

    /// Parts in all, as many as there would be clusters if each did one.
    pub fn clusters(&self, extents: &Extents) -> u64 {
        let parts = self.axes.iter().map(|axis| u64::from(extents.size(axis.dim).div_ceil(axis.step.max(1))));
        parts.fold(1, u64::saturating_mul)
    }

    /// Blocks of a launch on a GPU of `sm_count` SMs: whole clusters.
    pub fn blocks(&self, extents: &Extents, sm_count: u32) -> u64 {
        self.blocks_split_into(None, extents, sm_count)
    }

    /// The same where a launch has so many blocks share a tile, or says nothing of it.
    pub fn blocks_split_into(&self, blocks: Option<u32>, extents: &Extents, sm_count: u32) -> u64 {
        let (cluster, residency) = self.cluster_split_into(blocks);
        let cluster = u64::from(cluster.max(1));
        let clusters = self.clusters(extents);
        let at_once = |blocks_per_sm| (u64::from(sm_count) * u64::from(blocks_per_sm) / cluster).max(1);
        let launched = match residency {
            Residency::OneEach => clusters,
            Residency::Persistent { blocks_per_sm } => clusters.min(at_once(blocks_per_sm)),
            Residency::Sharing { .. } if clusters == 0 => 0,
            Residency::Sharing { blocks_per_sm } => at_once(blocks_per_sm),
        };
        launched.saturating_mul(cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim;

    fn extents(m: u32, n: u32) -> Extents {
        Extents::new([(dim("m"), m), (dim("n"), n)])
    }

    fn grid(step: (u32, u32), cluster: u32, residency: Residency) -> Grid {
        let axes = vec![Axis { dim: 0, step: step.0 }, Axis { dim: 1, step: step.1 }];
        Grid { axes, cluster, tiles: cluster, residency, split: None }
    }

    #[test]
    fn a_persistent_grid_fills_the_gpu_with_whole_clusters_and_no_more() {
        let persistent = Residency::Persistent { blocks_per_sm: 1 };
        let single = grid((128, 256), 1, persistent);
        assert_eq!(single.blocks(&extents(8192, 8192), 132), 132);
        assert_eq!(single.blocks(&extents(1, 1), 132), 1);
        let paired = grid((256, 256), 2, persistent);
        assert_eq!(paired.blocks(&extents(1, 1), 132), 2);
        assert_eq!(paired.blocks(&extents(8192, 8192), 133), 132);
        assert_eq!(paired.blocks(&extents(300, 300), 132), 2 * 2 * 2);
    }

    #[test]
    fn a_grid_of_one_each_has_a_cluster_for_each_part() {
        let split = grid((128, 256), 4, Residency::OneEach);
        assert_eq!(split.blocks(&extents(1, 1), 132), 4);
        assert_eq!(split.blocks(&extents(8192, 8192), 132), 4 * 64 * 32);
        assert_eq!(
            (split.parts(0, &extents(129, 1)), split.parts(1, &extents(129, 1)), split.parts(7, &extents(1, 1))),
            (2, 1, 0)
        );
    }

    #[test]
    fn a_grid_whose_clusters_share_parts_fills_the_gpu_however_few_there_are() {
        let shared = grid((128, 256), 2, Residency::Sharing { blocks_per_sm: 1 });
        for (m, n) in [(1, 1), (300, 300), (8192, 8192)] {
            assert_eq!(shared.blocks(&extents(m, n), 133), 132);
        }
        assert_eq!(shared.blocks(&extents(0, 5), 132), 0);
        assert_eq!(shared.blocks(&extents(1, 1), 1), 2);
    }

    #[test]
    fn a_launch_that_splits_tiles_has_a_cluster_for_each_and_one_that_does_not_fills_the_gpu() {
        let whole = Residency::Persistent { blocks_per_sm: 1 };
        let grid = Grid { split: Some(Split { field: 3, whole }), ..grid((64, 64), 1, whole) };
        let blocks = |split, m| grid.split_into(split).blocks(&extents(m, 64), 132);
        assert_eq!([1, 2, 3, 7].map(|split| blocks(split, 640)), [10, 20, 30, 70]);
        assert_eq!((blocks(1, 64 * 200), blocks(3, 64 * 200), blocks(0, 64)), (132, 600, 1));
        assert_eq!(grid.split_into(4).split_into(1), grid);
        assert_eq!(Grid { split: None, ..grid.clone() }.split_into(4).cluster, 1);
    }

    #[test]
    fn no_number_of_blocks_overflows() {
        let tiny = grid((1, 1), u32::MAX, Residency::OneEach);
        assert_eq!(tiny.blocks(&extents(u32::MAX, u32::MAX), 132), u64::MAX);
    }
}
