//! Row-wise kernels of Hopper's family, to whose blocks bulk copies bring rows: several laps of the rings, every cluster, parts that
//! rows end inside of, rows that the ring cannot bring, races, and mutants.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::compile::{Change, Compiler};
use crate::support::rows::{Compiled, Data, typed};
use crate::support::sample::{sample, sample_mutants, share};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::rows::{Keep, Sm90Schedule};

const SOFTMAX: &str = "fn softmax(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}";

const LAYER_NORM: &str =
    "fn layer_norm(x: &Matrix<TYPE>, weight: &Row<TYPE>, bias: &Row<f32>, out: &mut Matrix<TYPE>) {
    let centred = x - row_mean(x);
    out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight + bias;
}";

const ADD_RMS_NORM: &str = "fn add_rms_norm(
    x: &Matrix<TYPE>, skip: &Matrix<f32>, weight: &Row<TYPE>, sum: &mut Matrix<f32>, out: &mut Matrix<TYPE>
) {
    let y = x + skip;
    sum = y;
    out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
}";

/// A reduction behind which nothing is written but columns, and three of one pass.
const STATISTICS: &str = "fn statistics(
    x: &Matrix<TYPE>, scale: &Column<f32>, least: &mut Column<TYPE>, span: &mut Column<f32>, sum: &mut Column<f32>
) {
    least = row_min(x);
    span = row_max(x) - row_min(x);
    sum = row_sum(x * scale);
}";

/// Four reductions that follow each other, so that what threads tell each other with takes turns within a row.
const MOMENTS: &str = "fn f(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let a = x - row_mean(x);
    let b = a / (1.0 + row_max(a.abs()));
    let c = b * b - row_mean(b * b);
    out = c / (0.5 + row_sum(c * c));
}";

const INF: f64 = f64::INFINITY;
const SPECIAL_ROWS: &[(f64, u32)] =
    &[(-INF, 100), (INF, 100), (f64::NAN, 100), (-INF, 2), (INF, 1), (f64::NAN, 1), (1e30, 50), (-0.0, 100)];

/// Two teams of few threads, whose rings have places for two rows.
fn plain() -> Sm90Schedule {
    Sm90Schedule {
        threads_per_row: 128,
        rows_per_block: 2,
        vector: 8,
        cluster: 1,
        vectors: 1,
        stages: 2,
        keep: Keep::Values,
        keeps_rows: false,
        joins: false,
        blocks_per_sm: 1,
        draws: false,
    }
}

/// One team and more, of one place and more, alone and in clusters, that keep `Row`s and do not, by equal shares and by drawing.
fn schedules() -> [Sm90Schedule; 12] {
    [
        plain(),
        Sm90Schedule { rows_per_block: 1, stages: 1, keeps_rows: true, ..plain() },
        Sm90Schedule { rows_per_block: 4, stages: 3, keep: Keep::Inputs, ..plain() },
        Sm90Schedule { threads_per_row: 256, vectors: 2, stages: 1, keeps_rows: true, joins: true, ..plain() },
        Sm90Schedule { cluster: 2, keeps_rows: true, ..plain() },
        Sm90Schedule { cluster: 2, vectors: 2, rows_per_block: 1, stages: 3, joins: true, ..plain() },
        Sm90Schedule { cluster: 4, stages: 1, keeps_rows: true, ..plain() },
        Sm90Schedule { cluster: 8, rows_per_block: 1, ..plain() },
        Sm90Schedule { draws: true, stages: 1, keeps_rows: true, ..plain() },
        Sm90Schedule { draws: true, rows_per_block: 1, stages: 3, blocks_per_sm: 2, ..plain() },
        Sm90Schedule { draws: true, cluster: 2, rows_per_block: 1, blocks_per_sm: 2, joins: true, ..plain() },
        Sm90Schedule { draws: true, cluster: 4, stages: 1, keeps_rows: true, ..plain() },
    ]
}

/// The kernel, where the body allows the schedule or the nearest one.
fn compiled(compiler: &Compiler, source: &str, ty: &str, schedule: Sm90Schedule) -> Option<(Compiled, Sm90Schedule)> {
    let problem = typed(source, ty);
    let narrow = if ty == "f32" { 4 } else { schedule.vector };
    let as_is = Sm90Schedule { vector: narrow, ..schedule };
    let nearest = [
        as_is,
        Sm90Schedule { keep: Keep::Values, ..as_is },
        Sm90Schedule { keeps_rows: false, ..as_is },
        Sm90Schedule { joins: false, ..as_is },
        Sm90Schedule { keeps_rows: false, joins: false, keep: Keep::Values, ..as_is },
    ];
    let schedule = nearest.into_iter().find(|it| it.check(&problem.class(), Arch::SM_90A).is_ok())?;
    Some((Compiled::on_ring(compiler, &problem, &schedule, None), schedule))
}

