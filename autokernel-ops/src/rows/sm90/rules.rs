//! What a schedule of Hopper's family must keep.

use autokernel_core::Arch;
use autokernel_core::gpu::{MAX_BLOCK_THREADS, Multiprocessor, RESERVED_SHARED_BYTES, WARP_THREADS};

use super::schedule::Sm90Schedule as S;
use crate::rows::joined::Pair;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;
use crate::rows::sm80::{MOST_COLUMNS, available, registers};
use crate::rule::{self, BrokenRule, Rule};

/// What a bulk copy moves in whole.
const ACCESS_BYTES: u32 = 16;
/// The widest vector of a thread, in bytes: two accesses.
const MAX_VECTOR_BYTES: u32 = 32;
/// What several teams of a block know of several next rows that they draw, beside more elements than these.
const FEW_ELEMENTS: u32 = 16;
const DRAWN_REGISTERS: u32 = 4;
/// What threads of a cluster know beside several `Row`s and more words of inputs than these.
const FEW_WORDS: u32 = 16;
const PIECE_REGISTERS: u32 = 4;
/// An mbarrier.
const BARRIER_BYTES: u32 = 8;
/// A number of a row, and how many of those leaders tell each other are in use.
const NUMBER_BYTES: u32 = 4;
const TOLD: u32 = 4;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "hopper_only",
        words: "sm_90a alone",
        holds: |_, _, arch| arch == Arch::SM_90A,
        reason: |_, _, arch| format!("bulk copies of {arch} there are none; take rows_sm80"),
    },
    Rule {
        name: "reduces_in_place",
        words: "a matrix is read, rows are reduced, and nothing is read or written elsewhere than in its row and column",
        holds: |_, class, _| serves(class),
        reason: |_, _, _| "teams order their reads by a reduction of their row; take rows_sm80".to_owned(),
    },
    Rule {
        name: "threads",
        words: "threads_per_row is 128, 256, 512 or 1024, rows_per_block 1, 2 or 4; together they are at most 1024 threads",
        holds: |s, _, _| {
            let known = [128, 256, 512, 1024].contains(&s.threads_per_row) && [1, 2, 4].contains(&s.rows_per_block);
            known && s.threads() <= MAX_BLOCK_THREADS
        },
        reason: |s, _, _| {
            let S { threads_per_row, rows_per_block, .. } = s;
            format!("{threads_per_row} threads a row x {rows_per_block} rows; take 512 x 2, or 1024 x 1")
        },
    },
    Rule {
        name: "blocks_per_sm",
        words: "blocks_per_sm is 1, 2, 3, 4, 6 or 8; those blocks have at most 2048 threads",
        holds: |s, _, _| {
            [1, 2, 3, 4, 6, 8].contains(&s.blocks_per_sm)
                && s.blocks_per_sm * s.threads() <= Multiprocessor::HOPPER.threads
        },
        reason: |s, _, _| {
            let S { blocks_per_sm, .. } = s;
            format!(
                "{blocks_per_sm} blocks of {} threads; take 1, 2, 3, 4, 6 or 8, of 2048 threads at most",
                s.threads()
            )
        },
    },
    Rule {
        name: "vector",
        words: "vector is 4 or 8, so that vectors of matrices, and of Rows that are kept, are 16 or 32 bytes",
        holds: |s, class, _| {
            let fits = |bytes: u32| (ACCESS_BYTES..=MAX_VECTOR_BYTES).contains(&bytes);
            let rows = class.read_rows().filter(|_| s.keeps_rows);
            let mut brought = class.read_matrices().chain(rows);
            let narrow = class.matrices().all(|dtype| s.vector * dtype.bytes() <= MAX_VECTOR_BYTES);
            [4, 8].contains(&s.vector) && narrow && brought.all(|dtype| fits(s.vector * dtype.bytes()))
        },
        reason: |s, _, _| format!("vectors of {} columns; take 8 for 16-bit elements, 4 for fp32", s.vector),
    },
    Rule {
        name: "vectors",
        words: "vectors is 1, 2, 4 or 8; a thread holds at most 32 columns",
        holds: |s, _, _| [1, 2, 4, 8].contains(&s.vectors) && s.vectors * s.vector <= MOST_COLUMNS,
        reason: |s, _, _| {
            format!("{} vectors of {} columns; take 1, 2, 4 or 8, and at most 32 columns", s.vectors, s.vector)
        },
    },
    Rule {
        name: "stages",
        words: "stages is 1, 2, 3, 4, 6 or 8",
        holds: |s, _, _| [1, 2, 3, 4, 6, 8].contains(&s.stages),
        reason: |s, _, _| format!("stages = {}; take 1, 2, 3, 4, 6 or 8", s.stages),
    },
    Rule {
        name: "cluster",
        words: "cluster is 1, 2, 4 or 8",
        holds: |s, _, _| [1, 2, 4, 8].contains(&s.cluster),
        reason: |s, _, _| format!("cluster = {}; take 1, 2, 4 or 8", s.cluster),
    },
    Rule {
        name: "keep",
        words: "keep is values where no value is both dear to compute and needed by two passes",
        holds: |s, class, _| class.kept > 0 || s.keep == Keep::Values,
        reason: |_, _, _| "nothing is kept but inputs; take keep = values, which is the same".to_owned(),
    },
    Rule {
        name: "keeps_rows",
        words: "keeps_rows is false where no Row is read",
        holds: |s, class, _| !s.keeps_rows || class.read_rows().count() > 0,
        reason: |_, _, _| "there is no Row; take keeps_rows = false".to_owned(),
    },
    Rule {
        name: "joins",
        words: "joins is false where no maximum or mean is followed, in the next pass, by a single sum or mean of exponentials \
                or squares relative to it",
        holds: |s, class, _| !s.joins || class.may_join(),
        reason: |_, _, _| "no two reductions can be one; take joins = false".to_owned(),
    },
    Rule {
        name: "registers",
        words: "as the rule of rows_sm80 for blocks that stay, for more than 16 columns a thread 4 more with several teams that draw, several \
                stages and no joins, and 4 more in a cluster with several Rows and more than 16 words of inputs a thread, of the threads of all blocks that an SM is given",
        holds: |s, class, _| needed_registers(s, class) <= available_registers(s),
        reason: |s, class, _| {
            let (needed, available) = (needed_registers(s, class), available_registers(s));
            format!("about {needed} registers a thread, {available} are there; take fewer vectors or fewer threads")
        },
    },
    Rule {
        name: "shared_memory",
        words: "stages * rows_per_block rows of each matrix that is read, the Rows that are kept, each threads_per_row * vector * \
                vectors columns, and what teams tell each other fit the shared memory of a block, and of blocks_per_sm blocks with \
                1 KiB more each that of an SM",
        holds: |s, class, arch| {
            let bytes = shared_bytes(s, class).saturating_add(told_bytes(s, class));
            let of_sm = s.blocks_per_sm.saturating_mul(bytes.saturating_add(RESERVED_SHARED_BYTES));
            bytes <= arch.shared_bytes_per_block() && of_sm <= arch.shared_bytes_per_block() + RESERVED_SHARED_BYTES
        },
        reason: |s, class, arch| {
            let bytes = s.blocks_per_sm.saturating_mul(shared_bytes(s, class).saturating_add(told_bytes(s, class)));
            let limit = arch.shared_bytes_per_block();
            format!("{bytes} bytes, {limit} are there; take fewer stages or fewer columns")
        },
    },
];

