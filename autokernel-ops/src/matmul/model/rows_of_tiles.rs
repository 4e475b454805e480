//! What it costs that several tiles of a product, one below the other, read the same columns of B.

use super::instruction::Instruction;
use super::load::Load;
use super::traits::Traits;

/// What the memory's time is multiplied by where K is split and several rows of tiles read the same columns of B, each by clusters of
/// its own, which neither run in step nor share a TPC. In the recordings launches by a split of two took 5 to 14 % longer than predicted
/// with two rows of tiles, with one row 2 % less to 5 % more; fitted beside the constants it is 1.33 (nt) and 1.39 (nn). Of whole sums it is
/// 1.00: there neighbours ask for the same columns at once.
const SPLIT_ROWS: f64 = 1.35;

/// The same of three rows and more of tiles that are computed transposed, 256 columns wide, and sum whole. In the recordings of an H200 such
/// tiles take 4 to 9 % longer beside what is predicted than those of 128 columns, where SMs load as fast as they can; why is not known.
const WIDE_ROWS: f64 = 1.12;
const WIDE_COLUMNS: u32 = 256;

/// What a launch of one row of tiles takes of what the constants say, since lines are promoted to 128 bytes in L2, which most of the
/// recordings do not know of: nobody else reads its columns of B. Of the trials of a later build at 40 drawn shapes
/// (`drawn-bf16-nt-h200-202.json.gz` and nn) those of one row take 2 to 4 % (nt) and 6 to 7 % (nn) less than predicted, others about as
/// much.
const ONE_ROW: f64 = 0.97;

/// The same of sums that are split in eight by tiles of few rows; in two and four they take what the constants say. In all recordings of up to
/// 64 rows, near the fastest, splits of two and four take 1 to 3 % longer than whole sums beside what is predicted, splits of eight 3 to 13 %,
/// whatever their length. With that the choice is 1.7 % behind the fastest that was recorded there in place of 2.3, in the mean of 273 shapes.
/// Of taller tiles nothing of the kind is seen: at 155x1536x6144 a split of eight by 160 rows leads whole sums by 10 %.
const SPLIT_IN_8_OF_FEW_ROWS: f64 = 1.05;
const FEW_ROWS: u32 = 64;

/// What a split of K takes of what the constants say from three rows of tiles on. In recordings of both GPUs by today's kernels such launches
/// take 3 to 17 % longer than predicted with three rows and 10 to 28 % with more, and as long or less with one or two; of small products less.
const SPLIT_THREE_ROWS: f64 = 1.08;

/// How fast loads become slower as more SMs load, where three rows of tiles and more ask L2 for the same columns of B: faster than the
/// SMs become more. In the recordings launches of 116 SMs and more took 2 to 7 % longer than predicted there, of up to 100 SMs 1 to 4 %
/// less; fitted beside the constants the exponent is 1.9 (nt) and 2.7 (nn).
const CROWDING: f64 = 2.2;

/// The rows of tiles of a product, by an image.
pub(super) struct RowsOfTiles {
    count: u32,
    are_low: bool,
    split_k: u32,
    /// Whether its tiles are computed transposed and as wide as any, and no block shares an operand with others.
    is_wide: bool,
    /// Whether the rest was seen: at single products, of a family that loads by TMA.
    is_known: bool,
}

impl RowsOfTiles {
    pub fn new(image: &Traits, load: &Load) -> Self {
        let [m, ..] = load.sizes;
        RowsOfTiles {
            count: m.div_ceil(image.geometry.tile_m),
            are_low: image.geometry.tile_m <= FEW_ROWS,
            split_k: image.geometry.split_k,
            is_wide: image.transposed && image.geometry.tile_n >= WIDE_COLUMNS && image.blocks_of_cluster() == 1,
            is_known: image.instruction == Instruction::Wgmma && !load.is_of_many(),
        }
    }

    /// What the memory takes over reading each byte once.
    pub fn memory(&self) -> f64 {
        match (self.split_k, self.count) {
            (2.., 2..) => SPLIT_ROWS,
            (1, 3..) if self.is_wide && self.is_known => WIDE_ROWS,
            _ => 1.0,
        }
    }

    /// What the whole launch takes over what the constants say.
    pub fn all(&self) -> f64 {
        match (self.is_known, self.split_k, self.count) {
            (true, 8.., ..=1) if self.are_low => SPLIT_IN_8_OF_FEW_ROWS,
            (true, 2.., ..=1) if self.are_low => 1.0,
            (true, _, ..=1) => ONE_ROW,
            (true, 2.., 3..) => SPLIT_THREE_ROWS,
            _ => 1.0,
        }
    }

    /// The exponent of the share of SMs that load, in what loads take.
    pub fn crowding(&self) -> f64 {
        if self.is_known && self.count > 2 { CROWDING } else { 1.0 }
    }
}