/// As many rows as take every team of the emulated GPU's blocks round its ring more than once, and one more.
fn rows_for(schedule: &Sm90Schedule) -> u32 {
    let blocks = (4 * schedule.blocks_per_sm / schedule.cluster).max(1);
    blocks * schedule.rows_per_block * (schedule.stages + 1) + 1
}

#[test]
fn rows_that_rings_bring_are_right_by_every_kind_of_schedule() {
    let Some(compiler) = Compiler::find("rows_that_rings_bring_are_right_by_every_kind_of_schedule") else { return };
    let bodies =
        [(SOFTMAX, "bf16"), (LAYER_NORM, "bf16"), (ADD_RMS_NORM, "f16"), (STATISTICS, "bf16"), (MOMENTS, "f32")];
    let mut checked = 0;
    for (turn, (source, ty)) in bodies.into_iter().enumerate() {
        for schedule in sample(schedules(), 3, turn) {
            let Some((compiled, schedule)) = compiled(&compiler, source, ty, schedule) else { continue };
            let (held, rows) = (schedule.held_columns(), rows_for(&schedule));
            let (part, vector) = (schedule.part_columns(), schedule.vector);
            // Less than a warp's vectors, a part and a little more, all but one vector, and all.
            for columns in [0, vector, part / 2 + 3 * vector, held - vector, held] {
                let data = Data { seed: columns.into(), ..Data::default() };
                compiled.check(if columns == held { rows } else { 5 }, columns, data);
                checked += 1;
            }
            // Rows that lie further apart than they are long.
            let data = Data { seed: 5, padding: [8, 16, 8], skew: [8, 0, 16], ..Data::default() };
            compiled.check(3, held / 2 + vector, data);
        }
    }
    assert!(checked >= share(150, 3), "{checked} were checked");
}

#[test]
fn rows_that_the_ring_cannot_bring_are_right_too() {
    let Some(compiler) = Compiler::find("rows_that_the_ring_cannot_bring_are_right_too") else { return };
    let bodies = [(SOFTMAX, "bf16"), (LAYER_NORM, "f16"), (ADD_RMS_NORM, "f32")];
    for (turn, (source, ty)) in bodies.into_iter().enumerate() {
        // Few columns a thread, of which ragged ones are held, and many.
        let many = Sm90Schedule { vectors: 4, ..plain() };
        for schedule in sample(schedules(), 3, turn).chain([many]) {
            let Some((compiled, schedule)) = compiled(&compiler, source, ty, schedule) else { continue };
            let held = schedule.held_columns();
            let rows = 2 * schedule.rows_per_block + 1;
            // Longer ones, ones that end inside of a vector, and ones that begin anywhere.
            for columns in [1, held / 2 + 3, held + schedule.vector, held + 1] {
                if columns <= 5000 {
                    compiled.check(rows, columns, Data { seed: columns.into(), ..Data::default() });
                }
            }
            let data = Data { seed: 3, padding: [1, 0, 3], skew: [3, 0, 1], ..Data::default() };
            compiled.check(rows, (held / 2).min(3000), data);
        }
    }
}

#[test]
fn rows_that_begin_anywhere_come_by_the_ring_where_those_of_a_team_begin_alike() {
    let test = "rows_that_begin_anywhere_come_by_the_ring_where_those_of_a_team_begin_alike";
    let Some(compiler) = Compiler::find(test) else { return };
    // As many teams as alike rows are apart, half as many again, and fewer, of which none may.
    let shifting = |blocks_per_sm, cluster| Sm90Schedule {
        rows_per_block: 1,
        keeps_rows: true,
        blocks_per_sm,
        cluster,
        ..plain()
    };
    let bodies = [(SOFTMAX, "bf16"), (LAYER_NORM, "f16"), (ADD_RMS_NORM, "f32"), (STATISTICS, "bf16")];
    for (turn, (source, ty)) in bodies.into_iter().enumerate() {
        for schedule in sample([shifting(2, 1), shifting(3, 1), shifting(1, 1), shifting(4, 2)], 2, turn) {
            let Some((compiled, schedule)) = compiled(&compiler, source, ty, schedule) else { continue };
            let (held, vector, rows) = (schedule.held_columns(), schedule.vector, rows_for(&schedule));
            // A whole vector behind the single elements, fewer, as many as are held, and none.
            for columns in [1, vector + 3, held / 2 + 1, held - 1, held + 3] {
                compiled.check(rows, columns, Data { seed: columns.into(), ..Data::default() });
            }
            // Matrices that begin alike, and such that do not.
            for (padding, skew) in [([1, 1, 1], [3, 3, 3]), ([2, 10, 2], [1, 1, 1]), ([1, 0, 3], [3, 0, 1])] {
                compiled.check(rows, held - 5, Data { seed: 3, padding, skew, ..Data::default() });
            }
        }
    }
}

