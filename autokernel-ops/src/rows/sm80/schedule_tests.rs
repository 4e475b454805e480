use autokernel_core::{Arch, ComputeCapability, Dtype};

use super::model::{Image, portfolio};
use super::rules::{self, RULES, parked_bytes, resident_blocks};
use super::schedule::Sm80Schedule;
use super::space;
use crate::body::{Body, Kind, Operand, Reduction};
use crate::expr::{Cost, Expr, Math};
use crate::forecast::{Forecast as _, Machine};
use crate::rows::cases;
use crate::rows::passes::Keep;
use crate::rows::plan::extents;
use crate::rows::problem::{Class, Problem};

fn class(body: crate::rows::Body) -> Class {
    Problem::new(body).unwrap().class()
}

#[test]
fn a_schedule_reads_back_from_its_codes() {
    let schedule = Sm80Schedule::default_for(&class(cases::softmax()), Arch::SM_80);
    let codes: Vec<u16> = schedule.codes().collect();
    assert_eq!(codes.len(), Sm80Schedule::KNOBS.len());
    assert_eq!(Sm80Schedule::from_codes(&codes), Some(schedule));
    assert_eq!(Sm80Schedule::from_codes(&codes[1..]), None);
}

#[test]
fn every_width_has_a_schedule_that_keeps_the_rules() {
    for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics()] {
        let class = class(body);
        for columns in [0, 1, 7, 256, 1000, 4096, 65_536, u32::MAX] {
            for arch in [Arch::SM_80, Arch::SM_90A] {
                let schedule = Sm80Schedule::for_columns(&class, columns, arch);
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
    assert!(schedules.contains(&Sm80Schedule::default_for(&class, Arch::SM_80)));
}

#[test]
fn what_is_carried_untuned_is_in_the_space_of_a_search() {
    for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics(), cases::gradients(), cases::rotary()] {
        let class = class(body);
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let space = space::schedules(&class, arch);
            for schedule in portfolio(&class, arch).into_iter().chain([Sm80Schedule::default_for(&class, arch)]) {
                assert!(space.contains(&schedule), "{schedule} of {class}");
            }
        }
    }
}

#[test]
fn no_more_blocks_are_compiled_for_than_the_parts_of_an_sm_have_registers_for() {
    let class = class(cases::softmax());
    let plain = Sm80Schedule::default_for(&class, Arch::SM_80);
    let few_warps = [1, 2, 8, 16].map(|rows_per_block| Sm80Schedule { threads_per_row: 4, rows_per_block, ..plain });
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
    let plain = Sm80Schedule::default_for(&class, Arch::SM_80);
    for (schedule, rule) in [
        (Sm80Schedule { threads_per_row: 48, ..plain }, "threads"),
        (Sm80Schedule { threads_per_row: u32::MAX, ..plain }, "threads"),
        (Sm80Schedule { vector: 16, ..plain }, "vector"),
        (Sm80Schedule { vectors: 3, ..plain }, "vectors"),
        (Sm80Schedule { vectors: 8, ..plain }, "vectors"),
        (Sm80Schedule { cluster: 1, ..plain }, "cluster"),
        (Sm80Schedule { vector: 4, blocks_per_sm: 1, ..plain }, "blocks_per_sm"),
        (Sm80Schedule { blocks_per_sm: 3, ..plain }, "blocks_per_sm"),
    ] {
        let broken = schedule.check(&class, Arch::SM_80).unwrap_err();
        assert_eq!(broken.rule, rule);
        assert!(broken.reason.contains("take ") || broken.reason.contains("is not"), "{broken}");
    }
    let wide = Class { cost: Cost::MOST, ..class };
    let broken = Sm80Schedule { threads_per_row: 1024, ..plain }.check(&wide, Arch::SM_80).unwrap_err();
    assert_eq!(broken.rule, "registers");
}

