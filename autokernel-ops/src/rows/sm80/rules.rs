//! What a schedule of the portable family must keep.

use autokernel_core::Arch;
use autokernel_core::gpu::{MAX_BLOCK_THREADS, MAX_REGISTERS, Multiprocessor, REGISTERS_PER_SM, WARP_THREADS};

use super::columns::resident as columns;
use super::schedule::{MOST_COLUMNS, Sm80Schedule as S};
use crate::body::Kind;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;
use crate::rule::{self, BrokenRule, Rule};

/// Columns that a thread holds in registers at most, of a row of which it holds others in shared memory: its code is straight for few.
const MOST_BESIDE_PARKED: u32 = 48;
/// Vectors that a thread holds in shared memory at most.
const MOST_PARKED: u32 = 16;
/// Sums in shared memory of a block that reduces along columns, of four bytes each.
const MAX_SUMS: u32 = 8192;
/// The widest vector of a thread, in bytes: two accesses of 16.
const MAX_VECTOR_BYTES: u32 = 32;
/// Registers beside those of vectors: addresses, counters, what the row shares.
const WORKING_REGISTERS: u32 = 16;
/// Registers that any kernel needs, for rows that begin anywhere.
const LEAST_REGISTERS: u32 = 64;
/// The same where nothing is reduced and a block takes a part of a row, and of those for addresses what such a kernel does not need.
const LEAST_OF_PARTS: u32 = 32;
const SAVED_BY_PARTS: u32 = 8;
/// Of the places of one more vector of such a kernel.
const PLACE_REGISTERS: u32 = 8;
/// Operands whose addresses those are enough for.
const FEW_OPERANDS: u32 = 5;
/// Registers of a vector of each `Row` operand for which those are enough.
const FEW_ROW_REGISTERS: u32 = 8;
/// Vectors of fp32 that an element's way through a pass may take without registers of their own: of what the pass reduces or of
/// what is written, whichever are more, and of each `Row`. More of them need registers for each of their elements.
const FEW_PASSING: u32 = 3;
const PASSING_REGISTERS: u32 = 3;
/// Vectors whose places in a ragged row need no registers of their own, and what more of them need.
pub(super) const FEW_VECTORS: u32 = 4;
const MANY_VECTORS_REGISTERS: u32 = 48;
/// Matrices whose kept inputs become elements one after the other, and what more of them need.
const FEW_MATRICES: usize = 3;
const MANY_MATRICES_REGISTERS: u32 = 16;
/// Registers of the row that comes next, beside its vectors.
const NEXT_REGISTERS: u32 = 16;
/// Registers of the address of one more operand.
const OPERAND_REGISTERS: u32 = 3;
/// Registers are given to a thread by so many.
const REGISTER_STEP: u32 = 8;
/// The widest access.
const ACCESS_BYTES: u32 = 16;
/// Of a number that is kept.
const KEPT_BYTES: u32 = 4;
/// Vectors of one matrix that come from shared memory together, and of what is kept of more.
const GROUP: u32 = 5;
const GROUP_OF_KEPT: u32 = 2;
/// Shared memory of a block for reductions.
const SCRATCH_BYTES: u32 = 3 << 10;
/// What kernels are compiled for, and its parts: each has its own registers and warps.
const SM: Multiprocessor = Multiprocessor::AMPERE;
const PARTITIONS: u32 = 4;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "threads",
        words: "threads_per_row is a power of two from 4 to 1024, rows_per_block one from 1 to 64; together they are 32 \
                to 1024 threads",
        holds: |s, _, _| {
            let powers = s.threads_per_row.is_power_of_two() && s.rows_per_block.is_power_of_two();
            let ranges = (4..=MAX_BLOCK_THREADS).contains(&s.threads_per_row) && (1..=64).contains(&s.rows_per_block);
            powers && ranges && (WARP_THREADS..=MAX_BLOCK_THREADS).contains(&s.threads())
        },
        reason: |s, _, _| {
            let S { threads_per_row, rows_per_block, .. } = s;
            format!(
                "{threads_per_row} threads a row x {rows_per_block} rows; take powers of two whose product is 32 to 1024"
            )
        },
    },
    Rule {
        name: "vector",
        words: "vector is 2, 4 or 8",
        holds: |s, class, _| {
            [2, 4, 8].contains(&s.vector) && class.matrices().all(|dtype| s.vector * dtype.bytes() <= MAX_VECTOR_BYTES)
        },
        reason: |s, _, _| format!("vector = {} is not 2, 4 or 8", s.vector),
    },
    Rule {
        name: "cluster",
        words: "cluster is 0, or on sm_90a 1, 2, 4 or 8; from 2 on, rows are reduced, rows_per_block is 1 and threads_per_row at least 32",
        holds: |s, class, arch| match s.cluster {
            0 => true,
            1 => arch == Arch::SM_90A,
            2 | 4 | 8 => {
                let shares = s.rows_per_block == 1 && s.threads_per_row >= WARP_THREADS && !class.is_elementwise();
                arch == Arch::SM_90A && shares
            }
            _ => false,
        },
        reason: |s, _, arch| format!("cluster = {} for {arch}, {} rows a block; take 0", s.cluster, s.rows_per_block),
    },
    Rule {
        name: "vectors",
        words: "vectors is 1, 2, 4 or 8, or 6 with parked; a thread holds at most 32 columns, or 48 with parked",
        holds: |s, _, _| {
            let (known, most) = if s.parked > 0 { (6, MOST_BESIDE_PARKED) } else { (1, MOST_COLUMNS) };
            (s.vectors == known || [1, 2, 4, 8].contains(&s.vectors)) && s.vectors * s.vector <= most
        },
        reason: |s, _, _| {
            format!("{} vectors of {} columns; take 1, 2, 4 or 8, and at most 32 columns", s.vectors, s.vector)
        },
    },
    Rule {
        name: "columns",
        words: "a reduction along columns takes cluster 0 or 1, blocks_per_sm 0, at most 1024 columns a block: \
                threads_per_row * vector, and at most 8192 sums: threads * vector for each output",
        holds: |s, class, _| {
            let is_alone = s.cluster <= 1 && s.blocks_per_sm == 0;
            let fits = s.threads_per_row * s.vector <= MAX_BLOCK_THREADS && columns::sums(s, class) <= MAX_SUMS;
            !class.is_by_columns() || is_alone && fits
        },
        reason: |s, class, _| {
            let S { threads_per_row, vector, cluster, blocks_per_sm, .. } = s;
            format!(
                "{threads_per_row} threads of {vector} columns, cluster {cluster}, {blocks_per_sm} blocks an SM, {} sums; take fewer \
                 threads a row or fewer rows, and 0 for the others",
                columns::sums(s, class)
            )
        },
    },
    Rule {
        name: "keep",
        words: "keep is values where no value is both dear to compute and needed by two passes",
        holds: |s, class, _| class.kept > 0 || s.keep == Keep::Values,
        reason: |_, _, _| "nothing is kept but inputs; take keep = values, which is the same".to_owned(),
    },
    Rule {
        name: "joins",
        words: "joins is false where no maximum or mean is followed, in the next pass, by a single sum or mean of exponentials \
                or squares relative to it, and where a row has one warp's threads or fewer",
        holds: |s, class, _| {
            let crosses = s.cluster > 1 || s.threads_per_row > WARP_THREADS;
            !s.joins || crosses && !class.is_by_columns() && class.may_join()
        },
        reason: |s, _, _| {
            format!("no two reductions of {} threads a row can be one; take joins = false", s.threads_per_row)
        },
    },
    Rule {
        name: "blocks_per_sm",
        words: "blocks_per_sm is 0, or 1, 2, 4 or 8, or 3 with keeps_rows, where rows are reduced and nothing is read or written elsewhere than in its row and column; those blocks have at most 2048 threads, their next rows, in vectors of \
                at least 16 bytes, fit the shared memory",
        holds: |s, class, arch| {
            let accesses = class.read_matrices().all(|dtype| s.vector * dtype.bytes() >= ACCESS_BYTES);
            let shared = s.blocks_per_sm * (prefetch_bytes(s, class) + kept_bytes(s, class) + SCRATCH_BYTES);
            let fits = s.blocks_per_sm * s.threads() <= SM.threads && shared <= arch.shared_bytes_per_block();
            let may_be_ahead = class.is_in_place() && !class.is_elementwise();
            let is_known = [1, 2, 4, 8].contains(&s.blocks_per_sm) || s.keeps_rows && s.blocks_per_sm == 3;
            let is_ahead = is_known && may_be_ahead;
            s.blocks_per_sm == 0 || is_ahead && accesses && fits
        },
        reason: |s, class, arch| {
            let S { blocks_per_sm, .. } = s;
            let (threads, bytes, limit) = (s.threads(), prefetch_bytes(s, class), arch.shared_bytes_per_block());
            format!(
                "{blocks_per_sm} blocks of {threads} threads and {bytes} bytes, where {arch} has {limit}; take fewer, or \
                 vectors of 16 bytes"
            )
        },
    },
    Rule {
        name: "parked",
        words: "parked is 0, or at most 16 where rows are reduced by several passes, nothing is read or written elsewhere than in its row and \
                column, rows_per_block is 1, cluster 0 or 1, blocks_per_sm 0 and joins false; vectors of each matrix are 16 bytes at least, and \
                threads * parked of all matrices that are read fit the shared memory, or, where the first pass makes all that is kept, of that",
        holds: |s, class, arch| {
            let alone = s.rows_per_block == 1 && s.cluster <= 1 && s.blocks_per_sm == 0 && !s.joins;
            let reduces = class.passes.len() > 1 && !class.is_by_columns() && class.is_in_place();
            let accesses = class.read_matrices().all(|dtype| s.vector * dtype.bytes() >= ACCESS_BYTES);
            let fits = parked_bytes(s, class) + SCRATCH_BYTES <= arch.shared_bytes_per_block();
            s.parked == 0 || s.parked <= MOST_PARKED && alone && reduces && accesses && s.vector >= 4 && fits
        },
        reason: |s, class, arch| {
            let (bytes, limit) = (parked_bytes(s, class), arch.shared_bytes_per_block());
            format!(
                "{} vectors of {} threads are {bytes} bytes, where {arch} has {limit}; take fewer, or 0",
                s.parked,
                s.threads()
            )
        },
    },
    Rule {
        name: "keeps_rows",
        words: "keeps_rows is false, or true where several passes read Rows, rows_per_block is 1, threads_per_row at least 32, cluster 0 or 1, \
                parked 0, and vectors of each matrix and Row are 16 bytes at least, for as many blocks_per_sm as registers allow",
        holds: |s, class, _| {
            let alone = s.rows_per_block == 1 && s.threads_per_row >= WARP_THREADS && s.cluster <= 1 && s.parked == 0;
            let stays = (1..=resident_blocks(s, class)).contains(&s.blocks_per_sm);
            let whole = class.read_rows().chain(class.matrices()).all(|dtype| s.vector * dtype.bytes() >= ACCESS_BYTES);
            let reads = class.passes.len() > 1 && class.read_rows().count() > 0;
            !s.keeps_rows || alone && stays && whole && reads
        },
        reason: |s, class, _| {
            let S { blocks_per_sm, .. } = s;
            format!(
                "{blocks_per_sm} blocks an SM, which holds {}; take 1 to as many, of one row and vectors of 16 bytes, or keeps_rows = false",
                resident_blocks(s, class)
            )
        },
    },
    Rule {
        name: "registers",
        words: "vectors * (registers of a vector of each input, or of what is kept if that is more) + 2 * vector + 16, but at least 64, and what \
                many operands, functions, reductions and Rows take beside (docs/schedules.md), is at most 255, and at most \
                65536 / threads",
        holds: |s, class, _| registers(s, class) <= available(s),
        reason: |s, class, _| {
            let (needed, available) = (registers(s, class), available(s));
            format!("about {needed} registers a thread, {available} are there; take fewer vectors or fewer threads")
        },
    },
];

