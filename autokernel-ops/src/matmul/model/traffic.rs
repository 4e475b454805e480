//! What the blocks of a launch ask L2 for.

use super::copies::Copies;
use super::instruction::Instruction;
use super::{Model, Traits};

/// Of what both SMs of a TPC load at once, the share that each asks for.
const OF_A_PAIR: f64 = 0.5;
/// What rows past an edge cost the family that loads without TMA, over rows that are there. An estimate.
const CP_ASYNC_PADDING: f64 = 1.0;

impl Model {
    /// Rows of A and columns of B that a block asks for in a stage: counted as if all were there and began at a line.
    ///
    /// The blocks of a cluster load a share each. Neighbouring blocks of others run on the two SMs of a TPC and load the
    /// same columns of B where there are several tiles along M, else the same rows of A; these cross to the TPC once. The
    /// blocks that share a sum load different parts of K, and nothing in common.
    pub(super) fn requested(&self, image: &Traits, [m, n, _]: [u32; 3], copies: &Copies) -> f64 {
        let geometry = &image.geometry;
        let columns = n.saturating_mul(geometry.tile_n / geometry.columns);
        let alone = geometry.cluster_m * geometry.cluster_n * geometry.split_k > 1;
        let (of_a, of_b) = match (alone, m > geometry.tile_m) {
            (true, _) => (1.0 / f64::from(geometry.cluster_n), 1.0 / f64::from(geometry.cluster_m)),
            (false, true) => (1.0, OF_A_PAIR),
            (false, false) => (OF_A_PAIR, 1.0),
        };
        let rows = self.of_tile(geometry.tile_m, m, copies.a_is_lined);
        let columns = self.of_tile(geometry.tile_n, columns, copies.b_is_lined);
        let padding = self.padding(image)
            * (rows.padded / f64::from(geometry.cluster_n) + columns.padded / f64::from(geometry.cluster_m));
        of_a * rows.there + of_b * columns.there + padding
    }

    /// The rows of a tile of an operand that has `extent` of them, in the mean over its tiles. `is_lined`: they begin at lines.
    fn of_tile(&self, tile: u32, extent: u32, is_lined: bool) -> Rows {
        let there = f64::from(extent) / f64::from(extent.div_ceil(tile).max(1));
        let straddling = if is_lined { 1.0 } else { self.constants.straddling };
        Rows { there: straddling * there, padded: f64::from(tile) - there }
    }

    /// What a row past an edge costs: TMA fills it in, which takes its time of what all SMs share, whoever asks for the same.
    fn padding(&self, image: &Traits) -> f64 {
        match image.instruction {
            Instruction::Wgmma => self.constants.padding,
            Instruction::MmaSync => CP_ASYNC_PADDING,
        }
    }
}

/// Rows of a tile.
struct Rows {
    /// Those that are there, more where they straddle lines.
    there: f64,
    /// Those past the edge.
    padded: f64,
}
