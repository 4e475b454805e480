//! What a schedule of the Hopper family must keep, and the sizes that follow from one.

use std::ops::RangeInclusive;

use autokernel_core::Arch;
use autokernel_core::gpu::{MAX_REGISTERS, Multiprocessor, REGISTERS_PER_SM};

use super::schedule::Sm90Schedule as S;
use crate::attention::dims::{self, DIM_STEP};
use crate::attention::panel::{PANEL, ROW_BYTES};
use crate::attention::problem::{Class, ScoreClass};
use crate::attention::sequences::Keys;
use crate::attention::sharing::VERDICT_BYTES;
use crate::rule::{self, BrokenRule, Rule};

/// Queries of a consumer.
pub const ROWS_OF_CONSUMER: u32 = 64;
/// Of eight exponentials those that may be computed by multiplications and additions.
pub const EXP_BY_FMA: RangeInclusive<u32> = 0..=4;
const WARPGROUP_THREADS: u32 = 128;
const BARRIER_BYTES: u32 = 8;
/// Tiles that the producer is ahead, and what it tells of one: its number, or where the device alone knows how long sequences are all of it.
const SLOTS: u32 = 2;
const SLOT_BYTES: u32 = 4;
const LOCATED_SLOT_BYTES: u32 = 32;
/// What aligns the first panel.
const ATOM_BYTES: u32 = 1024;
const MAX_SHARED_BYTES: u32 = Multiprocessor::HOPPER.shared_bytes_per_block;
/// Registers of a consumer's thread beside scores, weights and sums.
const WORKING_REGISTERS: u32 = 26;
/// Those of exponentials that are computed by multiplications and additions, of blocks of more keys than that, or of scores with bounds
/// beside values of more elements.
const EXP_REGISTERS: u32 = 6;
const MANY_KEYS: u32 = 128;
const NARROW: u32 = 64;
/// Sums that are rescaled while scores are computed, and the registers that this takes.
const MANY_SUMS: u32 = 64;
const RESCALE_REGISTERS: u32 = 4;
/// Those of where a block is in its share of the keys, and of the rows that are queries and heads.
const SHARING_REGISTERS: u32 = 20;
/// Those of where a score stands, and of what a body reads; where sums are many, at least so many of the body's own, and of masks.
const BODY_REGISTERS: u32 = 6;
const WIDE_BODY_REGISTERS: u32 = 18;
const WIDE_MASK_REGISTERS: u32 = 8;
/// Those of a number by distance for each score, and where these lie.
const DISTANCE_REGISTERS: u32 = 32;
/// Where sums are many, those of shares and of a body together.
const WIDE_SHARING_REGISTERS: u32 = 60;

impl S {
    /// Queries of a tile.
    pub fn tile_queries(&self) -> u32 {
        self.consumers * ROWS_OF_CONSUMER
    }

    /// Threads of a block: the consumers' and a warpgroup that loads.
    pub fn threads(&self) -> u32 {
        (1 + self.consumers) * WARPGROUP_THREADS
    }

    /// Registers that ptxas may give a thread: all that an SM has for a block, in steps of 8.
    pub fn registers(&self) -> u32 {
        (REGISTERS_PER_SM / self.threads() / 8 * 8).min(MAX_REGISTERS)
    }

    /// Registers of a consumer's thread once the loading warpgroup has given up most of its own; `kConsumerRegisters` in CUDA.
    fn consumer_registers(&self) -> u32 {
        match self.consumers {
            1 => 248,
            2 => 232,
            _ => 160,
        }
    }

    /// Registers that a consumer's thread needs: scores and sums in fp32, weights in pairs.
    fn needed_registers(&self, class: &Class) -> u32 {
        let (scores, sums) = (self.tile_keys / 2, class.value_dim / 2);
        let by_fma = self.exp_by_fma > 0
            && (self.tile_keys > MANY_KEYS || (class.may_stay_within() && class.value_dim > NARROW));
        let working = WORKING_REGISTERS + if by_fma { EXP_REGISTERS } else { 0 };
        let distances = if class.reads_distances() { scores + DISTANCE_REGISTERS } else { 0 };
        let own = |score: &ScoreClass| score.cost.registers.max(distances);
        if sums <= MANY_SUMS {
            let body = class.score.as_ref().map_or(0, |score| BODY_REGISTERS + own(score));
            let sharing = if self.share_keys { SHARING_REGISTERS } else { 0 };
            return scores + scores / 2 + sums + working + body + sharing;
        }
        let masked = if class.causal || class.windowed { WIDE_MASK_REGISTERS } else { 0 };
        let body = |own: u32| BODY_REGISTERS + own.max(WIDE_BODY_REGISTERS) + masked;
        let further = match &class.score {
            _ if self.share_keys => WIDE_SHARING_REGISTERS,
            Some(score) => body(own(score)),
            None => 0,
        };
        scores + scores / 2 + sums + working + RESCALE_REGISTERS + further
    }

    /// Whether exponentials by FMA spill a few bytes, which counting registers does not tell: four of eight, or any of three consumers
    /// that hold where a sequence lies.
    fn exponentials_spill(&self, class: &Class) -> bool {
        let four = self.exp_by_fma == 4 && self.tile_keys >= MANY_KEYS && class.value_dim > NARROW;
        let any = self.exp_by_fma > 0 && self.consumers == 3 && self.finds_tiles(class);
        class.may_stay_within() && (four || any)
    }

