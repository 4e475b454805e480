//! Rows that an index picks: no access outside of an operand, whatever the index holds, and everything against fp64.

use crate::support::compile::Compiler;
use crate::support::rows::{Compiled, Data, problem};
use autokernel_codegen::rows::{Keep, Problem, RowsSchedule};

const GATHER: &str = "fn gather(
    table: &Matrix<TYPE>, scales: &Column<f32>, ids: &Index, skip: &Matrix<TYPE>, out: &mut Matrix<TYPE>
) {
    out = if ids >= 0.0 { table[ids] * scales[ids] } else { 0.0 } + skip;
}";

const NORM: &str = "fn norm(
    table: &Matrix<TYPE>, weight: &Row<f32>, ids: &Index, others: &Index, out: &mut Matrix<f32>, sum: &mut Column<f32>
) {
    let y = table[ids] - table[others];
    let mean = row_mean(y * y);
    sum = mean;
    out = y / (mean + 1e-5).sqrt() * weight;
}";

const SCATTER: &str = "fn scatter(
    x: &Matrix<TYPE>, slots: &Index, cache: &mut Matrix<TYPE>, most: &mut Column<f32>, out: &mut Matrix<TYPE>
) {
    cache[slots] = x;
    most[slots] = row_max(x);
    out = 2.0 * x;
}";

const MOVE: &str =
    "fn permute(x: &Matrix<TYPE>, from: &Index, to: &Index, out: &mut Matrix<TYPE>) { out[to] = x[from]; }";

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
fn gathered_and_scattered_rows_of_every_type_are_right_wherever_they_lie() {
    let test = "gathered_and_scattered_rows_of_every_type_are_right_wherever_they_lie";
    let Some(compiler) = Compiler::find(test) else { return };
    for source in [GATHER, NORM, SCATTER, MOVE] {
        for ty in ["bf16", "f16", "f32"] {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &plain());
            for (seed, columns) in (0..).zip([1, 7, 8, 250, 512, 700]) {
                let padding = [seed % 3, seed % 2, (seed * 5) % 7];
                let skew = [seed % 8, seed / 2 % 4, (seed * 3) % 5];
                compiled.check(6, columns, Data { seed: seed.into(), ..Data::default() });
                compiled.check(6, columns, Data { seed: seed.into(), padding, skew, special: None });
            }
        }
    }
}

#[test]
fn rows_are_picked_by_every_kind_of_schedule_and_by_the_reference() {
    let Some(compiler) = Compiler::find("rows_are_picked_by_every_kind_of_schedule_and_by_the_reference") else {
        return;
    };
    let schedules = [
        RowsSchedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, ..plain() },
        RowsSchedule { threads_per_row: 64, rows_per_block: 4, vector: 2, vectors: 4, ..plain() },
        RowsSchedule { threads_per_row: 64, rows_per_block: 1, cluster: 2, ..plain() },
    ];
    for (source, ty) in [(GATHER, "f16"), (NORM, "bf16"), (SCATTER, "bf16")] {
        let problem = typed(source, ty);
        for schedule in schedules {
            let compiled = Compiled::new(&compiler, &problem, &schedule);
            let held = schedule.held_columns();
            for columns in [held, held + 1, 2 * held + 5] {
                compiled.check(9, columns, Data { seed: columns.into(), padding: [1, 0, 3], ..Data::default() });
            }
        }
        Compiled::reference(&compiler, &problem).check(6, 300, Data { padding: [1, 0, 3], ..Data::default() });
    }
}
