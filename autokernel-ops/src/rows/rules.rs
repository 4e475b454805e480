//! What a schedule of the portable family must keep.

use super::passes::Keep;
use super::problem::Class;
use super::schedule::RowsSchedule as S;
use crate::rule::Rule;

const MAX_THREADS: u32 = 1024;
const WARP_THREADS: u32 = 32;
/// The widest vector of a thread, in bytes: two accesses of 16.
const MAX_VECTOR_BYTES: u32 = 32;
/// Vectors are counted in 32 bits, and the last stretch of a row may end this far beyond it.
const MAX_HELD_COLUMNS: u32 = 1 << 17;
/// Registers beside vectors: addresses, counters, what the row shares.
const WORKING_REGISTERS: u32 = 32;
/// Registers of a vector's place in its row, beside its elements.
const VECTOR_REGISTERS: u32 = 3;
/// Registers of an operand's address and of its state.
const OPERAND_REGISTERS: u32 = 3;
/// Registers that ptxas gives a thread.
const MAX_REGISTERS: u32 = 255;
/// Registers of one multiprocessor.
const REGISTER_FILE: u32 = 65_536;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "threads",
        words: "threads_per_row is a power of two from 4 to 1024, rows_per_block one from 1 to 64; together they are 32 \
                to 1024 threads",
        holds: |s, _, _| {
            let powers = s.threads_per_row.is_power_of_two() && s.rows_per_block.is_power_of_two();
            let ranges = (4..=MAX_THREADS).contains(&s.threads_per_row) && (1..=64).contains(&s.rows_per_block);
            powers && ranges && (WARP_THREADS..=MAX_THREADS).contains(&s.threads())
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
        name: "vectors",
        words: "vectors is 1, 2, 4 or 8; a row's threads hold at most 131072 columns",
        holds: |s, _, _| [1, 2, 4, 8].contains(&s.vectors) && s.held_columns() <= MAX_HELD_COLUMNS,
        reason: |s, _, _| {
            format!(
                "vectors = {}, {} columns held; take 1, 2, 4 or 8, and fewer threads a row",
                s.vectors,
                s.held_columns()
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
        name: "blocks_per_sm",
        words: "blocks_per_sm is 0, 1, 2, 4 or 8; those blocks have at most 2048 threads",
        holds: |s, _, _| [0, 1, 2, 4, 8].contains(&s.blocks_per_sm) && s.blocks_per_sm * s.threads() <= 2048,
        reason: |s, _, _| {
            format!("{} blocks of {} threads; an SM holds 2048 threads: take fewer", s.blocks_per_sm, s.threads())
        },
    },
    Rule {
        name: "registers",
        words: "vectors * (registers of a vector of each input and of what is kept + 3) + 2 * vector + 3 an operand + 32 \
                is at most 255, and at most 65536 / threads",
        holds: |s, class, _| registers(s, class) <= available(s),
        reason: |s, class, _| {
            let (needed, available) = (registers(s, class), available(s));
            format!("about {needed} registers a thread, {available} are there; take fewer vectors or fewer threads")
        },
    },
];

/// Registers of a thread for a class.
fn registers(s: &S, class: &Class) -> u32 {
    let inputs: u32 = class.read_matrices().map(|dtype| s.vector * dtype.bytes() / 4).sum();
    let kept = if s.keep == Keep::Values { class.kept * s.vector } else { 0 };
    let operands = u32::try_from(class.operands.len()).unwrap_or(u32::MAX);
    registers_for(s, inputs, kept, OPERAND_REGISTERS * operands + class.cost.registers)
}

/// Registers of a thread: the vectors that it holds, one vector's elements on their way, and the rest.
pub(super) fn registers_for(s: &S, inputs: u32, kept: u32, rest: u32) -> u32 {
    s.vectors * (inputs + kept + VECTOR_REGISTERS) + 2 * s.vector + rest + WORKING_REGISTERS
}

/// Registers that there are for a thread.
pub(super) fn available(s: &S) -> u32 {
    MAX_REGISTERS.min(REGISTER_FILE / s.threads().max(1))
}