impl S {
    /// Whether this schedule compiles without spills and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }

    /// Registers of a thread, about: of a body that reads one matrix of 16-bit elements and keeps one value of each.
    pub fn registers(&self) -> u32 {
        registers_for(self, self.vector / 2, self.vector, 0).max(LEAST_REGISTERS).min(available(self))
    }
}

/// Whether threads request the `Row`s of a row that they hold with it, as these fit the registers that any kernel has: of several passes,
/// whose last one would wait for them.
pub(super) fn requests_rows(s: &S, class: &Class) -> bool {
    let rows: u32 = class.read_rows().map(|dtype| (s.vector * dtype.bytes()).div_ceil(4)).sum();
    let (held, beside) = parts_of_registers(s, class);
    let fits = held + beside + s.vectors * rows <= LEAST_REGISTERS;
    rows > 0
        && fits
        && class.passes.len() > 1
        && s.blocks_per_sm == 0
        && s.parked == 0
        && s.cluster <= 1
        && class.fetches.is_empty()
}

/// Registers of a thread for a class.
pub fn registers(s: &S, class: &Class) -> u32 {
    if class.is_by_columns() {
        return columns::registers(s, class);
    }
    let (held, beside) = parts_of_registers(s, class);
    if takes_parts(class) {
        return (held + PLACE_REGISTERS * (s.vectors - 1) - SAVED_BY_PARTS).max(LEAST_OF_PARTS) + beside;
    }
    // Where what is read or written lies elsewhere, the places of a part stand beside those.
    let places = if class.is_elementwise() { PLACE_REGISTERS * s.vectors } else { 0 };
    held.max(LEAST_REGISTERS) + places + beside
}

