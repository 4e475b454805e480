//! Schedules of `sm90_attention.cuh`.

use std::fmt;

use crate::knob::{At, Kind, Knob};
use crate::search::Search;

/// A schedule of the Hopper family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sm90Schedule {
    /// Warpgroups that multiply, each 64 queries.
    pub consumers: u32,
    /// Keys of a block.
    pub tile_keys: u32,
    /// Blocks of keys, and as many of values, that are on chip at once.
    pub stages: u32,
    /// Whether consumers take turns to issue products.
    pub ping_pong: bool,
    /// Whether blocks of the grid share the keys of a tile, whose rows are queries with all heads that share keys.
    pub share_keys: bool,
    /// Of eight exponentials, those that are computed by multiplications and additions.
    pub exp_by_fma: u32,
}

const KNOB: Knob = Knob {
    name: "consumers",
    path_v1: "consumers",
    at: At::Image,
    kind: Kind::Number,
    absent: None,
    told_by: None,
    meaning: &["Warpgroups that multiply, each 64 queries."],
    legal: "1, 2, 3",
    advice: "3 up to 64 elements a head, 2 above; 1 where there are few queries.",
    search: Search::PLAIN,
};

impl Sm90Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "One thread has the copy engine fill rings of keys and values; each consumer warpgroup holds 64 \
                             queries and their sums, multiplies a block of keys while it computes the softmax of the block \
                             before, and takes the weights from registers to multiply the values. Masks skip whole blocks.";

    /// Its knobs.
    pub const KNOBS: &[Knob] = &[
        KNOB,
        Knob {
            name: "tile_keys",
            path_v1: "tile_keys",
            meaning: &["Keys of a block."],
            legal: "multiples of 16 from 32 to 256",
            advice: "As many as registers and shared memory hold: 128 to 176 for heads of 128, 80 for 256.",
            ..KNOB
        },
        Knob {
            name: "stages",
            path_v1: "stages",
            meaning: &["Blocks of keys, and as many of values, that are on chip at once."],
            legal: "2, 3, 4",
            advice: "2.",
            ..KNOB
        },
        Knob {
            name: "ping_pong",
            path_v1: "ping_pong",
            kind: Kind::Flag,
            meaning: &[
                "Whether consumers take turns to issue products, so that one's softmax runs beside another's products.",
            ],
            legal: "`false`, `true`; `false` with one consumer",
            advice: "true up to 128 elements a head.",
            ..KNOB
        },
        Knob {
            name: "share_keys",
            path_v1: "share_keys",
            kind: Kind::Flag,
            absent: Some(0),
            told_by: None,
            meaning: &[
                "Whether all blocks of the grid share the keys of all tiles evenly, and put together what each saw of a tile.",
                "The rows of a tile are then queries, each with all heads that share keys.",
            ],
            legal: "`false`, `true`; `true` where device memory says how long sequences are",
            advice: "true for few queries on many keys.",
            ..KNOB
        },
        Knob {
            name: "exp_by_fma",
            path_v1: "exp_by_fma",
            absent: Some(0),
            told_by: None,
            meaning: &[
                "Of eight exponentials, those that are computed by multiplications and additions, and not by the special-function unit.",
            ],
            legal: "0, 1, 2, 3, 4",
            advice: "0; 1 or 2 where a body calls a function for each score.",
            ..KNOB
        },
    ];

    /// The values of its knobs.
    pub fn codes(&self) -> impl Iterator<Item = u16> {
        let Sm90Schedule { consumers, tile_keys, stages, ping_pong, share_keys, exp_by_fma } = *self;
        let sizes = [consumers, tile_keys, stages].map(|size| size as u16);
        sizes.into_iter().chain([ping_pong.into(), share_keys.into(), exp_by_fma as u16])
    }

    /// The schedule whose knobs have these values.
    pub fn from_codes(codes: &[u16]) -> Option<Self> {
        let &[consumers, tile_keys, stages, ping_pong, share_keys, exp_by_fma] = codes else { return None };
        let [consumers, tile_keys, stages, exp_by_fma] = [consumers, tile_keys, stages, exp_by_fma].map(u32::from);
        let [ping_pong, share_keys] = [ping_pong, share_keys].map(|flag| flag == 1);
        Some(Sm90Schedule { consumers, tile_keys, stages, ping_pong, share_keys, exp_by_fma })
    }
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
