use autokernel_core::{Arch, Dtype, Extents, Role};
use expect_test::expect_file;

use super::{Class, DIMS, Problem, Schedule};
use crate::operation::{Class as _, Operation as _};
use crate::{Family, registry};

fn problem() -> Problem {
    Problem { dtype: Dtype::Bf16, experts: 64, top_k: 6, over_all: false }
}

#[test]
fn every_schedule_of_the_space_keeps_the_rules_and_only_hopper_overlaps_launches() {
    let class: Class = problem().class();
    let of = |arch| class.schedules(Family::RoutingSm80, arch);
    assert_eq!((of(Arch::SM_80).len(), of(Arch::SM_90A).len()), (4, 8));
    for arch in [Arch::SM_80, Arch::SM_90A] {
        assert!(of(arch).contains(&class.default_schedule(arch)));
    }
    let broken = class.check(&Schedule { threads: 256, overlap: true }.into(), Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "launches_overlap_on_hopper");
}

#[test]
fn both_kernels_share_the_tokens_alike_and_leave_a_count_for_each_expert_and_block() {
    let (source, plan) = problem().emit(&Schedule { threads: 256, overlap: false }.into()).unwrap();
    let [choose, sort] = &plan.kernels[..] else { panic!("{plan:?}") };
    assert_eq!((&choose.grid, &choose.args), (&sort.grid, &sort.args));
    assert!(source.cuda.contains(&choose.symbol) && source.cuda.contains(&sort.symbol));
    let of = |tokens| Extents::new([(DIMS[0], tokens), (DIMS[1], 64), (DIMS[2], 6)]);
    assert_eq!([1, 64, 65, 1 << 20].map(|tokens| choose.grid.blocks(&of(tokens), 132)), [1, 2, 3, 132]);
    assert_eq!(plan.workspace[0].bytes, 64 * 4);
}

#[test]
fn all_but_the_scores_is_written() {
    let signature = problem().signature();
    let read: Vec<&str> = signature.inputs().map(|operand| operand.name.as_str()).collect();
    assert_eq!(read, ["scores"]);
    assert!(signature.operands[1..].iter().all(|operand| operand.role == Role::Output));
}

#[test]
fn it_is_written_and_read_with_its_operation_as_every_problem() {
    let problem = registry::Problem::from(problem());
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(json, r#"{"operation":"routing","dtype":"bf16","experts":64,"top_k":6,"over_all":false}"#);
    assert_eq!(serde_json::from_str::<registry::Problem>(&json).unwrap(), problem);
    assert_eq!(problem.to_string(), "routing bf16, 6 of 64 experts");
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
fn both_kernels_and_the_reference_are_as_golden() {
    let (source, _) = problem().emit(&Schedule::default_for(Arch::SM_90A).into()).unwrap();
    expect_file!["golden/routing_sm90.cu"].assert_eq(&source.cuda);
    expect_file!["golden/routing_reference.cu"].assert_eq(&problem().reference().0.cuda);
}
