//! Schedules of `sm90_attention.cuh`.

use std::fmt;

use crate::knob::schedule;

schedule! {
    /// A schedule of the Hopper family.
    Sm90Schedule {
        /// Warpgroups that multiply, each 64 queries.
        consumers: u32, "1, 2, 3", "3 up to 64 elements a head, 2 above; 1 where there are few queries.";
        /// Keys of a block.
        tile_keys: u32, "multiples of 16 from 32 to 256",
        "As many as registers and shared memory hold: 128 to 176 for heads of 128, 80 for 256.";
        /// Blocks of keys, and as many of values, that are on chip at once.
        stages: u32, "2, 3, 4", "2.";
        /// Whether consumers take turns to issue products, so that one's softmax runs beside another's products.
        ping_pong: bool, "`false`, `true`; `false` with one consumer", "true up to 128 elements a head.";
        /// Whether all blocks of the grid share the keys of all tiles evenly, and put together what each saw of a tile.
        /// The rows of a tile are then queries, each with all heads that share keys.
        share_keys: bool = 0, "`false`, `true`; `true` where three consumers read keys in pages",
        "true for few queries on many keys.";
        /// Of eight exponentials, those that are computed by multiplications and additions, and not by the special-function unit.
        exp_by_fma: u32 = 0, "0, 1, 2, 3, 4", "0; 1 or 2 where a body calls a function for each score.";
    }
}

impl Sm90Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "One thread has the copy engine fill rings of keys and values; each consumer warpgroup holds 64 \
                             queries and their sums, multiplies a block of keys while it computes the softmax of the block \
                             before, and takes the weights from registers to multiply the values. Masks skip whole blocks.";
}

impl fmt::Display for Sm90Schedule {
    /// One short line: `attention_sm90 128x176 2 stages ping-pong`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm90Schedule { tile_keys, stages, ping_pong, share_keys, exp_by_fma, .. } = *self;
        write!(f, "attention_sm90 {}x{tile_keys} {stages} stages", self.tile_queries())?;
        write!(f, "{}{}", if ping_pong { " ping-pong" } else { "" }, if share_keys { " shared keys" } else { "" })?;
        if exp_by_fma == 0 { Ok(()) } else { write!(f, " {exp_by_fma}/8 exp by fma") }
    }
}
