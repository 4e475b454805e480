//! Elements of other columns: both pairings of a rotation and tables that repeat, against fp64, at widths where the last head is
//! part-filled and wherever operands lie.

use crate::support::compile::Compiler;
use crate::support::rows::{Compiled, Data, problem};
use autokernel_codegen::rows::{Keep, Problem, RowsSchedule};

const HALVES: &str = "fn halves(
    x: &Matrix<TYPE>, cosines: &Matrix<TYPE>, sines: &Matrix<f32>, positions: &Index, out: &mut Matrix<TYPE>
) {
    out = x * repeat_columns(cosines[positions]) + rotate_half(x, 16) * repeat_columns(sines[positions]);
}";

const PAIRS: &str = "fn pairs(
    x: &Matrix<TYPE>, weight: &Row<TYPE>, table: &Matrix<TYPE>, at: &Index, out: &mut Matrix<TYPE>, sum: &mut Column<f32>
) {
    let size = row_mean(x * x) + 1e-5;
    sum = size;
    out = x * weight + rotate_pairs(x) * rotate_pairs(weight) / size + rotate_pairs(table[at]);
}";

const NARROW: &str = "fn narrow(x: &Matrix<TYPE>, period: &Row<f32>, out: &mut Matrix<f32>) {
    out = rotate_half(x, 2) * repeat_columns(period) + rotate_half(x, 6);
}";

fn typed(source: &str, ty: &str) -> Problem {
    problem(&source.replace("TYPE", ty))
}

fn plain() -> RowsSchedule {
    RowsSchedule {
        threads_per_row: 32,
        rows_per_block: 2,
        vector: 8,
        cluster: 0,
        vectors: 2,
        keep: Keep::Values,
        blocks_per_sm: 0,
    }
}

#[test]
fn rotations_and_repeated_tables_of_every_type_are_right_wherever_they_lie() {
    let test = "rotations_and_repeated_tables_of_every_type_are_right_wherever_they_lie";
    let Some(compiler) = Compiler::find(test) else { return };
    for source in [HALVES, PAIRS, NARROW] {
        for ty in ["bf16", "f16", "f32"] {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &plain());
            for (seed, columns) in (0..).zip([1, 7, 16, 250, 512, 700]) {
                let padding = [seed % 3, seed % 2, (seed * 5) % 7];
                let skew = [seed % 8, seed / 2 % 4, (seed * 3) % 5];
                compiled.check(5, columns, Data { seed: seed.into(), ..Data::default() });
                compiled.check(5, columns, Data { seed: seed.into(), padding, skew, special: None });
            }
        }
    }
}

#[test]
fn columns_are_moved_by_every_kind_of_schedule_and_by_the_reference() {
    let Some(compiler) = Compiler::find("columns_are_moved_by_every_kind_of_schedule_and_by_the_reference") else {
        return;
    };
    let schedules = [
        RowsSchedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, ..plain() },
        RowsSchedule { threads_per_row: 64, rows_per_block: 4, vector: 2, vectors: 4, ..plain() },
        RowsSchedule { threads_per_row: 64, rows_per_block: 1, cluster: 2, ..plain() },
    ];
    for (source, ty) in [(HALVES, "f16"), (PAIRS, "bf16"), (NARROW, "bf16")] {
        let problem = typed(source, ty);
        for schedule in schedules {
            let compiled = Compiled::new(&compiler, &problem, &schedule);
            let held = schedule.held_columns();
            for columns in [held, held + 1, 2 * held + 5] {
                compiled.check(9, columns, Data { seed: columns.into(), padding: [1, 0, 3], ..Data::default() });
            }
        }
        Compiled::reference(&compiler, &problem).check(4, 300, Data { padding: [1, 0, 3], ..Data::default() });
    }
}
