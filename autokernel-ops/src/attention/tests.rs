use autokernel_core::{Arch, Dtype, Residency};
use expect_test::expect_file;

use super::plan::Sizes;
use super::score::{Kind, Operand, Score};
use super::sequences::{Keys, Sequences};
use super::{AttentionSchedule, Problem, emit, rules};
use crate::expr::{BinaryOp, Binding, Expr, Math};
use crate::operation::{Class as _, Operation as _};
use crate::{Family, registry};

fn plain() -> Problem {
    Problem {
        dtype: Dtype::Bf16,
        head_dim: 128,
        value_dim: 128,
        causal: false,
        window: None,
        scale: 0.088_388_346,
        log_sum_exp: false,
        score: None,
        sequences: Sequences::default(),
    }
}

fn causal() -> Problem {
    Problem { causal: true, ..plain() }
}

fn emitted(problem: &Problem) -> String {
    emit::kernel(problem, &AttentionSchedule::default_for(&problem.class())).0.cuda
}

#[test]
fn a_causal_kernel_is_as_golden() {
    expect_file!["golden/causal_sm90.cu"].assert_eq(&emitted(&causal()));
}

#[test]
fn a_window_with_values_of_another_width_and_log_sum_exp_is_as_golden() {
    let problem =
        Problem { dtype: Dtype::F16, head_dim: 192, window: Some(1024), scale: 0.0625, log_sum_exp: true, ..causal() };
    expect_file!["golden/window_sm90.cu"].assert_eq(&emitted(&problem));
}

#[test]
fn a_kernel_whose_blocks_share_keys_is_as_golden() {
    let class = causal().class();
    let cuda = emit::kernel(&causal(), &AttentionSchedule::few_for(&class)).0.cuda;
    expect_file!["golden/sharing_sm90.cu"].assert_eq(&cuda);
}

fn paged() -> Problem {
    let sequences = Sequences { packed_queries: true, keys: Keys::Paged(48) };
    Problem { sequences, log_sum_exp: true, ..causal() }
}

#[test]
fn packed_queries_on_keys_in_pages_are_as_golden_and_a_copy_brings_what_pages_and_tiles_are_multiples_of() {
    expect_file!["golden/paged_sm90.cu"].assert_eq(&emitted(&paged()));
    let names = paged().signature().operands.into_iter().map(|operand| (operand.name, operand.axes));
    let names: Vec<_> = names.collect();
    let expected: [(&str, &[u8]); 8] = [
        ("q", &[1, 3, 5]),
        ("k", &[255, 2, 4, 5]),
        ("v", &[255, 2, 4, 6]),
        ("query_bounds", &[0]),
        ("table", &[0, 255]),
        ("lengths", &[0]),
        ("out", &[1, 3, 6]),
        ("log_sum_exp", &[1, 3]),
    ];
    assert_eq!(names, expected.map(|(name, axes)| (name.to_owned(), axes.to_vec())));
    assert_eq!(paged().signature().dims[4].known, Some(48), "keys of a page");
}

/// `score = cap * (score * scale / cap).tanh() + slope * (key - query);`
fn capped() -> Problem {
    let of = |name: &str| Box::new(Expr::Variable(name.to_owned()));
    let binary = |op, left, right| Box::new(Expr::Binary(op, left, right));
    let scaled = binary(BinaryOp::Multiply, of("score"), of("scale"));
    let tanh = Expr::Call(Math::Tanh, vec![*binary(BinaryOp::Divide, scaled, of("cap"))]);
    let distance = binary(BinaryOp::Subtract, of("key"), of("query"));
    let capped = Binding { name: "capped".to_owned(), value: *binary(BinaryOp::Multiply, of("cap"), Box::new(tanh)) };
    let idle = Binding { name: "idle".to_owned(), value: *of("batch") };
    let value = *binary(BinaryOp::Add, of("capped"), binary(BinaryOp::Multiply, of("slope"), distance));
    let operands = [("slope", Kind::PerHead), ("cap", Kind::Number)];
    let operands = operands.map(|(name, kind)| Operand { name: name.to_owned(), kind }).to_vec();
    let score = Score { operands, bindings: vec![capped, idle], value }.without_idle_bindings();
    Problem { score: Some(score), ..causal() }
}

#[test]
fn a_body_on_the_score_is_as_golden_with_divisors_of_a_head_inverted_once_and_what_is_idle_left_out() {
    expect_file!["golden/capped_sm90.cu"].assert_eq(&emitted(&capped()));
}

#[test]
fn a_body_has_a_class_of_its_own_whose_operands_stand_before_the_output() {
    let class = capped().class();
    assert!(class.slug().starts_with("attention_causal_score_") && class.slug().ends_with("_128_bf16"));
    assert_eq!(class.distance(&causal().class()), Some(1));
    let signature = capped().signature();
    let names: Vec<&str> = signature.operands.iter().map(|operand| operand.name.as_str()).collect();
    assert_eq!(names, ["q", "k", "v", "slope", "cap", "out"]);
    let kinds = operation_kinds(&capped());
    assert_eq!(kinds, operation_kinds(&Problem { scale: 0.5, ..capped() }), "problems of a class have one plan");
}

/// What a launch passes.
fn operation_kinds(problem: &Problem) -> Vec<autokernel_core::Arg> {
    let class = problem.class();
    let plan = class.plan(&class.default_schedule(Arch::SM_90A), String::new()).unwrap();
    plan.kernels[0].args.iter().map(|field| field.arg.clone()).collect()
}

#[test]
fn the_reference_is_as_golden() {
    expect_file!["golden/causal_reference.cu"].assert_eq(&emit::reference(&causal()).0.cuda);
}

