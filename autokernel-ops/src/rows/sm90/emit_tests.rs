use autokernel_core::{Arch, Dtype};
use expect_test::expect_file;

use super::*;
use crate::body::{Body, Kind, Reduction};
use crate::rows::cases::{name, reads, reduce, store, writes};
use crate::rows::sm90::serves;
use crate::rows::{Sm80Schedule, cases};

/// Two teams of one block an SM, that take equal shares.
fn schedule(problem: &Problem) -> Sm90Schedule {
    let drawing = Sm90Schedule::for_columns(&problem.class(), 16_384, Arch::SM_90A).unwrap();
    let (cluster, stages, joins, draws) = (1, 1, false, false);
    Sm90Schedule { threads_per_row: 512, rows_per_block: 2, cluster, stages, joins, blocks_per_sm: 1, draws, ..drawing }
}

#[test]
fn softmax_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    expect_file!["../golden/softmax_sm90.cu"].assert_eq(&kernel(&problem, &schedule(&problem)).0.cuda);
}

#[test]
fn operands_that_nothing_written_needs_take_no_memory_of_a_block() {
    let mut body = cases::softmax();
    body.operands.extend([reads("idle", Kind::Matrix, Dtype::F32), reads("row", Kind::Row, Dtype::F32)]);
    let (idle, plain) = (Problem::new(body.clone()).unwrap(), Problem::new(cases::softmax()).unwrap());
    let schedule = Sm90Schedule { keeps_rows: true, ..schedule(&plain) };
    let asserted = |problem: &Problem| {
        let cuda = kernel(problem, &schedule).0.cuda;
        cuda.lines().find(|line| line.contains("kSharedBytes ==")).unwrap().to_owned()
    };
    assert_eq!(asserted(&idle), asserted(&plain));
    // What reads no matrix has none to bring.
    let reduced = |of: &str| vec![reduce("sum", Reduction::Sum, name(of)), store("out", name("sum"))];
    let operands = [reads("x", Kind::Matrix, Dtype::F32), reads("row", Kind::Row, Dtype::F32)];
    let operands: Vec<_> = operands.into_iter().chain([writes("out", Kind::Matrix, Dtype::F32)]).collect();
    let of =
        |it: &str| Problem::new(Body { operands: operands.clone(), steps: reduced(it), ..Body::default() }).unwrap();
    assert!(serves(&of("x").class()) && !serves(&of("row").class()));
}

#[test]
fn add_rms_norm_whose_weight_is_kept_by_a_cluster_is_as_golden() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let schedule = Sm90Schedule { cluster: 2, ..schedule(&problem) };
    assert!(schedule.keeps_rows);
    expect_file!["../golden/add_rms_norm_sm90.cu"].assert_eq(&kernel(&problem, &schedule).0.cuda);
}

#[test]
fn softmax_whose_teams_draw_rows_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = Sm90Schedule { draws: true, blocks_per_sm: 2, rows_per_block: 1, cluster: 2, ..schedule(&problem) };
    expect_file!["../golden/softmax_drawn_sm90.cu"].assert_eq(&kernel(&problem, &schedule).0.cuda);
}

#[test]
fn a_launch_whose_teams_draw_rows_has_a_counter_that_is_zero() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = Sm90Schedule { blocks_per_sm: 2, rows_per_block: 1, ..schedule(&problem) };
    let shares = kernel(&problem, &schedule).1;
    assert!(shares.workspace.is_empty() && shares.kernels[0].args.iter().all(|field| field.name != "drawn"));
    let draws = kernel(&problem, &Sm90Schedule { draws: true, ..schedule }).1;
    let contents: Vec<Contents> = draws.workspace.iter().map(|buffer| buffer.contents).collect();
    assert_eq!(contents, [Contents::Zeros]);
    let last = draws.kernels[0].args.last().unwrap();
    assert_eq!((&*last.name, &last.arg), ("drawn", &Arg::Workspace { buffer: 0 }));
    assert_eq!(draws.kernels[0].grid.residency.blocks_per_sm(), Some(2));
}

#[test]
fn different_kernels_have_different_names() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let plain = schedule(&problem);
    let name = |schedule: Sm90Schedule| kernel(&problem, &schedule).0.symbol;
    let others = [
        Sm90Schedule { stages: 4, ..plain },
        Sm90Schedule { cluster: 2, ..plain },
        Sm90Schedule { keeps_rows: false, ..plain },
        Sm90Schedule { rows_per_block: 1, ..plain },
        Sm90Schedule { vectors: 2, ..plain },
        Sm90Schedule { draws: true, ..plain },
        Sm90Schedule { blocks_per_sm: 2, ..plain },
    ];
    assert!(others.into_iter().all(|other| name(other) != name(plain)));
    let portable = Sm80Schedule { ..plain.portable() };
    assert_ne!(name(plain), crate::rows::emit::kernel(&problem, &portable).0.symbol);
}

#[test]
fn a_launch_gives_each_sm_one_block_whose_dynamic_memory_holds_the_rings_and_the_rows_that_are_kept() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let schedule = Sm90Schedule { stages: 2, rows_per_block: 1, cluster: 4, ..schedule(&problem) };
    let (_, plan) = kernel(&problem, &schedule);
    let step = &plan.kernels[0];
    assert_eq!(step.shared_bytes, schedule.part_columns() * (2 * (2 + 2) + 2));
    assert_eq!((step.threads, step.grid.cluster, step.grid.residency.blocks_per_sm()), (512, 4, Some(1)));
    assert!(step.overlaps_previous && plan.alignments.is_empty());
}