    /// Whether what a body adds to scores is one more step of depth of their product: of wide heads products take longest.
    pub fn steps(&self, class: &Class) -> bool {
        let serves = class.may_step()
            && !self.share_keys
            && self.exp_by_fma == 0
            && class.head_dim.max(class.value_dim) <= NARROW;
        serves && self.bytes_without_steps(class) + self.step_bytes() <= MAX_SHARED_BYTES
    }

    /// The numbers of keys in a block, and beside them the step of each consumer's rows.
    fn step_bytes(&self) -> u32 {
        self.tile_keys.max(ROWS_OF_CONSUMER) * ROW_BYTES
    }

    /// Dynamic shared memory of a block.
    pub fn shared_bytes(&self, class: &Class) -> u32 {
        self.bytes_without_steps(class) + if self.steps(class) { self.step_bytes() } else { 0 }
    }

    /// Whether tiles are of one head of sequences that the device alone locates.
    fn finds_tiles(&self, class: &Class) -> bool {
        !self.share_keys && !class.sequences.are_whole()
    }

    fn bytes_without_steps(&self, class: &Class) -> u32 {
        let panels = |dim: u32| dim.div_ceil(PANEL) * ROW_BYTES;
        let queries = self.tile_queries() * panels(class.head_dim);
        let stage = self.tile_keys * (panels(class.head_dim) + panels(class.value_dim));
        let barriers = (self.consumers + 2 * self.stages + SLOTS) * 2 * BARRIER_BYTES;
        let verdicts = if self.share_keys { self.consumers * VERDICT_BYTES } else { 0 };
        let slot = if self.finds_tiles(class) { LOCATED_SLOT_BYTES } else { SLOT_BYTES };
        queries + self.stages * stage + barriers + SLOTS * slot + ATOM_BYTES + verdicts
    }

    /// Whether it compiles without spills and runs.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }
}

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "hopper_only",
        words: "sm_90a alone",
        holds: |_, _, arch| arch == Arch::SM_90A,
        reason: |_, _, arch| format!("{arch} has no wgmma; compile for sm_90a"),
    },
    Rule {
        name: "dims_fit_wgmma",
        words: "head_dim and value_dim are multiples of 16 from 16 to 256",
        holds: |_, class, _| dims::fit(class),
        reason: |_, class, _| dims::why_they_do_not_fit(class),
    },
    Rule {
        name: "consumers",
        words: "consumers is 1, 2 or 3; with 1 there is no ping_pong",
        holds: |s, _, _| (1..=3).contains(&s.consumers) && !(s.consumers == 1 && s.ping_pong),
        reason: |s, _, _| {
            format!("{} consumers, ping_pong = {}; take 2 or 3, or 1 without ping_pong", s.consumers, s.ping_pong)
        },
    },
    Rule {
        name: "tile_keys_fit_wgmma",
        words: "tile_keys is a multiple of 16 from 32 to 256",
        holds: |s, _, _| s.tile_keys.is_multiple_of(DIM_STEP) && (32..=256).contains(&s.tile_keys),
        reason: |s, _, _| format!("tile_keys = {}; take 32, 48, … or 256", s.tile_keys),
    },
    Rule {
        name: "stages",
        words: "stages is 2, 3 or 4",
        holds: |s, _, _| (2..=4).contains(&s.stages),
        reason: |s, _, _| format!("{} stages; take 2, 3 or 4", s.stages),
    },
    Rule {
        name: "registers",
        words: "3/4 of tile_keys and 1/2 of value_dim, with 26 more, with a body 6 and its own, of numbers by distance at least 1/2 of \
                tile_keys and 4, 6 where exp_by_fma is more than 0 and \
                tile_keys than 128, or scores have bounds and value_dim is above 64, and 20 with share_keys, are at most the \
                registers of a consumer's thread: 248 of one consumer, 232 of two, 160 of three; above a value_dim of 128 with 4 more, a \
                body's own are at least 18, and 8 more with a mask, and share_keys has 60 in place of all that",
        holds: |s, class, _| s.needed_registers(class) <= s.consumer_registers(),
        reason: |s, class, _| {
            let (needed, there) = (s.needed_registers(class), s.consumer_registers());
            format!("{needed} registers are needed and {there} are there; take fewer keys a block, or fewer consumers")
        },
    },
    Rule {
        name: "exp_by_fma",
        words: "exp_by_fma is 0, 1, 2, 3 or 4; where scores have bounds not 4 if value_dim is above 64 and tile_keys 128 or more, and 0 \
                if three consumers have no share_keys and device memory says how long sequences are",
        holds: |s, class, _| EXP_BY_FMA.contains(&s.exp_by_fma) && !s.exponentials_spill(class),
        reason: |s, _, _| format!("{} of eight exponentials; take 0 to 4, or beside bounds 0 to 3, or 0", s.exp_by_fma),
    },
    Rule {
        name: "pages_leave_registers",
        words: "consumers is 1 or 2 where keys are in pages, or there is share_keys",
        holds: |s, class, _| s.share_keys || s.consumers < 3 || !matches!(class.sequences.keys, Keys::Paged(_)),
        reason: |_, _, _| "three consumers leave no registers to look up pages; take 2, or share_keys".to_owned(),
    },
    Rule {
        name: "shared_memory",
        words: "queries, and keys and values of every stage, fit 227 KiB",
        holds: |s, class, _| s.shared_bytes(class) <= MAX_SHARED_BYTES,
        reason: |s, class, _| {
            let bytes = s.shared_bytes(class);
            format!("{bytes} bytes of shared memory are more than {MAX_SHARED_BYTES}; take fewer keys a block")
        },
    },
];
