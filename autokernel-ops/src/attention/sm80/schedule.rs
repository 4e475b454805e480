//! Schedules of `sm80_attention.cuh`.

use std::fmt;

use crate::knob::schedule;

schedule! {
    /// A schedule of the portable family.
    Sm80Schedule {
        /// Warps of a block.
        warps: u32, "4, 8", "4, of which several blocks share an SM; 8 where heads are wide, as keys then serve more queries.";
        /// Rows of a tile that a warp has: queries, or with share_keys queries each with all heads that share keys.
        rows_of_warp: u32, "16, 32", "32 up to 128 elements a head, as each key that is read then serves two products; 16 where queries are few.";
        /// Keys of a block.
        tile_keys: u32, "multiples of 16 from 16 to 256", "64 to 128 for heads of 64, 64 for 128, 32 for 256.";
        /// Blocks of keys or of values that are on chip at once, in turn.
        stages: u32, "2 … 6", "2 for many queries; 4 or 5 for few, whose time is that of reading keys.";
        /// Whether all blocks of the grid share the keys of all tiles evenly, and put together what each saw of a tile.
        /// The rows of a tile are then queries, each with all heads that share keys.
        share_keys: bool, "`false`, `true`; `true` where device memory says how long sequences are", "true for few queries on many keys.";
    }
}

impl Sm80Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "A block computes a tile of queries. cp.async fills a ring in which blocks of keys and of values take \
                             turns, swizzled by an XOR; each warp has 16 or 32 queries and their sums in registers, reads blocks by \
                             ldmatrix and multiplies by mma.sync m16n8k16, with the softmax in between. Masks skip whole blocks.";
}

impl fmt::Display for Sm80Schedule {
    /// One short line: `attention_sm80 128x64 4 warps 2 stages`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { warps, tile_keys, stages, share_keys, .. } = *self;
        let shared = if share_keys { " shared keys" } else { "" };
        write!(f, "attention_sm80 {}x{tile_keys} {warps} warps {stages} stages{shared}", self.tile_queries())
    }
}
