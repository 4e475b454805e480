//! Stream K: which k-blocks of which tiles a cluster takes. `ShareWalk` in sm90_shares.cuh is the same arithmetic.

/// Fewer k-blocks are not worth an exchange of sums.
const LEAST_SHARE: u64 = 4;

/// The tiles of the last waves, laid end to end and divided evenly among clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Clusters that walk over the tiles.
    pub clusters: u64,
    /// K-blocks of a tile.
    pub of_tile: u64,
    /// Tiles before the shared ones: full waves.
    pub whole_tiles: u64,
    /// Those that are shared.
    pub shared_tiles: u64,
    /// Clusters that have a share.
    pub sharers: u64,
    /// K-blocks of each share.
    pub share: u64,
    /// So many clusters, the first ones, have one more.
    pub longer: u64,
}

impl Sharing {
    /// The most waves that are shared: more would have no fewer contributors to a tile.
    pub const MOST_WAVES: u32 = 2;

    /// Of so many tiles (with clusters of several blocks, groups of them) the last `waves` waves, if the last is not full.
    pub fn new(tiles: u64, clusters: u64, of_tile: u64, waves: u32) -> Self {
        let (clusters, of_tile) = (clusters.max(1), of_tile.max(1));
        let rest = tiles % clusters;
        let wanted = match waves {
            0 => 0,
            _ if rest == 0 => 0,
            waves => tiles.min(rest + u64::from(waves - 1) * clusters),
        };
        let too_long = of_tile > i32::MAX as u64 / wanted.max(1);
        let shared_tiles = if too_long { 0 } else { wanted };
        let line = shared_tiles * of_tile;
        let sharers = clusters.min(line / LEAST_SHARE.min(of_tile)).max(1);
        let (share, longer) = (line / sharers, line % sharers);
        Sharing { clusters, of_tile, whole_tiles: tiles - shared_tiles, shared_tiles, sharers, share, longer }
    }

    /// K-blocks of the cluster that has most.
    pub fn longest(&self) -> u64 {
        self.whole_tiles.div_ceil(self.clusters) * self.of_tile + self.share + self.longer.min(1)
    }

    /// Clusters that hand on what the one that finishes a tile adds, where there are most of them.
    pub fn contributors(&self) -> u64 {
        if self.shared_tiles == 0 { 0 } else { self.of_tile.div_ceil(self.share.max(1)) }
    }
}

#[cfg(test)]
#[path = "sharing_tests.rs"]
mod tests;
