//! Reductions along columns, by every kind of schedule, against fp64: parts of rows, strips of columns, wherever they lie.

use crate::support::compile::Compiler;
use crate::support::rows::{Compiled, Data, plain, typed};
use autokernel_codegen::rows::RowsSchedule;

const GRADIENTS: &str = "fn gradients(
    dy: &Matrix<TYPE>, x: &Matrix<f32>, mean: &Column<f32>, weight: &Row<TYPE>, bias: &mut Row<f32>, gain: &mut Row<TYPE>
) {
    bias = column_sum(dy);
    gain = column_mean(dy * (x - mean) * weight);
}";

const EXTREMES: &str = "fn extremes(x: &Matrix<TYPE>, most: &mut Row<TYPE>, least: &mut Row<f32>) {
    most = column_max(x);
    least = column_min(if x < 0.0 { row_index() * 0.25 + x } else { column_index() });
}";

fn strips() -> RowsSchedule {
    RowsSchedule { threads_per_row: 8, rows_per_block: 4, ..plain() }
}

#[test]
fn columns_of_every_type_are_reduced_by_every_kind_of_schedule() {
    let Some(compiler) = Compiler::find("columns_of_every_type_are_reduced_by_every_kind_of_schedule") else { return };
    let schedules = [
        strips(),
        RowsSchedule { cluster: 1, rows_per_block: 8, ..strips() },
        RowsSchedule { threads_per_row: 4, rows_per_block: 32, vector: 2, vectors: 8, ..strips() },
        RowsSchedule { threads_per_row: 64, rows_per_block: 1, vector: 4, vectors: 1, ..strips() },
    ];
    for (source, ty) in [(GRADIENTS, "bf16"), (EXTREMES, "f16"), (GRADIENTS, "f32")] {
        let problem = typed(source, ty);
        for schedule in schedules {
            let compiled = Compiled::new(&compiler, &problem, &schedule);
            for (seed, (rows, columns)) in (0..).zip([(1, 1), (5, 63), (70, 64), (150, 65), (9, 300)]) {
                let padding = [seed % 3, seed % 2, (seed * 5) % 7];
                let skew = [seed % 8, seed / 2 % 4, (seed * 3) % 5];
                compiled.check(rows, columns, Data { seed: seed.into(), padding, skew, ..Data::default() });
            }
        }
    }
}

#[test]
fn the_same_bits_of_columns_come_out_of_every_order_of_events_and_the_reference_is_right() {
    let test = "the_same_bits_of_columns_come_out_of_every_order_of_events_and_the_reference_is_right";
    let Some(compiler) = Compiler::find(test) else { return };
    let problem = typed(GRADIENTS, "bf16");
    let compiled = Compiled::new(&compiler, &problem, &strips());
    let first = compiled.outputs(150, 70, Data::default(), 0);
    for order in 1..6 {
        assert_eq!(compiled.outputs(150, 70, Data::default(), order), first);
    }
    Compiled::reference(&compiler, &problem).check(40, 70, Data { padding: [1, 0, 3], ..Data::default() });
}