#[test]
fn the_page_about_schedules_has_every_rule_and_knob() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    let rules = RULES.iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
    let knobs = Sm80Schedule::KNOBS.iter();
    let knobs =
        knobs.map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " ")));
    for line in rules.chain(knobs) {
        assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
    }
}

fn of_f32(body: Body) -> Body {
    let operands = body.operands.into_iter().map(|operand| Operand { dtype: Dtype::F32, ..operand });
    Body { operands: operands.collect(), ..body }
}

#[test]
fn long_rows_are_held_without_clusters_and_an_sm_has_two_of_16_bits() {
    let held = |body: Body| {
        let class = class(body);
        let schedule = Sm80Schedule::for_columns(&class, 65_536, Arch::SM_80);
        (schedule.to_string(), resident_blocks(&schedule, &class))
    };
    let name = |text: &str| text.to_owned();
    assert_eq!(held(cases::softmax()), (name("rows_sm80 512x1 v8x6+10 keeps inputs"), 2));
    assert_eq!(held(of_f32(cases::softmax())), (name("rows_sm80 1024x1 v4x6+10 keeps values"), 1));
    assert_eq!(held(cases::add_rms_norm()), (name("rows_sm80 1024x1 v8x4+4 keeps values"), 1));
    let both = class(of_f32(cases::add_rms_norm()));
    let parks_kept = Sm80Schedule::for_columns(&both, 65_536, Arch::SM_80);
    assert_eq!(
        (parks_kept.to_string(), parks_kept.held_columns()),
        (name("rows_sm80 1024x1 v4x6+10 keeps values"), 65_536)
    );
    assert_eq!(parked_bytes(&parks_kept, &both), 1024 * 10 * 16);
    assert_eq!(parked_bytes(&Sm80Schedule { keep: Keep::Inputs, ..parks_kept }, &both), 2 * 1024 * 10 * 16);
}

/// Two `Row`s beside a matrix, all of a type.
fn layer_norm(dtype: Dtype) -> Class {
    let (reads, name) = (|name: &str, kind| cases::reads(name, kind, dtype), cases::name);
    class(Body {
        operands: vec![
            reads("x", Kind::Matrix),
            reads("weight", Kind::Row),
            reads("bias", Kind::Row),
            cases::writes("out", Kind::Matrix, dtype),
        ],
        steps: vec![
            cases::reduce("mean", Reduction::Mean, name("x")),
            cases::bind("centred", name("x") - name("mean")),
            cases::reduce("variance", Reduction::Mean, name("centred") * name("centred")),
            cases::store("out", name("centred") / name("variance") * name("weight") + name("bias")),
        ],
        ..Body::default()
    })
}

#[test]
fn rows_that_begin_anywhere_are_left_to_blocks_that_keep_several_rows_where_there_are_no_rings() {
    let machine = Machine {
        capability: ComputeCapability::new(8, 0),
        sm_count: 108,
        matrix_tflops: 312.0,
        memory_gb_per_s: 2039.0,
    };
    for (dtype, name) in [
        (Dtype::Bf16, "rows_sm80 256x1 v8x2 keeps values and rows 4 blocks an SM"),
        (Dtype::F16, "rows_sm80 256x1 v8x2 keeps values and rows 4 blocks an SM"),
        (Dtype::F32, "rows_sm80 256x1 v4x4 keeps values and rows 3 blocks an SM"),
    ] {
        let class = layer_norm(dtype);
        let shifted = Sm80Schedule::for_shifted(&class, Arch::SM_80).unwrap();
        assert_eq!(shifted.to_string(), name);
        assert_eq!(Sm80Schedule::for_shifted(&class, Arch::SM_90A), None, "rings have these");
        let chosen = |rows, columns| {
            let ms = |schedule: &Sm80Schedule| {
                Image { class: class.clone(), schedule: *schedule, machine }.predicted_ms(&extents(rows, columns))
            };
            let images = portfolio(&class, Arch::SM_80);
            images.into_iter().min_by(|a, b| ms(a).total_cmp(&ms(b))).unwrap()
        };
        assert_eq!(chosen(4096, 4099), shifted);
        for (rows, columns) in [(32, 4099), (4096, 1023), (4096, 4096), (16_384, 1024), (4096, 5003)] {
            assert!(!chosen(rows, columns).keeps_rows, "{rows}x{columns} of {class}");
        }
    }
    for body in [cases::softmax(), cases::add_rms_norm()] {
        assert_eq!(Sm80Schedule::for_shifted(&class(body), Arch::SM_80), None, "no row reads several");
    }
}

