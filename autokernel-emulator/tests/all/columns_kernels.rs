//! Reductions along columns, by every kind of schedule, against fp64: parts of rows, strips of columns, wherever they lie; mutants.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::compile::{Change, Compiler};
use crate::support::rows::{Compiled, Data, plain, typed};
use crate::support::sample::sample_mutants;
use autokernel_codegen::rows::Sm80Schedule;

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

fn strips() -> Sm80Schedule {
    Sm80Schedule { threads_per_row: 8, rows_per_block: 4, ..plain() }
}

#[test]
fn columns_of_every_type_are_reduced_by_every_kind_of_schedule() {
    let Some(compiler) = Compiler::find("columns_of_every_type_are_reduced_by_every_kind_of_schedule") else { return };
    let schedules = [
        strips(),
        Sm80Schedule { cluster: 1, rows_per_block: 8, ..strips() },
        Sm80Schedule { threads_per_row: 4, rows_per_block: 32, vector: 2, vectors: 8, ..strips() },
        Sm80Schedule { threads_per_row: 64, rows_per_block: 1, vector: 4, vectors: 1, ..strips() },
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

/// Changes of how blocks share strips, each of which a shape shows: the text, and what stands in its place.
const MUTANTS: [(&str, &str); 15] = [
    // The order of arrival, and a counter that is not left zero.
    ("ptx::fetch_add_ordered(arrivals, 1)", "ptx::fetch_add_relaxed(arrivals, 1)"),
    ("static_cast<uint32_t>(end - begin - 1)", "static_cast<uint32_t>(end - begin - 2)"),
    ("      if (is_last) *arrivals = 0;\n", ""),
    ("static_cast<uint32_t*>(args.arrivals) + strip", "static_cast<uint32_t*>(args.arrivals)"),
    // A part in the wrong slot, or of the wrong block.
    ("(block * kParts + is_beginning)", "(block + is_beginning)"),
    ("part(args, blockIdx.x, first == 0, output)", "part(args, blockIdx.x, true, output)"),
    ("part(args, block, block == begin, output)", "part(args, block, false, output)"),
    ("int64_t block = begin + reader;", "int64_t block = begin + 1 + reader;"),
    ("block < end; block += kReaders", "block < end - 1; block += kReaders"),
    ("return ((unit + 1) * blocks + all - 1) / all - 1;", "return (unit + 1) * blocks / all;"),
    // Rows of a unit, and sums of a block.
    ("if (own + kUnit < end) inputs", "if (own + kUnit <= end) inputs"),
    ("args, own + kUnit, column);", "args, own, column);"),
    ("row < kRowsPerBlock; ++row) value", "row < kRowsPerBlock - 1; ++row) value"),
    ("    __syncthreads();  // what was left before may still be read\n", ""),
    ("if (is_aligned && (strip + 1) * kStrip <= args.columns) {", "if (is_aligned) {"),
];

#[test]
fn a_mutant_of_how_blocks_share_strips_is_caught() {
    let Some(compiler) = Compiler::find("a_mutant_of_how_blocks_share_strips_is_caught") else { return };
    let (problem, schedule) = (typed(GRADIENTS, "bf16"), Sm80Schedule { rows_per_block: 8, ..strips() });
    let changes = MUTANTS.map(|(before, after)| Change { file: "columns_sm80.cuh", before, after });
    for change in sample_mutants(changes, 6, |change| *change) {
        let mutant = Compiled::changed(&compiler, &problem, &schedule, change);
        let is_caught = (0..).zip([(150, 70), (2, 16_000), (1200, 136)]).any(|(seed, (rows, columns))| {
            let check = || mutant.check(rows, columns, Data { seed, ..Data::default() });
            catch_unwind(AssertUnwindSafe(check)).is_err()
        });
        assert!(is_caught, "nothing was wrong with {change:?}");
    }
}
