use autokernel_core::Arch;

use super::problem::{Class, Problem};
use super::rules::{self, RULES};
use super::schedule::RowsSchedule;
use super::{cases, space};
use crate::expr::Cost;

fn class(body: crate::rows::Body) -> Class {
    Problem::new(body).unwrap().class()
}

#[test]
fn a_schedule_reads_back_from_its_codes() {
    let schedule = RowsSchedule::default_for(&class(cases::softmax()), Arch::SM_80);
    let codes: Vec<u16> = schedule.codes().collect();
    assert_eq!(codes.len(), RowsSchedule::KNOBS.len());
    assert_eq!(RowsSchedule::from_codes(&codes), Some(schedule));
    assert_eq!(RowsSchedule::from_codes(&codes[1..]), None);
}

#[test]
fn every_width_has_a_schedule_that_keeps_the_rules() {
    for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics()] {
        let class = class(body);
        for columns in [0, 1, 7, 256, 1000, 4096, 65_536, u32::MAX] {
            for arch in [Arch::SM_80, Arch::SM_90A] {
                let schedule = RowsSchedule::for_columns(&class, columns, arch);
                assert_eq!(schedule.check(&class, arch), Ok(()), "{schedule} for {columns}");
            }
        }
    }
}

#[test]
fn every_schedule_of_the_space_keeps_the_rules_and_is_there_once() {
    let class = class(cases::softmax());
    let schedules = space::schedules(&class, Arch::SM_80);
    assert!(schedules.len() > 500, "{}", schedules.len());
    assert!(schedules.iter().all(|schedule| schedule.check(&class, Arch::SM_80).is_ok()));
    let distinct: std::collections::BTreeSet<_> = schedules.iter().collect();
    assert_eq!(distinct.len(), schedules.len());
    assert!(schedules.contains(&RowsSchedule::default_for(&class, Arch::SM_80)));
}

#[test]
fn no_more_blocks_are_compiled_for_than_the_parts_of_an_sm_have_registers_for() {
    let class = class(cases::softmax());
    let plain = RowsSchedule::default_for(&class, Arch::SM_80);
    let few_warps = [1, 2, 8, 16].map(|rows_per_block| RowsSchedule { threads_per_row: 4, rows_per_block, ..plain });
    let kept = few_warps.into_iter().chain(space::schedules(&class, Arch::SM_80));
    for schedule in kept.filter(|schedule| schedule.check(&class, Arch::SM_80).is_ok()) {
        let blocks = rules::resident_blocks(&schedule, &class);
        let warps_of_a_part = (blocks * schedule.threads() / 32).div_ceil(4);
        let registers = 32 * warps_of_a_part * rules::registers(&schedule, &class);
        assert!(blocks == 1 || registers <= 16_384, "{schedule}: {blocks} blocks");
    }
}

#[test]
fn a_broken_rule_says_what_would_not_break_it() {
    let class = class(cases::softmax());
    let plain = RowsSchedule::default_for(&class, Arch::SM_80);
    for (schedule, rule) in [
        (RowsSchedule { threads_per_row: 48, ..plain }, "threads"),
        (RowsSchedule { threads_per_row: u32::MAX, ..plain }, "threads"),
        (RowsSchedule { vector: 16, ..plain }, "vector"),
        (RowsSchedule { vectors: 3, ..plain }, "vectors"),
        (RowsSchedule { vectors: 8, ..plain }, "vectors"),
        (RowsSchedule { cluster: 1, ..plain }, "cluster"),
        (RowsSchedule { vector: 4, blocks_per_sm: 1, ..plain }, "blocks_per_sm"),
        (RowsSchedule { blocks_per_sm: 3, ..plain }, "blocks_per_sm"),
    ] {
        let broken = schedule.check(&class, Arch::SM_80).unwrap_err();
        assert_eq!(broken.rule, rule);
        assert!(broken.reason.contains("take ") || broken.reason.contains("is not"), "{broken}");
    }
    let wide = Class { cost: Cost::MOST, ..class };
    let broken = RowsSchedule { threads_per_row: 1024, ..plain }.check(&wide, Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "registers");
}

#[test]
fn the_page_about_schedules_has_every_rule_and_knob() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    let rules = RULES.iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
    let knobs = RowsSchedule::KNOBS.iter();
    let knobs =
        knobs.map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " ")));
    for line in rules.chain(knobs) {
        assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
    }
}