/// A maximum, and behind it a sum of what `term` makes of the element and the maximum.
fn a_maximum_and_a_sum(term: impl Fn(Expr, Expr) -> Expr) -> Class {
    let operands = vec![cases::reads("x", Kind::Matrix, Dtype::Bf16), cases::writes("out", Kind::Matrix, Dtype::Bf16)];
    let steps = vec![
        cases::reduce("max", Reduction::Max, cases::name("x")),
        cases::reduce("sum", Reduction::Sum, term(cases::name("x"), cases::name("max"))),
        cases::store("out", cases::name("x") / cases::name("sum")),
    ];
    class(Body { operands, steps, ..Body::default() })
}

#[test]
fn a_mean_and_squares_are_joined_by_a_search_alone() {
    let operands = vec![cases::reads("x", Kind::Matrix, Dtype::Bf16), cases::writes("out", Kind::Matrix, Dtype::Bf16)];
    let steps = vec![
        cases::reduce("mean", Reduction::Mean, cases::name("x")),
        cases::bind("centred", cases::name("x") - cases::name("mean")),
        cases::reduce("variance", Reduction::Mean, cases::name("centred") * cases::name("centred")),
        cases::store("out", cases::name("centred") / cases::name("variance")),
    ];
    let class = class(Body { operands, steps, ..Body::default() });
    for columns in [16_384, 65_536] {
        let long = Sm80Schedule::for_columns(&class, columns, Arch::SM_90A);
        assert!(!long.joins, "{long}");
        assert!(Sm80Schedule { joins: true, ..long }.check(&class, Arch::SM_90A).is_ok(), "{long}");
    }
}

#[test]
fn only_reductions_that_are_made_in_one_pass_are_scheduled_and_predicted_so() {
    let of_exponentials = a_maximum_and_a_sum(|x, max| cases::call(Math::Exp, x - max));
    let of_products = a_maximum_and_a_sum(|x, max| x * max);
    assert_eq!(of_exponentials.passes, of_products.passes, "their kinds do not tell");
    for (class, joins) in [(&of_exponentials, true), (&of_products, false)] {
        let long = Sm80Schedule::for_columns(class, 16_384, Arch::SM_80);
        assert!(long.threads_per_row > 32, "{long}");
        assert_eq!(long.joins, joins);
        let joining = Sm80Schedule { joins: true, ..long }.check(class, Arch::SM_80);
        assert_eq!(joining.map_err(|broken| broken.rule), if joins { Ok(()) } else { Err("joins") });
        let few_long = Sm80Schedule::for_few_long_rows(class, Arch::SM_90A).unwrap();
        assert_eq!(few_long.joins, joins);
        let space = space::schedules(class, Arch::SM_90A);
        assert_eq!(space.iter().any(|schedule| schedule.joins), joins);
    }
}

#[test]
fn a_class_is_called_as_before_unless_its_reductions_only_look_as_if_they_were_one() {
    let json = |class: &Class| serde_json::to_value(class).unwrap();
    for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics()] {
        assert_eq!(json(&class(body)).get("is_unjoined"), None);
    }
    let unjoined = a_maximum_and_a_sum(|x, max| x * max);
    assert_eq!(json(&unjoined)["is_unjoined"], true);
    assert_eq!(serde_json::from_value::<Class>(json(&unjoined)).unwrap(), unjoined);
}