/// Whether the family has kernels for a class.
pub fn serves(class: &Class) -> bool {
    let reduces = class.passes.iter().any(|pass| !pass.is_empty());
    reduces && !class.is_by_columns() && class.is_in_place() && class.read_matrices().count() > 0
}

impl S {
    /// Whether this schedule compiles without spills and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }
}

/// Registers of a thread. Teams that make two reductions in one have room for what they know of the next rows.
fn needed_registers(s: &S, class: &Class) -> u32 {
    let knows_next = s.draws && s.rows_per_block > 1 && s.stages > 1 && !s.joins && s.vectors * s.vector > FEW_ELEMENTS;
    let words: u32 = class.read_matrices().map(|dtype| s.vectors * s.vector * dtype.bytes() / 4).sum();
    let is_full = s.cluster > 1 && class.read_rows().count() > 1 && words > FEW_WORDS;
    let drawn = if knows_next { DRAWN_REGISTERS } else { 0 };
    registers(&s.portable(), class) + drawn + if is_full { PIECE_REGISTERS } else { 0 }
}

/// Registers that there are for a thread beside those of the other blocks of its SM.
fn available_registers(s: &S) -> u32 {
    available(&S { rows_per_block: s.rows_per_block * s.blocks_per_sm, ..*s }.portable()) / 8 * 8
}

/// Bytes of the rings, and of the `Row`s that a block keeps: its dynamic shared memory.
pub(super) fn shared_bytes(s: &S, class: &Class) -> u32 {
    let matrices: u32 = class.read_matrices().map(|dtype| dtype.bytes()).sum();
    let rows: u32 = class.read_rows().filter(|_| s.keeps_rows).map(|dtype| dtype.bytes()).sum();
    s.part_columns().saturating_mul(s.rows_per_block * s.stages * matrices + rows)
}

/// Bytes of what warps and blocks tell each other, and of the barriers, at most.
fn told_bytes(s: &S, class: &Class) -> u32 {
    let reduced = class.passes.iter().map(Vec::len).max().unwrap_or(0);
    let joined = Pair::ALL.map(Pair::numbers).into_iter().max().unwrap_or(0);
    let numbers = u32::try_from(reduced + if s.joins { joined } else { 0 }).unwrap_or(u32::MAX);
    let parts = s.threads_per_row / WARP_THREADS * s.cluster;
    let halves = 2 * s.rows_per_block * (numbers.saturating_mul(4 * parts) + 2 * BARRIER_BYTES);
    let drawn = s.rows_per_block * (NUMBER_BYTES * s.stages + TOLD * (NUMBER_BYTES + BARRIER_BYTES));
    halves.saturating_add(BARRIER_BYTES * (s.rows_per_block * s.stages + 2)).saturating_add(drawn)
}
