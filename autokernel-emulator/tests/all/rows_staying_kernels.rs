//! Row-wise kernels of blocks that stay and keep `Row`s: every way that rows begin, drawn problems, orders of events, and mutants.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::compile::{Change, Compiler};
use crate::support::rows::{Compiled, Data, plain, typed};
use crate::support::sample::{sample, sample_mutants};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::rows::{Keep, Sm80Schedule, sm80};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const LAYER_NORM: &str =
    "fn layer_norm(x: &Matrix<TYPE>, weight: &Row<TYPE>, bias: &Row<TYPE>, out: &mut Matrix<TYPE>) {
    let centred = x - row_mean(x);
    out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight + bias;
}";

const ADD_RMS_NORM: &str = "fn add_rms_norm(
    x: &Matrix<TYPE>, skip: &Matrix<TYPE>, weight: &Row<f32>, sum: &mut Matrix<TYPE>, out: &mut Matrix<TYPE>
) {
    let y = x + skip;
    sum = y;
    out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
}";

/// A `Row` that a pass reads which reduces, results of another type, and what columns say.
const WEIGHED: &str = "fn weighed(
    x: &Matrix<TYPE>, by: &Row<TYPE>, scale: &Column<f32>, most: &mut Column<f32>, out: &mut Matrix<f32>
) {
    most = row_max(x * by);
    let e = (x * by - row_max(x * by)).exp();
    out = e / row_sum(e) * scale;
}";

/// As many blocks as alike rows are apart, of an emulated GPU of four SMs.
fn staying() -> Sm80Schedule {
    Sm80Schedule { rows_per_block: 1, blocks_per_sm: 2, keeps_rows: true, ..plain() }
}

/// These, half as many again, fewer, of which none may stay with alike rows, and more on Hopper.
fn schedules() -> [Sm80Schedule; 4] {
    [
        staying(),
        Sm80Schedule { threads_per_row: 64, vectors: 1, blocks_per_sm: 3, ..staying() },
        Sm80Schedule { blocks_per_sm: 1, ..staying() },
        Sm80Schedule { threads_per_row: 64, cluster: 1, blocks_per_sm: 4, ..staying() },
    ]
}

/// More than three laps of all blocks.
const ROWS: u32 = 41;

#[test]
fn rows_of_blocks_that_stay_are_right_wherever_they_begin() {
    let Some(compiler) = Compiler::find("rows_of_blocks_that_stay_are_right_wherever_they_begin") else { return };
    let bodies = [(LAYER_NORM, "bf16"), (LAYER_NORM, "f32"), (ADD_RMS_NORM, "f16"), (WEIGHED, "bf16")];
    for (turn, (source, ty)) in bodies.into_iter().enumerate() {
        for schedule in sample(schedules(), 3, turn) {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &schedule);
            let (held, vector) = (schedule.held_columns(), schedule.vector);
            // No vector between the single elements, one, about half of what is held, all, and more.
            for columns in [1, 3 * vector - 3, 4 * vector - 1, held / 2 + 1, held - 1, held, held + 3, held + 41] {
                compiled.check(ROWS, columns, Data { seed: columns.into(), ..Data::default() });
            }
            // Matrices that begin alike, and such that do not; whole vectors of rows that are aligned and further apart.
            for (padding, skew) in
                [([1, 1, 1], [3, 3, 3]), ([2, 10, 2], [1, 1, 1]), ([1, 0, 3], [3, 0, 1]), ([8, 8, 8], [0, 8, 0])]
            {
                compiled.check(ROWS, held - 5, Data { seed: 3, padding, skew, ..Data::default() });
                compiled.check(3, held / 2, Data { seed: 4, padding, skew, ..Data::default() });
            }
        }
    }
}