#[test]
fn every_type_is_right_and_so_are_outputs_of_another() {
    let Some(compiler) = Compiler::find("every_type_is_right_and_so_are_outputs_of_another") else { return };
    for source in [SOFTMAX, LAYER_NORM, ADD_RMS_NORM, STATISTICS, MOMENTS] {
        for ty in ["bf16", "f16", "f32"] {
            let schedule = Sm90Schedule { keeps_rows: true, ..plain() };
            let (compiled, schedule) = compiled(&compiler, source, ty, schedule).unwrap();
            compiled.check(9, schedule.held_columns() - 3 * schedule.vector, Data { seed: 9, ..Data::default() });
        }
    }
}

#[test]
fn rows_of_infinities_and_of_no_numbers_go_where_the_body_sends_them() {
    let test = "rows_of_infinities_and_of_no_numbers_go_where_the_body_sends_them";
    let Some(compiler) = Compiler::find(test) else { return };
    let few = [plain(), Sm90Schedule { joins: true, ..plain() }, Sm90Schedule { cluster: 2, ..plain() }];
    for source in [SOFTMAX, LAYER_NORM, STATISTICS] {
        for schedule in few {
            let Some((compiled, schedule)) = compiled(&compiler, source, "bf16", schedule) else { continue };
            for columns in [24, schedule.held_columns() - 40] {
                let data = Data { seed: columns.into(), of_rows: SPECIAL_ROWS, ..Data::default() };
                compiled.check(SPECIAL_ROWS.len() as u32, columns, data);
                for special in [f64::NAN, INF, -INF] {
                    compiled.check(4, columns, Data { special: Some(special), ..Data::default() });
                }
            }
        }
    }
}

#[test]
fn rings_give_the_same_bits_in_every_order_of_events_and_those_of_threads_that_load_rows_themselves() {
    let test = "rings_give_the_same_bits_in_every_order_of_events_and_those_of_threads_that_load_rows_themselves";
    let Some(compiler) = Compiler::find(test) else { return };
    let orders = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 16 } else { 4 };
    for (source, ty) in [(LAYER_NORM, "bf16"), (MOMENTS, "f32")] {
        // Teams and turns, and clusters.
        for schedule in [0, 3, 4, 5].map(|at| schedules()[at]) {
            let Some((ring, schedule)) = compiled(&compiler, source, ty, schedule) else { continue };
            let (rows, columns) = (rows_for(&schedule), schedule.held_columns() - 2 * schedule.vector);
            let data = Data { seed: 7, ..Data::default() };
            let bits = |order| ring.outputs(rows, columns, data, order);
            let first = bits(0);
            assert!((1..orders).all(|order| bits(order) == first), "{schedule}");
            // A team reduces as one of the portable family does; the blocks of a cluster there take other columns.
            if schedule.cluster > 1 {
                continue;
            }
            let portable = autokernel_codegen::rows::Sm80Schedule { blocks_per_sm: 0, ..schedule.portable() };
            let portable = Compiled::new(&compiler, &typed(source, ty), &portable);
            assert_eq!(portable.outputs(rows, columns, data, 1), first, "{schedule}");
        }
    }
}

