//! What a schedule of the portable family must keep, and the sizes that follow from one.

use autokernel_core::Arch;
use autokernel_core::gpu::{MAX_REGISTERS, WARP_THREADS};

use super::schedule::Sm80Schedule as S;
use crate::attention::dims;
use crate::attention::panel::{PANEL, ROW_BYTES};
use crate::attention::problem::Class;
use crate::attention::sharing::VERDICT_BYTES;
use crate::expr::Cost;
use crate::rule::{self, BrokenRule, Rule};

const WARPS_OF_WARPGROUP: u32 = 4;
/// Rows of a product's A, its depth, and the columns of two products.
const FRAGMENT: u32 = 16;
/// Registers of a thread beside scores and sums: addresses, fragments, what a mask and the softmax need.
const WORKING_REGISTERS: u32 = 58;
/// Those of where a block is in its share of the keys, and of the rows that are queries and heads. Where a value has more elements than
/// `NARROW` they are a body's too, as the two are not needed at once and ptxas keeps neither beside many sums.
const SHARING_REGISTERS: u32 = 52;
const NARROW: u32 = 128;
/// Those of where a score stands, and of what a body reads, beside the body's own.
const BODY_REGISTERS: u32 = 16;
const FUNCTION_REGISTERS: u32 = 16;

impl S {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.warps * WARP_THREADS
    }

    /// Rows of a tile.
    pub fn tile_queries(&self) -> u32 {
        self.warps * self.rows_of_warp
    }

    /// Registers that ptxas may give a thread.
    pub fn registers(&self) -> u32 {
        MAX_REGISTERS
    }

    /// Registers that a thread needs: scores and sums in fp32, and the rest.
    fn needed_registers(&self, class: &Class) -> u32 {
        let bands = self.rows_of_warp / FRAGMENT;
        let body = class.score.as_ref().map_or(0, |score| BODY_REGISTERS + own_registers(score.cost));
        let sharing = if self.share_keys { SHARING_REGISTERS } else { 0 };
        let further = if class.value_dim > NARROW { body.max(sharing) } else { body + sharing };
        let (scores, sums) = (bands * self.tile_keys / 2, bands * class.value_dim / 2);
        scores + scores / 16 + sums + WORKING_REGISTERS + further
    }

    /// Dynamic shared memory of a block.
    pub fn shared_bytes(&self, class: &Class) -> u32 {
        let panels = |dim: u32| dim.div_ceil(PANEL) * ROW_BYTES;
        let queries = self.tile_queries() * panels(class.head_dim);
        let slot = self.tile_keys * panels(class.head_dim.max(class.value_dim));
        queries + self.stages * slot + self.warps / WARPS_OF_WARPGROUP * VERDICT_BYTES + ROW_BYTES
    }

    /// Whether it compiles without spills and runs.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }
}

/// Those of a body's own: as many as those of conditions where it calls a function.
fn own_registers(cost: Cost) -> u32 {
    if cost.special_functions == 0 { cost.registers } else { cost.registers.max(FUNCTION_REGISTERS) }
}

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "dims_fit_fragments",
        words: "head_dim and value_dim are multiples of 16 from 16 to 256",
        holds: |_, class, _| dims::fit(class),
        reason: |_, class, _| dims::why_they_do_not_fit(class),
    },
    Rule {
        name: "warps",
        words: "warps is 4 or 8",
        holds: |s, _, _| [4, 8].contains(&s.warps),
        reason: |s, _, _| format!("{} warps; take 4 or 8", s.warps),
    },
    Rule {
        name: "rows_of_warp",
        words: "rows_of_warp is 16 or 32",
        holds: |s, _, _| [16, 32].contains(&s.rows_of_warp),
        reason: |s, _, _| format!("{} rows of a warp; take 16 or 32", s.rows_of_warp),
    },
    Rule {
        name: "tile_keys",
        words: "tile_keys is a multiple of 16 from 16 to 256",
        holds: |s, _, _| s.tile_keys.is_multiple_of(FRAGMENT) && (16..=256).contains(&s.tile_keys),
        reason: |s, _, _| format!("tile_keys = {}; take 16, 32, … or 256", s.tile_keys),
    },
    Rule {
        name: "stages",
        words: "stages is 2 to 6",
        holds: |s, _, _| (2..=6).contains(&s.stages),
        reason: |s, _, _| format!("{} stages; take 2 to 6", s.stages),
    },
    Rule {
        name: "registers",
        words: "rows_of_warp / 32 times tile_keys, and 1/16 of that, rows_of_warp / 32 times value_dim, with 58 more, with a body 16 and \
                its own, and 52 with share_keys, are at most 255; above a value_dim of 128 the greater of these two in place of both",
        holds: |s, class, _| s.needed_registers(class) <= MAX_REGISTERS,
        reason: |s, class, _| {
            let needed = s.needed_registers(class);
            format!(
                "{needed} registers are needed and {MAX_REGISTERS} are there; take fewer keys a block, or fewer rows of a warp"
            )
        },
    },
    Rule {
        name: "lengths_share_keys",
        words: "share_keys where device memory says how long sequences are",
        holds: |s, class, _| s.share_keys || class.sequences.are_whole(),
        reason: |_, _, _| "how many tiles there are the device alone knows; set share_keys".to_owned(),
    },
    Rule {
        name: "shared_memory",
        words: "queries and the ring fit the shared memory of a block",
        holds: |s, class, arch| s.shared_bytes(class) <= arch.shared_bytes_per_block(),
        reason: |s, class, arch| {
            let (bytes, limit) = (s.shared_bytes(class), arch.shared_bytes_per_block());
            format!("needs {bytes} bytes, a block of {arch} may have {limit}; take fewer stages or fewer keys a block")
        },
    },
];