#[test]
fn a_query_sees_keys_up_to_its_place_counted_from_the_end_and_none_before_its_window() {
    assert_eq!(plain().keys_of(3, 5, 9), 0..9);
    assert_eq!(causal().keys_of(4, 5, 9), 0..9);
    assert_eq!(causal().keys_of(0, 5, 9), 0..5);
    assert!(causal().keys_of(2, 9, 5).is_empty(), "more queries than keys: the first see none");
    let window = Problem { window: Some(3), ..causal() };
    assert_eq!(window.keys_of(4, 5, 9), 6..9);
    let both_ways = Problem { window: Some(3), ..plain() };
    assert_eq!(both_ways.keys_of(0, 5, 9), 2..7);
    assert!(both_ways.keys_of(0, 9, 3).is_empty());
}

#[test]
fn the_work_counts_the_pairs_that_are_seen() {
    let sizes = Sizes { batch: 2, heads: 4, groups: 2, queries: 8, keys: 8 };
    let extents = sizes.extents(&plain().class());
    let all = 2.0 * 2.0 * 4.0 * 64.0 * 256.0;
    assert_eq!(plain().work(&extents).operations, all);
    assert_eq!(causal().work(&extents).operations, all * 36.0 / 64.0);
    let work = plain().work(&extents);
    assert_eq!(work.read_bytes, 2.0 * 2.0 * 128.0 * f64::from(4 * 8 + 2 * 2 * 8));
    assert_eq!(work.written_bytes, 2.0 * 2.0 * 4.0 * 8.0 * 128.0);
}

#[test]
fn a_problem_is_the_same_after_json_and_so_are_its_schedules() {
    let problem = registry::Problem::from(causal());
    let json = serde_json::to_value(&problem).unwrap();
    assert_eq!(json["operation"], "attention");
    assert_eq!(serde_json::from_value::<registry::Problem>(json).unwrap(), problem);
    let schedules = problem.class().schedules(Family::AttentionSm90, Arch::SM_90A);
    assert!(schedules.len() > 50, "{}", schedules.len());
    for schedule in schedules {
        let json = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<crate::Schedule>(&json).unwrap(), schedule, "{json}");
    }
}

#[test]
fn the_default_keeps_the_rules_for_every_size_of_heads_and_hopper_alone_serves() {
    for head_dim in (16..=256).step_by(16) {
        for value_dim in (16..=256).step_by(16) {
            let class = Problem { head_dim, value_dim, ..plain() }.class();
            let schedule = class.default_schedule(Arch::SM_90A);
            for schedule in class.portfolio(Arch::SM_90A).into_iter().chain([schedule]) {
                assert_eq!(class.check(&schedule, Arch::SM_90A), Ok(()), "{class} by {schedule}");
            }
            let class = Problem { head_dim, value_dim, ..paged() }.class();
            // The sums of two consumers leave no registers for shares in the widest heads.
            let expected = if value_dim <= 224 { 2 } else { 1 };
            assert_eq!(class.portfolio(Arch::SM_90A).len(), expected, "{class}");
        }
    }
    let class = plain().class();
    assert!(class.families(Arch::SM_80).is_empty() && class.schedules(Family::AttentionSm90, Arch::SM_80).is_empty());
    let broken = class.check(&class.default_schedule(Arch::SM_80), Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "hopper_only");
}

#[test]
fn each_rule_names_the_schedule_that_breaks_it() {
    let schedule = AttentionSchedule::default_for(&plain().class());
    let broken = |schedule: AttentionSchedule| schedule.check(&plain().class(), Arch::SM_90A).unwrap_err().rule;
    assert_eq!(broken(AttentionSchedule { consumers: 4, ..schedule }), "consumers");
    assert_eq!(broken(AttentionSchedule { consumers: 1, ..schedule }), "consumers", "nobody to take turns with");
    assert_eq!(broken(AttentionSchedule { tile_keys: 72, ..schedule }), "tile_keys_fit_wgmma");
    assert_eq!(broken(AttentionSchedule { stages: 1, ..schedule }), "stages");
    assert_eq!(broken(AttentionSchedule { tile_keys: 192, ..schedule }), "registers");
    assert_eq!(broken(AttentionSchedule { stages: 4, ..schedule }), "shared_memory");
    let counted = Problem { sequences: Sequences { keys: Keys::Counted, ..Sequences::default() }, ..plain() }.class();
    assert_eq!(schedule.check(&counted, Arch::SM_90A).unwrap_err().rule, "lengths_share_keys");
    assert_eq!(rules::RULES.len(), 7);
}

#[test]
fn the_blocks_of_a_launch_stay_and_take_the_tiles_of_all_heads() {
    let class = causal().class();
    let plan = class.plan(&class.default_schedule(Arch::SM_90A), "attend".to_owned()).unwrap();
    let extents = Sizes { batch: 2, heads: 8, groups: 2, queries: 300, keys: 300 }.extents(&class);
    let grid = &plan.kernels[0].grid;
    assert_eq!(grid.clusters(&extents), 2 * 8 * 3);
    assert_eq!((grid.residency, grid.blocks(&extents, 132)), (Residency::Persistent { blocks_per_sm: 1 }, 48));
    assert_eq!(plan.workspace.len(), 1, "the counter of tiles");
}

#[test]
fn the_page_about_schedules_has_every_rule_and_knob() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    let rules = rules::RULES.iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
    let knobs = AttentionSchedule::KNOBS.iter();
    let knobs =
        knobs.map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " ")));
    for line in rules.chain(knobs) {
        assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
    }
}