/// Whether blocks take parts of rows, and find all where a body writes.
fn takes_parts(class: &Class) -> bool {
    class.is_elementwise() && class.is_in_place()
}

/// Those of the vectors that it holds and of what any kernel needs, and those beside them.
fn parts_of_registers(s: &S, class: &Class) -> (u32, u32) {
    let inputs: u32 = class.read_matrices().map(|dtype| (s.vector * dtype.bytes()).div_ceil(4)).sum();
    let kept = if s.keep == Keep::Values { class.kept * s.vector } else { 0 };
    // What an index says is in the address of the operand that it picks a row of.
    let addressed = class.operands.iter().filter(|(kind, ..)| *kind != Kind::Index).count();
    let operands = u32::try_from(addressed).unwrap_or(u32::MAX).saturating_sub(FEW_OPERANDS);
    let rows: u32 = class.read_rows().map(|dtype| (s.vector * dtype.bytes()).div_ceil(4)).sum();
    let rest = OPERAND_REGISTERS * operands + class.cost.registers + class.cost.constants();
    let is_straight = (s.blocks_per_sm == 0 || s.keeps_rows) && s.parked == 0;
    let many = if s.vectors > FEW_VECTORS && is_straight { MANY_VECTORS_REGISTERS } else { 0 };
    let passing = PASSING_REGISTERS * s.vector * class.passing().saturating_sub(FEW_PASSING);
    let keeps_many = s.keep == Keep::Inputs && class.read_matrices().count() > FEW_MATRICES;
    let matrices = if keeps_many { MANY_MATRICES_REGISTERS } else { 0 };
    let next = if s.keeps_rows { s.vectors * inputs + NEXT_REGISTERS } else { 0 };
    let beside = rows.saturating_sub(FEW_ROW_REGISTERS) + passing + many + matrices;
    // What is kept at once takes the place of one vector's inputs after the other.
    if parks_kept(s, class) {
        return (registers_for(s, 0, kept, rest) + inputs, beside);
    }
    (registers_for(s, inputs, kept, rest) + next, beside)
}