/// Changes of the CUDA files, each of which a schedule shows: the file, the text, and what stands in its place.
const MUTANTS: [(&str, &str, &str); 38] = [
    ("rows_sm90.cuh", "    ptx::mbarrier_wait(ring.arrival(turn), Ring::parity(turn));\n", ""),
    ("rows_sm90.cuh", "return turn / kStages % 2;", "return 0;"),
    ("rows_sm90.cuh", "      ptx::named_barrier_wait(kReadBarrier + Team::number(), kThreads);\n", ""),
    ("rows_sm90.cuh", "request<kCut>(args, next, ring, turn);", "request<kCut>(args, next, ring, turn + 1);"),
    ("rows_sm90.cuh", "first + (turn + kStages) * step;", "first + (turn + 1) * step;"),
    ("rows_sm90.cuh", "team.turns = turn * Problem::kReductions;", "team.turns = 0;"),
    ("rows_sm90.cuh", "kReadBarrier = 1 + kTeams;", "kReadBarrier = 1;"),
    ("rows_sm90.cuh", "row.piece.count * sizeof(Inputs)", "Part::kVectors * sizeof(Inputs)"),
    ("rows_sm90.cuh", "load_shared(packed, from, row.span(0, vector).is_inside);", "load_shared(packed, from, true);"),
    ("rows_sm90.cuh", "ptx::mbarrier_wait(ptx::shared_address(&arrivals.kept), 0);", ";"),
    ("rows_sm90.cuh", "+ Team::number() * kStages * kPlaceBytes", ""),
    ("rows_part.cuh", "row + piece.first * kVector", "row"),
    ("rows_vector.cuh", "const int first = block * most;", "const int first = 0;"),
    ("rows_sm90.cuh", "place.row + row.head, row.piece", "place.row, row.piece"),
    ("rows_sm90.cuh", "uint32_t(Base::step()) / kAlike * kAlike;", "uint32_t(Base::step());"),
    ("rows_sm90.cuh", "if (kAlike > 1 && first >= step) return;", ""),
    ("rows_sm90.cuh", "      keep_rows<Problem, Schedule, true>(row);\n", ""),
    ("rows_sm80.cuh", "kBefore > 0 ? max(columns - head - kBefore, 0) : columns - head", "columns - head"),
    ("rows_vector.cuh", "const bool moves = before & step * 4;", "const bool moves = false;"),
    ("rows_vector.cuh", "before % 4 * 8", "0"),
    ("rows_sm90.cuh", "if (turn >= kStages || number >= args.rows) return;", "if (turn >= kStages) return;"),
    ("rows_sm90.cuh", "if (kOverlaps && is_whole) prefetch_first_rows(args);", "prefetch_first_rows(args);"),
    ("rows_sm90.cuh", "    ptx::wait_for_previous_grids();\n", ""),
    ("rows_part.cuh", "ptx::bulk_prefetch(row + piece.first", "ptx::bulk_prefetch(row + (kVectors - 1)"),
    ("rows_sm90.cuh", "singles.request(Row<kCut>(args, row.index + step));", ""),
    ("rows_reduce.cuh", "const int half = turns % 2;", "const int half = 0;"),
    ("rows_reduce.cuh", "      ptx::mbarrier_arrive_remote(arrived, peer);\n", ""),
    ("rows_reduce.cuh", "scratch.arrived[half][team]), 1 + kBlocks);", "scratch.arrived[half][team]), kBlocks);"),
    ("rows_reduce.cuh", "const int sharing = kSharing > 1 ? number() : 0;", "const int sharing = 0;"),
    ("rows_reduce.cuh", "ptx::named_barrier_wait(1 + number(), kThreads);", ""),
    ("rows_drawn.cuh", "(kStages + (kBlocks > 1)) * step;", "kStages * step + (kBlocks > 1);"),
    ("rows_drawn.cuh", "number = turn > 0 ? take(told, turn) : first + kStages * step;", "number = take(told, turn);"),
    ("rows_drawn.cuh", "if (ahead < rows) draw(counter);", "draw(counter);"),
    ("rows_drawn.cuh", "drawn == shared + step - 1)", "drawn == shared + step)"),
    (
        "rows_drawn.cuh",
        "ptx::mbarrier_wait(ptx::shared_address(&told.arrivals[at]), (turn - 1) / Told::kNumbers % 2);",
        "",
    ),
    ("rows_drawn.cuh", "kNumbers = 4;", "kNumbers = 1;"),
    ("rows_sm90.cuh", "    slot = number;\n", ""),
    (
        "rows_sm90.cuh",
        "request_drawn(args, next, ring, turn, number);",
        "request_drawn(args, next, ring, turn + 1, number);",
    ),
];

#[test]
fn a_mutant_of_the_rings_is_caught_by_some_schedule() {
    let Some(compiler) = Compiler::find("a_mutant_of_the_rings_is_caught_by_some_schedule") else { return };
    let shown_by = [
        Sm90Schedule { keeps_rows: true, ..plain() },
        Sm90Schedule { keeps_rows: true, cluster: 2, vectors: 2, vector: 8, ..plain() },
        Sm90Schedule { draws: true, ..plain() },
        Sm90Schedule { draws: true, cluster: 2, ..plain() },
        // As many blocks as rows that begin alike are apart, and more.
        Sm90Schedule { rows_per_block: 1, keeps_rows: true, blocks_per_sm: 3, ..plain() },
    ];
    let problem = typed(LAYER_NORM, "bf16");
    let changes = MUTANTS.map(|(file, before, after)| Change { file, before, after });
    for change in sample_mutants(changes, 10, |change| *change) {
        let is_caught = shown_by.into_iter().any(|schedule| {
            let mutant = Compiled::on_ring(&compiler, &problem, &schedule, Some(change));
            let (rows, held) = (rows_for(&schedule), schedule.held_columns());
            // Many rows, and fewer than teams.
            [(rows, held), (rows, held / 2 + 8), (rows, held - 3), (1, held)].into_iter().any(|(rows, columns)| {
                let check = || mutant.check(rows, columns, Data { seed: 1, ..Data::default() });
                catch_unwind(AssertUnwindSafe(check)).is_err()
            })
        });
        assert!(is_caught, "nothing was wrong with {change:?}");
    }
}
