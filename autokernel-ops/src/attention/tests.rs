use autokernel_core::{Arch, Counted, Dtype, Features, Numbers, Residency, Size};
use expect_test::expect_file;

use super::plan::Sizes;
use super::score::{Kind, Operand, Score};
use super::sequences::{Keys, Sequences};
use super::{Class, Problem, SM80_RULES, SM90_RULES, Sm80Schedule, Sm90Schedule, emit, score, sm80};
use crate::expr::{BinaryOp, Binding, CompareOp, Condition, Expr, Math};
use crate::operation::{Class as _, Operation as _};
use crate::rule::RuleText;
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
    emit::kernel(problem, &Sm90Schedule::default_for(&problem.class())).0.cuda
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
fn a_causal_kernel_of_the_portable_family_is_as_golden() {
    let class = causal().class();
    expect_file!["golden/causal_sm80.cu"]
        .assert_eq(&emit::kernel(&causal(), &Sm80Schedule::whole_for(&class, Arch::SM_80)).0.cuda);
}

#[test]
fn packed_queries_on_keys_in_pages_are_as_golden_in_the_portable_family() {
    let class = paged().class();
    expect_file!["golden/paged_sm80.cu"]
        .assert_eq(&emit::kernel(&paged(), &Sm80Schedule::few_for(&class, Arch::SM_80)).0.cuda);
}

#[test]
fn a_kernel_whose_blocks_share_keys_is_as_golden() {
    let class = causal().class();
    let cuda = emit::kernel(&causal(), &Sm90Schedule::few_for(&class)).0.cuda;
    expect_file!["golden/sharing_sm90.cu"].assert_eq(&cuda);
}

fn packed() -> Problem {
    let sequences = Sequences { packed_queries: true, keys: Keys::Packed };
    Problem { sequences, log_sum_exp: true, ..causal() }
}

#[test]
fn a_kernel_of_packed_sequences_is_as_golden() {
    expect_file!["golden/packed_sm90.cu"].assert_eq(&emitted(&packed()));
}