/// Whether shared memory has what the first pass keeps, in the place of what it reads.
pub(super) fn parks_kept(s: &S, class: &Class) -> bool {
    let read: u32 = class.read_matrices().map(|dtype| dtype.bytes()).sum();
    s.parked > 0 && s.keep == Keep::Values && class.keeps_at_once && class.kept * KEPT_BYTES < read
}

/// Bytes of a row that a block has in shared memory beside what its threads hold in registers.
pub(super) fn parked_bytes(s: &S, class: &Class) -> u32 {
    let read: u32 = class.read_matrices().map(|dtype| dtype.bytes()).sum();
    let of_column = if parks_kept(s, class) { class.kept * KEPT_BYTES } else { read };
    s.threads() * s.parked * s.vector * of_column
}

/// Vectors of a thread that are on their way from shared memory together.
pub(super) fn group(s: &S, class: &Class) -> u32 {
    let most = match class.read_matrices().count() {
        0 | 1 => GROUP,
        _ if parks_kept(s, class) => GROUP_OF_KEPT,
        _ => 1,
    };
    (1..=most).rev().find(|group| s.parked.is_multiple_of(*group)).unwrap_or(1)
}

/// Registers of a thread: the vectors that it holds, which are inputs until they are kept values, one vector's elements on
/// their way, and the rest.
pub(super) fn registers_for(s: &S, inputs: u32, kept: u32, rest: u32) -> u32 {
    s.vectors * inputs.max(kept) + 2 * s.vector + rest + WORKING_REGISTERS
}

/// Registers that there are for a thread.
pub fn available(s: &S) -> u32 {
    MAX_REGISTERS.min(REGISTERS_PER_SM / s.threads().max(1))
}

/// Bytes of the row, of each matrix that is read, that a block has on its way while it computes another.
pub(super) fn prefetch_bytes(s: &S, class: &Class) -> u32 {
    let bytes: u32 = class.read_matrices().map(|dtype| dtype.bytes()).sum();
    if s.blocks_per_sm == 0 || s.keeps_rows { 0 } else { s.threads() * s.vectors * s.vector * bytes }
}

/// Bytes of the `Row`s that a block keeps.
pub(super) fn kept_bytes(s: &S, class: &Class) -> u32 {
    let bytes: u32 = class.read_rows().map(|dtype| dtype.bytes()).sum();
    if s.keeps_rows { s.threads() * s.vectors * s.vector * bytes } else { 0 }
}

/// Blocks of a schedule that one multiprocessor holds at once: what a kernel is compiled for.
pub fn resident_blocks(s: &S, class: &Class) -> u32 {
    let registers = registers(s, class).next_multiple_of(REGISTER_STEP).max(REGISTER_STEP);
    let threads = s.threads().max(1);
    let warps = PARTITIONS * (REGISTERS_PER_SM / PARTITIONS / (registers * WARP_THREADS));
    (warps * WARP_THREADS / threads).min(SM.threads / threads).clamp(1, SM.blocks)
}