#[test]
fn drawn_rows_of_blocks_that_stay_are_right() {
    let Some(compiler) = Compiler::find("drawn_rows_of_blocks_that_stay_are_right") else { return };
    let is_long = std::env::var_os("AUTOKERNEL_SOAK").is_some();
    let mut rng = StdRng::seed_from_u64(4099);
    for _ in 0..if is_long { 60 } else { 4 } {
        let source = *[LAYER_NORM, ADD_RMS_NORM, WEIGHED].choose(&mut rng).unwrap();
        let problem = typed(source, ["bf16", "f16", "f32"].choose(&mut rng).unwrap());
        let arch = *[Arch::SM_80, Arch::SM_90A].choose(&mut rng).unwrap();
        let mut all = sm80::schedules(&problem.class(), arch);
        all.retain(|it| it.keeps_rows && it.threads() <= 128);
        let schedule = *all.choose(&mut rng).unwrap();
        let compiled = Compiled::new(&compiler, &problem, &schedule);
        for _ in 0..6 {
            let columns = rng.random_range(1..=schedule.held_columns() + 20).min(3000);
            let alike = rng.random_range(0..8);
            let mut three = || if alike < 6 { [alike; 3] } else { [(); 3].map(|()| rng.random_range(0..8)) };
            let (padding, skew) = (three(), three());
            let data = Data { seed: rng.random(), padding, skew, ..Data::default() };
            compiled.check(rng.random_range(1..=ROWS), columns, data);
        }
    }
}

#[test]
fn blocks_that_stay_give_the_same_bits_in_every_order_of_events() {
    let Some(compiler) = Compiler::find("blocks_that_stay_give_the_same_bits_in_every_order_of_events") else { return };
    let schedule = Sm80Schedule { threads_per_row: 64, keep: Keep::Values, ..staying() };
    let compiled = Compiled::new(&compiler, &typed(LAYER_NORM, "bf16"), &schedule);
    for columns in [schedule.held_columns(), schedule.held_columns() - 3] {
        let bits = |order| compiled.outputs(ROWS, columns, Data { seed: 7, ..Data::default() }, order);
        assert!((1..4).all(|order| bits(order) == bits(0)), "{columns}");
    }
}

/// Changes of the CUDA files, each of which a schedule shows: the file, the text, and what stands in its place.
const MUTANTS: [(&str, &str, &str); 11] = [
    ("rows_staying.cuh", "Base::step() / kAlike * kAlike;", "Base::step();"),
    ("rows_staying.cuh", "if (first >= step) return;  // a block beyond", ""),
    ("rows_staying.cuh", "(Row<kCut>(args, number + step), 0, next);", "(Row<kCut>(args, number), 0, next);"),
    ("rows_staying.cuh", "(Row<kCut>(args, first), 0, next);", "(Row<kCut>(args, first + step), 0, next);"),
    ("rows_staying.cuh", " && Base::step() >= Schedule::kVector", ""),
    ("rows_staying.cuh", " && Problem::is_alike(args)", ""),
    ("rows_staying.cuh", "args.columns / Schedule::kVector <= Base::kStretch;", "true;"),
    ("rows_kept.cuh", "place.shared() + row.span(0, vector).held * place.kElementBytes", "place.shared()"),
    ("rows_kept.cuh", "kBefore * kKeptColumns<Schedule>;", "0;"),
    ("rows_sm80.cuh", "kBefore > 0 ? max(columns - head - kBefore, 0) : columns - head", "columns - head"),
    ("rows_vector.cuh", "before % 4 * 8", "0"),
];

#[test]
fn a_mutant_of_blocks_that_stay_is_caught_by_some_schedule() {
    let Some(compiler) = Compiler::find("a_mutant_of_blocks_that_stay_is_caught_by_some_schedule") else { return };
    let [staying, more, fewer, _] = schedules();
    // Of the second the matrices do not begin alike where they are padded.
    let (alike, apart) = (typed(LAYER_NORM, "bf16"), typed(ADD_RMS_NORM, "f16"));
    let shown_by = [(&alike, staying), (&alike, more), (&alike, fewer), (&apart, staying)];
    let changes = MUTANTS.map(|(file, before, after)| Change { file, before, after });
    for change in sample_mutants(changes, 6, |change| *change) {
        let is_caught = shown_by.into_iter().any(|(problem, schedule)| {
            let mutant = Compiled::changed(&compiler, problem, &schedule, change);
            let held = schedule.held_columns();
            let alone = ([0; 3], [0; 3]);
            let cases = [(held - 3, alone), (held, alone), (held + 41, alone), (held - 3, ([1, 0, 3], [3, 0, 1]))];
            cases.into_iter().any(|(columns, (padding, skew))| {
                let check = || mutant.check(ROWS, columns, Data { seed: 1, padding, skew, ..Data::default() });
                catch_unwind(AssertUnwindSafe(check)).is_err()
            })
        });
        assert!(is_caught, "nothing was wrong with {change:?}");
    }
}
