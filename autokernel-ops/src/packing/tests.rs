use autokernel_core::{Arch, Dtype, Role};
use expect_test::expect_file;

use super::{Problem, Schedule, extents};
use crate::operation::{Class as _, Operation as _};
use crate::{Family, registry};

fn groups() -> Problem {
    Problem { dtype: Dtype::Bf16, packed: Dtype::I4x2, group: Some(128), scales: Dtype::F16, zeros: true }
}

fn rows() -> Problem {
    Problem { dtype: Dtype::F32, packed: Dtype::I8, group: None, scales: Dtype::F32, zeros: false }
}

#[test]
fn every_schedule_of_the_space_keeps_the_rules_and_only_hopper_overlaps_launches() {
    let class = groups().class();
    let of = |arch| class.schedules(Family::PackingSm80, arch);
    assert_eq!((of(Arch::SM_80).len(), of(Arch::SM_90A).len()), (3, 6));
    for arch in [Arch::SM_80, Arch::SM_90A] {
        assert!(of(arch).contains(&class.default_schedule(arch)));
    }
    let broken = class.check(&Schedule { threads: 256, overlap: true }.into(), Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "launches_overlap_on_hopper");
    assert!(class.check(&Schedule { threads: 64, overlap: false }.into(), Arch::SM_80).is_err());
}

#[test]
fn a_block_has_a_group_of_as_many_rows_as_it_has_teams() {
    let blocks = |problem: &Problem, n, k| {
        let (_, plan) = problem.emit(&Schedule { threads: 256, overlap: false }.into()).unwrap();
        plan.kernels[0].grid.blocks(&extents(n, k), 132)
    };
    // Sixteen lanes have a group of 128, and a warp has a row, however long it is.
    assert_eq!([(16, 128), (17, 128), (16, 384)].map(|(n, k)| blocks(&groups(), n, k)), [1, 2, 3]);
    assert_eq!([(8, 0), (8, 1), (9, 1 << 30)].map(|(n, k)| blocks(&rows(), n, k)), [1, 1, 2]);
}

#[test]
fn rows_are_whole_groups_and_units_and_all_but_the_weights_is_written() {
    let signature = groups().signature();
    assert_eq!([0, 1].map(|dim| signature.granule(dim)), [1, 128]);
    assert_eq!([(1, 1), (2, 0), (3, 0)].map(|(operand, axis)| signature.elements(operand, axis, 256)), [128, 2, 2]);
    let packed_rows = Problem { packed: Dtype::I4x2, ..rows() };
    assert_eq!((rows().signature().granule(1), packed_rows.signature().granule(1)), (1, 32));
    let read: Vec<&str> = signature.inputs().map(|operand| operand.name.as_str()).collect();
    assert_eq!(read, ["w"]);
    assert!(signature.operands[1..].iter().all(|operand| operand.role == Role::Output));
}

#[test]
fn it_is_written_and_read_with_its_operation_as_every_problem() {
    let of = |problem: Problem| {
        let problem = registry::Problem::from(problem);
        let json = serde_json::to_string(&problem).unwrap();
        assert_eq!(serde_json::from_str::<registry::Problem>(&json).unwrap(), problem);
        (json, problem.to_string())
    };
    let (json, words) = of(groups());
    assert_eq!(
        json,
        r#"{"operation":"packing","dtype":"bf16","packed":"i4x2","group":128,"scales":"f16","zeros":true}"#
    );
    assert_eq!(words, "packing bf16 to i4x2 in groups of 128 with zero points, scales of f16");
    let (json, words) = of(rows());
    assert_eq!(json, r#"{"operation":"packing","dtype":"f32","packed":"i8","scales":"f32"}"#);
    assert_eq!(words, "packing f32 to i8 by rows, scales of f32");
}

#[test]
fn weights_are_read_once_and_what_a_product_reads_is_written() {
    let work = groups().work(&extents(64, 256));
    assert_eq!((work.read_bytes, work.written_bytes), (64.0 * 512.0, 64.0 * (128.0 + 2.0 * 5.0)));
}

#[test]
fn the_page_of_schedules_has_every_knob_and_rule() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    let knobs = Schedule::KNOBS.iter().map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning()));
    let rules = super::RULES.iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
    for line in knobs.chain(rules) {
        assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
    }
}

#[test]
fn the_kernel_of_groups_and_the_reference_of_rows_are_as_golden() {
    let (source, _) = groups().emit(&Schedule::default_for(Arch::SM_90A).into()).unwrap();
    expect_file!["golden/packing_sm90.cu"].assert_eq(&source.cuda);
    expect_file!["golden/packing_reference.cu"].assert_eq(&rows().reference().0.cuda);
}
