//! What the blocks of a launch ask L2 for.

use super::copies::{Begins, Copies};
use super::instruction::Instruction;
use super::load::Load;
use super::{Model, Traits};

/// Of what both SMs of a TPC load at once, the share that each asks for.
const OF_A_PAIR: f64 = 0.5;
/// What rows past an edge cost the family that loads without TMA, over rows that are there. An estimate.
const CP_ASYNC_PADDING: f64 = 1.0;
/// Requests of a box of 128 bytes whose rows lie across K and straddle lines: of rows of 2000 bytes seven of eight ask for
/// two lines, of 8608 three of four. At 33 drawn shapes of such rows an H200 takes what these come to, with no pair's share
/// (`docs/results/drawn-h200/straddling-drawn.txt.gz`).
const STRADDLING_ACROSS_K: f64 = 2.2;
/// The same of rows along K that begin between sectors: at 18 drawn products and 110 batches, of which 50 have such rows, an H200 takes what
/// these come to with no pair's share, and blocks of a cluster, which load half each, lead (`straddling-drawn.txt.gz`,
/// `docs/results/batches-h200/candidates.txt.gz`).
const PARTS_OF_SECTORS: f64 = 2.1;
/// What loads take over that where rows of both operands straddle and no cluster shares them, at single products: boxes of both then ask for
/// lines that boxes before and behind them ask for too.
const BOTH_STRADDLE: f64 = 1.1;

impl Model {
    /// Bytes of A's rows and B's columns, an element along K, that a block asks for in a stage: as of so many of those that are there and begin
    /// at a line.
    ///
    /// The blocks of a cluster load a share each. Neighbouring blocks of others run on the two SMs of a TPC and load the
    /// same columns of B where there are several tiles along M, else the same rows of A; these cross to the TPC once, but
    /// for rows across K that straddle lines. The blocks that share a sum load different parts of K, and nothing in common.
    pub(super) fn requested(&self, image: &Traits, load: &Load, copies: &Copies) -> f64 {
        let (geometry, [m, n, _]) = (&image.geometry, load.sizes);
        let columns = n.saturating_mul(geometry.tile_n / geometry.columns);
        let alone = image.blocks_of_cluster() > 1;
        let rows_there = if load.next_rows_follow { m.next_multiple_of(geometry.tile_m) } else { m };
        let rows = self.of_tile(geometry.tile_m, rows_there, self.line(copies.a_begins, image.a_is_row_major));
        let columns = self.of_tile(geometry.tile_n, columns, self.line(copies.b_begins, !image.b_is_row_major));
        let of_pair = |is_shared: bool| if is_shared && !alone { OF_A_PAIR } else { 1.0 };
        let has_rows_of_tiles = m > geometry.tile_m;
        let of_a = of_pair(rows.is_shared && !has_rows_of_tiles) / f64::from(geometry.cluster_n);
        let of_b = of_pair(columns.is_shared && has_rows_of_tiles) / f64::from(geometry.cluster_m);
        let padded = self.padding(image);
        let of_a = of_a * rows.there + padded * rows.padded / f64::from(geometry.cluster_n);
        let of_b = of_b * columns.there + padded * columns.padded / f64::from(geometry.cluster_m);
        let both = copies.a_begins != Begins::AtLines && copies.b_begins != Begins::AtLines;
        let is_known = image.instruction == Instruction::Wgmma && !load.is_of_many();
        let crossing = if both && is_known && !alone { BOTH_STRADDLE } else { 1.0 };
        crossing * (of_a * image.input_bytes + of_b * image.weight_bytes)
    }

    /// The rows of a tile of an operand that has `extent` of them, in the mean over its tiles.
    fn of_tile(&self, tile: u32, extent: u32, line: Line) -> Rows {
        let there = f64::from(extent) / f64::from(extent.div_ceil(tile).max(1));
        Rows { there: line.requests * there, padded: f64::from(tile) - there, is_shared: line.is_shared }
    }

    /// What loading 128 bytes of an operand asks for, whose rows lie along K or across it.
    fn line(&self, begins: Begins, is_along_k: bool) -> Line {
        match (begins, is_along_k) {
            (Begins::AtLines, _) => Line { requests: 1.0, is_shared: true },
            (Begins::AtSectors, true) => Line { requests: self.constants.straddling, is_shared: true },
            (Begins::Anywhere, true) => Line { requests: PARTS_OF_SECTORS, is_shared: false },
            (_, false) => Line { requests: STRADDLING_ACROSS_K, is_shared: false },
        }
    }

    /// What a row past an edge costs: TMA fills it in, which takes its time of what all SMs share, whoever asks for the same.
    fn padding(&self, image: &Traits) -> f64 {
        match image.instruction {
            Instruction::Wgmma => self.constants.padding,
            Instruction::MmaSync => CP_ASYNC_PADDING,
        }
    }
}

/// A line of an operand, as it is asked for.
struct Line {
    /// Requests, of which one serves where rows begin at cache lines.
    requests: f64,
    /// Whether the two SMs of a TPC ask once for what both load.
    is_shared: bool,
}

/// Rows of a tile.
struct Rows {
    /// Those that are there, more where they straddle lines.
    there: f64,
    /// Those past the edge.
    padded: f64,
    is_shared: bool,
}
