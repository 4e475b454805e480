use autokernel_core::Arch;
use expect_test::expect_file;

use super::*;
use crate::rows::{RowsSchedule, cases};

/// Two teams of one block an SM, that take equal shares.
fn schedule(problem: &Problem) -> RingSchedule {
    let drawing = RingSchedule::for_columns(&problem.class(), 16_384, Arch::SM_90A).unwrap();
    let (cluster, stages, joins, draws) = (1, 1, false, false);
    RingSchedule { threads_per_row: 512, rows_per_block: 2, cluster, stages, joins, blocks_per_sm: 1, draws, ..drawing }
}

#[test]
fn softmax_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    expect_file!["../golden/softmax_sm90.cu"].assert_eq(&kernel(&problem, &schedule(&problem)).0.cuda);
}

#[test]
fn add_rms_norm_whose_weight_is_kept_by_a_cluster_is_as_golden() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let schedule = RingSchedule { cluster: 2, ..schedule(&problem) };
    assert!(schedule.keeps_rows);
    expect_file!["../golden/add_rms_norm_sm90.cu"].assert_eq(&kernel(&problem, &schedule).0.cuda);
}

#[test]
fn softmax_whose_teams_draw_rows_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = RingSchedule { draws: true, blocks_per_sm: 2, rows_per_block: 1, cluster: 2, ..schedule(&problem) };
    expect_file!["../golden/softmax_drawn_sm90.cu"].assert_eq(&kernel(&problem, &schedule).0.cuda);
}

#[test]
fn a_launch_whose_teams_draw_rows_has_a_counter_that_is_zero() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = RingSchedule { blocks_per_sm: 2, rows_per_block: 1, ..schedule(&problem) };
    let shares = kernel(&problem, &schedule).1;
    assert!(shares.workspace.is_empty() && shares.kernels[0].args.iter().all(|field| field.name != "drawn"));
    let draws = kernel(&problem, &RingSchedule { draws: true, ..schedule }).1;
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
    let name = |schedule: RingSchedule| kernel(&problem, &schedule).0.symbol;
    let others = [
        RingSchedule { stages: 4, ..plain },
        RingSchedule { cluster: 2, ..plain },
        RingSchedule { keeps_rows: false, ..plain },
        RingSchedule { rows_per_block: 1, ..plain },
        RingSchedule { vectors: 2, ..plain },
        RingSchedule { draws: true, ..plain },
        RingSchedule { blocks_per_sm: 2, ..plain },
    ];
    assert!(others.into_iter().all(|other| name(other) != name(plain)));
    let portable = RowsSchedule { ..plain.portable() };
    assert_ne!(name(plain), crate::rows::emit::kernel(&problem, &portable).0.symbol);
}

#[test]
fn a_launch_gives_each_sm_one_block_whose_dynamic_memory_holds_the_rings_and_the_rows_that_are_kept() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let schedule = RingSchedule { stages: 2, rows_per_block: 1, cluster: 4, ..schedule(&problem) };
    let (_, plan) = kernel(&problem, &schedule);
    let step = &plan.kernels[0];
    assert_eq!(step.shared_bytes, schedule.part_columns() * (2 * (2 + 2) + 2));
    assert_eq!((step.threads, step.grid.cluster, step.grid.residency.blocks_per_sm()), (512, 4, Some(1)));
    assert!(step.overlaps_previous && plan.alignments.is_empty());
}