#[test]
fn tiles_of_packed_queries_on_keys_in_pages_are_as_golden() {
    let cuda = emit::kernel(&paged(), &Sm90Schedule::whole_for(&paged().class())).0.cuda;
    expect_file!["golden/paged_tiles_sm90.cu"].assert_eq(&cuda);
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
    let signature = paged().signature();
    assert_eq!(signature.dims[4].known, Some(48), "keys of a page");
    assert_eq!([3, 4, 5, 6].map(|dim| signature.setting(dim).unwrap()), ["queries", "page", "head_dim", "value_dim"]);
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

/// `score = cap * (score * scale / cap).tanh();`
fn bounded() -> Problem {
    let mut problem = capped();
    let score = problem.score.as_mut().unwrap();
    score.operands.remove(0);
    score.value = score.bindings.remove(0).value;
    problem
}

#[test]
fn a_cap_alone_is_as_golden_with_what_says_that_scores_have_bounds() {
    expect_file!["golden/bounded_sm90.cu"].assert_eq(&emitted(&bounded()));
}

#[test]
fn what_has_bounds_is_a_class_whose_long_sequences_are_multiplied_by_three_consumers_where_weights_have_their_range() {
    let class = |head_dim, dtype| Problem { head_dim, value_dim: head_dim, dtype, ..bounded() }.class();
    let tiles = |class: &Class| {
        let all = class.portfolio(Arch::SM_90A).into_iter();
        let whole = all.map(|it| Sm90Schedule::try_from(&it).unwrap()).filter(|it| !it.share_keys);
        whole.map(|it| (it.consumers, it.tile_keys, it.exp_by_fma)).collect::<Vec<_>>()
    };
    assert_eq!(tiles(&class(128, Dtype::Bf16)), [(3, 80, 0), (2, 128, 1), (1, 128, 1)]);
    assert_eq!(tiles(&class(64, Dtype::Bf16)), [(3, 128, 3), (2, 128, 3), (1, 128, 1)]);
    assert_eq!(tiles(&class(128, Dtype::F16)), [(2, 128, 1), (1, 128, 1)], "weights of f16 have no room");
    let of_long = Sm90Schedule::default_for(&class(128, Dtype::Bf16));
    let by_fma = Sm90Schedule { exp_by_fma: 1, ..of_long }.check(&class(128, Dtype::Bf16), Arch::SM_90A);
    assert_eq!(by_fma.unwrap_err().rule, "registers", "it spills");
    assert_eq!(tiles(&capped().class()), [(2, 128, 1), (1, 128, 1)], "a bias has no bounds");
    assert!(class(128, Dtype::F16).score.unwrap().bounded && !capped().class().score.unwrap().bounded);
    let json = serde_json::to_value(capped().class().score).unwrap();
    assert!(json.get("bounded").is_none(), "classes of before are what they were: {json}");
}

/// `score = score * scale + slope * (key - query);`
fn sloped(head_dim: u32, dtype: Dtype) -> Problem {
    let mut problem = capped();
    let score = problem.score.as_mut().unwrap();
    score.operands.truncate(1);
    score.bindings.clear();
    let of = |name: &str| Box::new(Expr::Variable(name.to_owned()));
    let binary = |op, left, right| Box::new(Expr::Binary(op, left, right));
    let scaled = binary(BinaryOp::Multiply, of("score"), of("scale"));
    let distance = binary(BinaryOp::Subtract, of("key"), of("query"));
    score.value = *binary(BinaryOp::Add, scaled, binary(BinaryOp::Multiply, of("slope"), distance));
    Problem { head_dim, value_dim: head_dim, dtype, ..problem }
}

#[test]
fn a_slope_is_a_step_of_depth_of_narrow_heads_of_bf16() {
    let steps = |problem: &Problem| {
        let class = problem.class();
        let all = class.portfolio(Arch::SM_90A).into_iter().map(|it| Sm90Schedule::try_from(&it).unwrap());
        all.map(|it| (it.share_keys, it.steps(&class))).collect::<Vec<_>>()
    };
    assert_eq!(steps(&sloped(64, Dtype::Bf16)), [(false, true), (false, true), (false, true), (true, false)]);
    for other in [sloped(128, Dtype::Bf16), sloped(64, Dtype::F16), capped(), causal()] {
        assert!(steps(&other).iter().all(|(_, steps)| !steps), "{other}");
    }
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

/// `score = near * score * scale + bias;`, with `near` in device memory and a bias by distance.
fn relative() -> Problem {
    let of = |name: &str| Box::new(Expr::Variable(name.to_owned()));
    let binary = |op, left, right| Box::new(Expr::Binary(op, left, right));
    let scaled = binary(BinaryOp::Multiply, binary(BinaryOp::Multiply, of("near"), of("score")), of("scale"));
    let value = *binary(BinaryOp::Add, scaled, of("bias"));
    let operands = [("near", Kind::DeviceScalar), ("bias", Kind::PerDistance)];
    let operands = operands.map(|(name, kind)| Operand { name: name.to_owned(), kind }).to_vec();
    Problem { score: Some(Score { operands, bindings: Vec::new(), value }), ..causal() }
}

#[test]
fn numbers_by_distance_and_in_device_memory_are_as_golden() {
    expect_file!["golden/relative_sm90.cu"].assert_eq(&emitted(&relative()));
    expect_file!["golden/relative_reference.cu"].assert_eq(&emit::reference(&relative()).0.cuda);
    let operands = relative().signature().operands.into_iter().map(|operand| (operand.name, operand.axes));
    let operands: Vec<_> = operands.skip(3).take(2).collect();
    assert_eq!(operands, [("near".to_owned(), vec![]), ("bias".to_owned(), vec![1, autokernel_core::OWN_AXIS])]);
}

#[test]
fn a_key_that_is_farther_away_than_there_are_columns_has_the_last_one() {
    let columns = |count: usize| (-3..=3).map(|distance| score::column_of(distance, count)).collect::<Vec<_>>();
    assert_eq!(columns(5), [0, 0, 1, 2, 3, 4, 4]);
    assert_eq!(columns(4), [0, 0, 1, 2, 3, 3, 3]);
    assert_eq!((columns(1), columns(0)), (vec![0; 7], vec![0; 7]));
    assert_eq!(score::column_of(i64::MAX, 5), 4);
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
fn a_ragged_shape_has_as_many_heads_a_group_and_is_no_larger() {
    let class = causal().class();
    let ragged = |sizes: Sizes| Sizes::of(&causal().ragged(&sizes.extents(&class)));
    let prompt = Sizes { batch: 4, heads: 32, groups: 8, queries: 4096, keys: 4096 };
    assert_eq!(ragged(prompt), Sizes { batch: 2, heads: 12, groups: 3, queries: 203, keys: 203 });
    let step = Sizes { batch: 1, heads: 4, groups: 4, queries: 1, keys: 8192 };
    assert_eq!(ragged(step), Sizes { batch: 1, heads: 3, groups: 3, queries: 1, keys: 389 });
    let pages = Sizes { batch: 4, heads: 32, groups: 8, queries: 4096, keys: 48 }.extents(&paged().class());
    assert_eq!(Sizes::of(&paged().ragged(&pages)).keys, 48, "keys of a page are compiled in");
    let large = Problem { sequences: Sequences { keys: Keys::Paged(512), ..paged().sequences }, ..paged() };
    let pages = Sizes { batch: 4, heads: 32, groups: 8, queries: 512, keys: 512 }.extents(&large.class());
    assert_eq!(Sizes::of(&large.ragged(&pages)).keys, 512);
}

#[test]
fn a_problem_is_the_same_after_json_and_so_are_its_schedules() {
    let problem = registry::Problem::from(causal());
    let json = serde_json::to_value(&problem).unwrap();
    assert_eq!(json["operation"], "attention");
    assert_eq!(serde_json::from_value::<registry::Problem>(json).unwrap(), problem);
    let of = |family| problem.class().schedules(family, Arch::SM_90A);
    let (sm80, sm90) = (of(Family::AttentionSm80), of(Family::AttentionSm90));
    assert!(sm80.len() > 50 && sm90.len() > 50, "{} and {}", sm80.len(), sm90.len());
    for schedule in sm80.into_iter().chain(sm90) {
        let json = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<crate::Schedule>(&json).unwrap(), schedule, "{json}");
    }
}

/// Masks and bodies, and what kernels have of them: a slope and a cap, a window, and a choice (`own` registers of conditions).
fn bodies() -> [Problem; 4] {
    let mut chosen = bounded();
    let score = chosen.score.as_mut().unwrap();
    let of = |name: &str| Expr::Variable(name.to_owned());
    let is_seen = Condition::Compare(CompareOp::Less, of("key"), of("cap"));
    score.value = Expr::If(Box::new(is_seen), Box::new(of("score")), Box::new(Expr::Literal(-1e30)));
    [plain(), capped(), Problem { window: Some(100), ..capped() }, chosen]
}

/// How keys lie that the device locates.
const LOCATED: [Keys; 3] = [Keys::Counted, Keys::Paged(48), Keys::Packed];

#[test]
fn the_default_keeps_the_rules_for_every_size_of_heads_and_a_family_serves_every_arch() {
    let archs =
        [(8, 0), (8, 6), (8, 9), (9, 0), (12, 0)].map(|(major, minor)| Arch::new(major, minor, Features::Baseline));
    for (head_dim, value_dim) in sizes_of_heads() {
        let class = Problem { head_dim, value_dim, ..plain() }.class();
        let schedule = class.default_schedule(Arch::SM_90A);
        for schedule in class.portfolio(Arch::SM_90A).into_iter().chain([schedule]) {
            assert_eq!(class.check(&schedule, Arch::SM_90A), Ok(()), "{class} by {schedule}");
        }
        for (arch, problem) in archs.into_iter().flat_map(|arch| bodies().map(|problem| (arch, problem))) {
            let class = Problem { head_dim, value_dim, ..problem }.class();
            for schedule in class.portfolio(arch).into_iter().chain([class.default_schedule(arch)]) {
                assert_eq!(class.check(&schedule, arch), Ok(()), "{class} by {schedule} on {arch}");
            }
        }
        let class = Problem { head_dim, value_dim, ..paged() }.class();
        assert_eq!(class.portfolio(Arch::SM_90A).len(), 2, "{class}: for few queries and for many");
    }
    let class = plain().class();
    assert_eq!(class.families(Arch::SM_80), [Family::AttentionSm80]);
    assert!(class.schedules(Family::AttentionSm90, Arch::SM_80).is_empty());
    let broken = class.check(&class.default_schedule(Arch::SM_90A), Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "hopper_only");
}

fn sizes_of_heads() -> impl Iterator<Item = (u32, u32)> {
    (16..=256).step_by(16).flat_map(|head_dim| (16..=256).step_by(16).map(move |value_dim| (head_dim, value_dim)))
}

/// Images of a baseline arch run on later GPUs, whose blocks may have less shared memory: 99 KiB of 8.6, 8.9 and 12.0.
#[test]
fn of_every_baseline_arch_some_image_for_many_queries_and_one_for_few_fit_gpus_of_99_kib() {
    const LEAST_BYTES: u32 = 99 << 10;
    for (major, minor) in [(8, 0), (8, 6), (8, 7), (9, 0), (10, 0), (12, 0)] {
        let arch = Arch::new(major, minor, Features::Baseline);
        for ((head_dim, value_dim), problem) in sizes_of_heads().flat_map(|dims| bodies().map(|body| (dims, body))) {
            for keys in [Keys::Whole].into_iter().chain(LOCATED) {
                let sequences = Sequences { packed_queries: keys == Keys::Packed, keys };
                let class = Problem { head_dim, value_dim, sequences, ..problem.clone() }.class();
                let small: Vec<bool> = sm80::default::portfolio(&class, arch)
                    .iter()
                    .filter(|schedule| schedule.shared_bytes(&class) <= LEAST_BYTES)
                    .map(|schedule| schedule.share_keys)
                    .collect();
                let expected: &[bool] = if keys == Keys::Whole { &[false, true] } else { &[true] };
                assert!(expected.iter().all(|shares| small.contains(shares)), "{class} on {arch}: {small:?}");
            }
        }
    }
}

#[test]
fn what_fits_all_gpus_is_carried_once_and_what_fits_the_larger_ones_alone_stands_first() {
    let tiles = |head_dim| {
        let class = Problem { head_dim, value_dim: head_dim, ..plain() }.class();
        let all = sm80::default::portfolio(&class, Arch::SM_80);
        all.iter().map(|it| (it.share_keys, it.tile_keys, it.stages)).collect::<Vec<_>>()
    };
    assert_eq!(tiles(128), [(false, 64, 2), (true, 64, 4)]);
    assert_eq!(tiles(192), [(false, 64, 2), (true, 64, 4), (true, 64, 3)]);
    assert_eq!(tiles(256), [(false, 48, 2), (true, 32, 4), (false, 32, 2)]);
}

#[test]
fn bodies_on_keys_that_the_device_locates_have_a_schedule_for_every_size_of_heads() {
    for ((head_dim, value_dim), problem) in sizes_of_heads().flat_map(|dims| bodies().map(|body| (dims, body))) {
        for keys in LOCATED {
            let sequences = Sequences { packed_queries: false, keys };
            let class = Problem { head_dim, value_dim, sequences, ..problem.clone() }.class();
            for arch in [Arch::SM_80, Arch::SM_90A] {
                let portfolio = class.portfolio(arch);
                assert!(!portfolio.is_empty(), "{class} on {arch}");
            }
        }
    }
}

#[test]
fn each_rule_names_the_schedule_that_breaks_it() {
    let schedule = Sm90Schedule::default_for(&plain().class());
    let broken = |schedule: Sm90Schedule| schedule.check(&plain().class(), Arch::SM_90A).unwrap_err().rule;
    assert_eq!(broken(Sm90Schedule { consumers: 4, ..schedule }), "consumers");
    assert_eq!(broken(Sm90Schedule { consumers: 1, ..schedule }), "consumers", "nobody to take turns with");
    assert_eq!(broken(Sm90Schedule { tile_keys: 72, ..schedule }), "tile_keys_fit_wgmma");
    assert_eq!(broken(Sm90Schedule { stages: 1, ..schedule }), "stages");
    assert_eq!(broken(Sm90Schedule { tile_keys: 192, ..schedule }), "registers");
    assert_eq!(broken(Sm90Schedule { stages: 4, ..schedule }), "shared_memory");
    let counted = Problem { sequences: Sequences { keys: Keys::Counted, ..Sequences::default() }, ..plain() }.class();
    let three = Sm90Schedule { consumers: 3, tile_keys: 48, ..schedule };
    assert_eq!(three.check(&paged().class(), Arch::SM_90A).unwrap_err().rule, "pages_leave_registers");
    for class in [packed().class(), counted, paged().class()] {
        assert_eq!(schedule.check(&class, Arch::SM_90A), Ok(()), "tiles are found");
    }
    assert_eq!(broken(Sm90Schedule { exp_by_fma: 5, ..schedule }), "exp_by_fma");
    assert_eq!(SM90_RULES.len(), 9);
}

#[test]
fn each_rule_of_the_portable_family_names_the_schedule_that_breaks_it() {
    let schedule = Sm80Schedule::whole_for(&plain().class(), Arch::SM_80);
    let broken = |schedule: Sm80Schedule| schedule.check(&plain().class(), Arch::SM_80).unwrap_err().rule;
    assert_eq!(broken(Sm80Schedule { warps: 6, ..schedule }), "warps");
    assert_eq!(broken(Sm80Schedule { rows_of_warp: 64, ..schedule }), "rows_of_warp");
    assert_eq!(broken(Sm80Schedule { tile_keys: 72, ..schedule }), "tile_keys");
    assert_eq!(broken(Sm80Schedule { stages: 1, ..schedule }), "stages");
    assert_eq!(broken(Sm80Schedule { tile_keys: 128, ..schedule }), "registers");
    assert_eq!(broken(Sm80Schedule { rows_of_warp: 16, tile_keys: 128, stages: 6, ..schedule }), "shared_memory");
    let counted = Problem { sequences: Sequences { keys: Keys::Counted, ..Sequences::default() }, ..plain() }.class();
    assert_eq!(schedule.check(&counted, Arch::SM_80).unwrap_err().rule, "lengths_share_keys");
    let ada = Arch::new(8, 9, Features::Baseline);
    let deep = Sm80Schedule { rows_of_warp: 16, stages: 6, ..schedule };
    assert!(deep.check(&plain().class(), Arch::SM_80).is_ok() && deep.check(&plain().class(), ada).is_err());
    assert_eq!(SM80_RULES.len(), 8);
}

#[test]
fn heads_that_no_product_takes_break_a_rule_of_each_family_before_any_size_is_computed() {
    let (sm80, sm90) =
        (Sm80Schedule::whole_for(&plain().class(), Arch::SM_80), Sm90Schedule::default_for(&plain().class()));
    for (head_dim, value_dim) in [(24, 64), (64, 272), (0, 64), (64, 0), (4_294_967_280, 64), (64, 4_294_967_280)] {
        let class = Class { head_dim, value_dim, ..plain().class() };
        let broken = sm80.check(&class, Arch::SM_80).unwrap_err();
        assert_eq!(broken.rule, "dims_fit_fragments", "{broken}");
        let broken = sm90.check(&class, Arch::SM_90A).unwrap_err();
        assert_eq!(broken.rule, "dims_fit_wgmma", "{broken}");
        for arch in [Arch::SM_80, Arch::SM_90A] {
            assert_eq!(class.portfolio(arch), [], "{class}");
        }
    }
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
fn the_blocks_of_a_launch_on_packed_sequences_are_no_more_than_tiles_can_be() {
    let class = packed().class();
    let plan = class.plan(&class.default_schedule(Arch::SM_90A), "attend".to_owned()).unwrap();
    let blocks = |queries| {
        let sizes = Sizes { batch: 64, heads: 8, groups: 2, queries, keys: 300 };
        plan.kernels[0].grid.blocks(&sizes.extents(&class), 132)
    };
    assert_eq!([0, 3, 64, 300].map(blocks), [0, 24, 132, 132], "a sequence may have one query");
}

#[test]
fn what_is_carried_untuned_is_in_the_space_of_a_search() {
    for problem in [plain(), causal(), paged(), packed(), capped(), bounded()] {
        for dim in [64, 96, 128, 192, 256] {
            let class = Problem { head_dim: dim, value_dim: dim, ..problem.clone() }.class();
            for arch in [Arch::SM_80, Arch::SM_90A] {
                let spaces = class.families(arch).iter().flat_map(|family| class.schedules(*family, arch));
                let spaces: Vec<_> = spaces.collect();
                for schedule in class.portfolio(arch).into_iter().chain([class.default_schedule(arch)]) {
                    assert!(spaces.contains(&schedule), "{schedule} of {class}");
                }
            }
        }
    }
}

#[test]
fn the_page_about_schedules_has_every_rule_and_knob() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    let words = |rules: Vec<RuleText>| rules.into_iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
    for family in [Family::AttentionSm80, Family::AttentionSm90] {
        let knobs = family.knobs().iter();
        let knobs =
            knobs.map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " ")));
        for line in words(family.rules()).chain(knobs) {
            assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
        }
    }
}

#[test]
fn what_says_where_sequences_are_may_be_no_more_than_the_tensors_hold() {
    let numbers = paged().signature().numbers;
    let (keys, pages) = (Size { operand: 1, axis: 2 }, Size { operand: 4, axis: 1 });
    let bounds = Numbers::bound(3, Size { operand: 0, axis: 1 });
    let table = Numbers {
        counted: Some(Counted { by: 5, each_holds: keys }),
        ..Numbers::pick(4, Size { operand: 1, axis: 0 })
    };
    let lengths = Numbers { among: vec![pages, keys], ..Numbers::count(5, keys) };
    assert_eq!(
        numbers,
        [bounds, lengths, table],
        "a length that is too large is told before the pages that it would read"
    );
    let of = |keys| {
        let sequences = Sequences { packed_queries: false, keys };
        Problem { sequences, ..causal() }.signature().numbers
    };
    assert_eq!(of(Keys::Whole), []);
    assert_eq!(of(Keys::Counted), [Numbers::count(3, keys)]);
}
