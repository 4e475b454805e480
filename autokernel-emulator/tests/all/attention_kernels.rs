//! Attention: every mask, ragged lengths, shared heads, both layouts, against fp64.

use crate::support::attention::{Compiled, Variation};
use crate::support::compile::{Change, Compiler, mutant};
use crate::support::sample::sample_mutants;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::Sequences;
use autokernel_codegen::attention::{Problem, Schedule, Sm90Schedule, problem};
use autokernel_codegen::dtype::Dtype;

pub fn plain() -> Problem {
    let (dtype, scale) = (Dtype::Bf16, 0.25);
    Problem {
        dtype,
        head_dim: 64,
        value_dim: 64,
        causal: false,
        window: None,
        scale,
        log_sum_exp: true,
        score: None,
        sequences: Sequences::default(),
    }
}

const SCHEDULE: Sm90Schedule =
    Sm90Schedule { consumers: 2, tile_keys: 32, stages: 2, ping_pong: true, share_keys: false, exp_by_fma: 0 };

/// Rings that go around and tiles that a block takes one after the other, ragged; more keys than queries, and fewer; one
/// of each; and no keys.
pub const SIZES: [Sizes; 5] = [
    Sizes { batch: 2, heads: 4, groups: 2, queries: 131, keys: 131 },
    Sizes { batch: 1, heads: 3, groups: 1, queries: 70, keys: 165 },
    Sizes { batch: 1, heads: 2, groups: 2, queries: 150, keys: 40 },
    Sizes { batch: 1, heads: 1, groups: 1, queries: 1, keys: 1 },
    Sizes { batch: 1, heads: 2, groups: 1, queries: 5, keys: 0 },
];

/// Runs `problem` by `schedule` at each of `sizes`, and the second of them with gaps, large scores and NaN where nobody reads.
pub fn check_at(sizes: &[Sizes], test: &str, problem: &Problem, schedule: impl Into<Schedule>) {
    let Some(compiler) = Compiler::find(test) else { return };
    let compiled = Compiled::new(&compiler, problem, schedule);
    for (seed, &sizes) in (0..).zip(sizes) {
        compiled.check(sizes, Variation { heads_last: seed % 4 >= 2, ..Variation::numbered(seed) });
    }
    let variation = Variation { seed: 9, heads_last: true, gap: 8, amplitude: 40.0, nan: true, ..Variation::default() };
    compiled.check(sizes[1], variation);
}

fn check(test: &str, problem: &Problem, schedule: Sm90Schedule) {
    check_at(&SIZES, test, problem, schedule);
}

macro_rules! kernels {
    ($($name:ident: $problem:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), &$problem, $schedule);
        })*
    };
}

kernels! {
    attention_to_all_keys_is_right: plain(), SCHEDULE;
    causal_attention_is_right: Problem { causal: true, ..plain() }, SCHEDULE;
    a_causal_window_is_right: Problem { causal: true, window: Some(37), ..plain() }, SCHEDULE;
    a_window_on_both_sides_is_right: Problem { window: Some(50), ..plain() }, SCHEDULE;
    one_consumer_is_right: plain(), Sm90Schedule { consumers: 1, ping_pong: false, tile_keys: 64, ..SCHEDULE };
    three_consumers_are_right:
        Problem { dtype: Dtype::F16, causal: true, ..plain() },
        Sm90Schedule { consumers: 3, stages: 3, ..SCHEDULE };
    consumers_that_take_no_turns_are_right: plain(), Sm90Schedule { ping_pong: false, ..SCHEDULE };
    heads_that_end_inside_a_panel_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, ..plain() },
        Sm90Schedule { tile_keys: 48, ..SCHEDULE };
    wide_heads_are_right:
        Problem { head_dim: 256, value_dim: 256, scale: 0.1, log_sum_exp: false, ..plain() },
        Sm90Schedule { ping_pong: false, ..SCHEDULE };
    values_narrower_than_keys_are_right:
        Problem { dtype: Dtype::F16, head_dim: 192, value_dim: 128, scale: 0.1, causal: true, ..plain() }, SCHEDULE;
}

/// The attention that a function declares, as a build reads it, with the log-sum-exp.
fn declared(function: syn::ItemFn) -> Problem {
    Problem { log_sum_exp: true, ..problem(&function, syn::parse_quote!(head_dim = 64, scale = 0.25)).unwrap() }
}

/// `score = cap * (score * scale / cap).tanh() + slope * (key - query);`
pub fn capped() -> Problem {
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>) {
            let capped = cap * (score * scale / cap).tanh();
            let idle = batch + head;
            score = capped + slope * (key - query);
        }
    };
    Problem { causal: true, ..declared(function) }
}

/// Bodies each of which kernels compute in another way: what is linear in the key and where sums of products begin; what is added that
/// is not linear; a cap as the factor of scores, of a negative number too; what hides keys by a choice, and by what is added; and what
/// is read twice.
pub fn bodies() -> Vec<Problem> {
    let functions: [syn::ItemFn; 6] = [
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
                score = score * scale + slope * (key - query);
            }
        },
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
                score = score * scale - slope * (key - query).abs() - batch * head;
            }
        },
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, cap: f32, out: &mut Heads<bf16>) {
                score = -cap * (score * scale / -cap).tanh();
            }
        },
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
                score = slope * (score * scale / slope).tanh();
            }
        },
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, second: f32, out: &mut Heads<bf16>) {
                let is_hidden = if (key < second && query < second) || !(key < second || query < second) { 0.0 } else { -1e30 };
                score = score * scale + is_hidden;
            }
        },
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>) {
                let near = (slope * (query - key) / cap).tanh();
                score = score * scale * (1.0 + near * near) + if near > 0.5 { query - key } else { 0.25 };
            }
        },
    ];
    functions.map(declared).into()
}

/// Numbers by distance and in device memory: what sums begin at; and what is multiplied and chosen by.
pub fn relative() -> [Problem; 2] {
    let functions: [syn::ItemFn; 2] = [
        syn::parse_quote! {
            fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &PerDistance<f32>, out: &mut Heads<bf16>) {
                score = score * scale + bias;
            }
        },
        syn::parse_quote! {
            fn attend(
                q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &PerDistance<f32>, cap: &Scalar<f32>, slope: &PerHead<f32>,
                out: &mut Heads<bf16>,
            ) {
                let near = if bias > 0.5 { bias * slope } else { -bias };
                score = cap * ((score * scale + near) / cap).tanh();
            }
        },
    ];
    functions.map(declared)
}

#[test]
fn numbers_by_distance_and_in_device_memory_are_those_of_the_head_the_key_and_the_launch() {
    let test = "numbers_by_distance_and_in_device_memory_are_those_of_the_head_the_key_and_the_launch";
    let [begun, changed] = relative();
    check(test, &begun, SCHEDULE);
    check(test, &Problem { causal: true, ..begun }, Sm90Schedule { tile_keys: 64, ..SCHEDULE });
    check(test, &changed, Sm90Schedule { consumers: 1, ping_pong: false, exp_by_fma: 1, ..SCHEDULE });
}

#[test]
fn a_body_on_the_score_is_right() {
    check("a_body_on_the_score_is_right", &capped(), Sm90Schedule { tile_keys: 64, ..SCHEDULE });
}

#[test]
fn every_form_of_a_body_is_right() {
    let schedules =
        [SCHEDULE, Sm90Schedule { consumers: 1, tile_keys: 64, ping_pong: false, exp_by_fma: 2, ..SCHEDULE }];
    for (problem, schedule) in bodies().iter().zip(schedules.into_iter().cycle()) {
        check_at(&SIZES[..4], "every_form_of_a_body_is_right", problem, schedule);
    }
}

#[test]
fn exponentials_without_the_special_function_unit_are_right_where_keys_are_hidden_and_where_a_score_is_no_number() {
    let test =
        "exponentials_without_the_special_function_unit_are_right_where_keys_are_hidden_and_where_a_score_is_no_number";
    for (problem, exp_by_fma) in [(hidden(), 4), (Problem { causal: true, ..plain() }, 3), (capped(), 1)] {
        check(test, &problem, Sm90Schedule { exp_by_fma, ..SCHEDULE });
    }
    let Some(compiler) = Compiler::find(test) else { return };
    let compiled = Compiled::new(&compiler, &plain(), Sm90Schedule { exp_by_fma: 4, ..SCHEDULE });
    for key in 0..4 {
        let sizes = Sizes { batch: 1, heads: 2, groups: 2, queries: 20, keys: 40 };
        compiled.check(sizes, Variation { nan_key: Some(key), ..Variation::default() });
    }
}

/// Scores from `-cap` to `cap`.
pub fn bounded(cap: f32) -> Problem {
    let cap: syn::Expr = syn::parse_str(&format!("{cap:?}")).unwrap();
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) {
            score = #cap * (score * scale / #cap).tanh();
        }
    };
    Problem { causal: true, ..declared(function) }
}

/// Such that most scores are as large as bounds let them be, and queries begin and end with the smallest.
fn at_bounds(seed: u64) -> Variation {
    Variation { seed, amplitude: 3000.0, ..Variation::default() }
}

fn check_bounded(test: &str, problem: &Problem, schedule: Sm90Schedule) {
    let Some(compiler) = Compiler::find(test) else { return };
    let compiled = Compiled::new(&compiler, problem, schedule);
    for (seed, sizes) in (0..).zip(SIZES) {
        compiled.check(sizes, Variation::numbered(seed));
        compiled.check(sizes, at_bounds(seed));
    }
    for key in 0..4 {
        compiled.check(SIZES[1], Variation { nan_key: Some(key), ..Variation::default() });
    }
}

#[test]
fn scores_with_bounds_are_right_on_both_sides_of_the_widest_whose_shifts_need_not_move() {
    let test = "scores_with_bounds_are_right_on_both_sides_of_the_widest_whose_shifts_need_not_move";
    for (cap, exp_by_fma) in [(3.0, 0), (18.0, 0), (50.0, 3), (55.4, 0), (55.5, 0), (300.0, 1)] {
        check_bounded(test, &bounded(cap), Sm90Schedule { exp_by_fma, ..SCHEDULE });
    }
}

#[test]
fn scores_with_bounds_are_right_by_three_consumers_without_a_mask_with_windows_and_in_f16() {
    let test = "scores_with_bounds_are_right_by_three_consumers_without_a_mask_with_windows_and_in_f16";
    let whole = Problem { causal: false, ..bounded(55.4) };
    check_bounded(test, &whole, Sm90Schedule { consumers: 3, tile_keys: 80, ..SCHEDULE });
    // Of most tiles some queries see no key of the first block.
    check_bounded(test, &Problem { window: Some(37), ..bounded(55.4) }, SCHEDULE);
    check_bounded(test, &Problem { window: Some(20), ..whole }, Sm90Schedule { exp_by_fma: 2, ..SCHEDULE });
    check_bounded(test, &Problem { dtype: Dtype::F16, ..bounded(50.0) }, SCHEDULE);
}

/// Zeros among them, whose tanh is zero however steep it is: of a cap of nothing too.
#[test]
fn scores_of_caps_that_are_next_to_nothing_are_numbers() {
    let test = "scores_of_caps_that_are_next_to_nothing_are_numbers";
    let Some(compiler) = Compiler::find(test) else { return };
    for cap in [1e-7, 1e-11, 1e-30] {
        let compiled = Compiled::new(&compiler, &bounded(cap), SCHEDULE);
        for amplitude in [0.0, 1.0] {
            compiled.check(SIZES[1], Variation { amplitude, ..Variation::default() });
        }
    }
}

#[test]
fn sums_of_weights_that_are_as_large_as_they_may_be_have_room_for_a_million_keys() {
    let test = "sums_of_weights_that_are_as_large_as_they_may_be_have_room_for_a_million_keys";
    let Some(compiler) = Compiler::find(test) else { return };
    let compiled = Compiled::new(&compiler, &bounded(55.4), SCHEDULE);
    for (seed, &sizes) in (0..).zip(&SIZES[..3]) {
        // 128 keys of these are 2^20 keys of values of 2^41.
        let of_values = 2f64.powi(54);
        compiled.check(sizes, Variation { of_values, ..at_bounds(seed) });
    }
}

#[test]
fn what_a_careless_edit_of_bounds_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_of_bounds_breaks_is_noticed") else { return };
    let mutants = [
        (55.4, mutant("attention_softmax.cuh", "fmaxf(scale - kRoom, 0.0f)", "0.0f")),
        (55.4, mutant("attention_softmax.cuh", "fmaxf(scale - kRoom, 0.0f)", "scale")),
        (50.0, mutant("attention_softmax.cuh", "if constexpr (kShowsNan) total", "if constexpr (false) total")),
        (50.0, mutant("attention_softmax.cuh", "max[0] = max[1] = shift_within() / scale;", "max[0] = max[1] = 0.0f;")),
        (300.0, mutant("attention_softmax.cuh", "kMayStayWithin && scale <= kWidest", "kMayStayWithin")),
        (50.0, mutant("attention_cap.cuh", "<= most)", "<= 8.0f * most)")),
        (50.0, mutant("attention_cap.cuh", "i % 2], fabsf(sums[i])", "i % 2], sums[i]")),
        (1e-30, mutant("attention_cap.cuh", "0x1p-30f <= size && size <= 0x1p30f", "true")),
        (50.0, mutant("attention_cap.cuh", "fmaf(sum * sum, third, first)", "first")),
        (50.0, mutant("attention_cap.cuh", "first), -shift)", "first), 0.0f)")),
        (50.0, mutant("sm90_attention_multiplier.cuh", "cap.exponents(scores, softmax.shift_within());", "")),
        (
            50.0,
            mutant(
                "attention_softmax.cuh",
                "sum[row] = kFirst ? total : sum[row] + total;\n    }\n  }\n\n  // After",
                "sum[row] = total;\n    }\n  }\n\n  // After",
            ),
        ),
    ];
    for (cap, change) in sample_mutants(mutants, 6, |(_, change)| *change) {
        let schedule = Sm90Schedule { exp_by_fma: 4, ..SCHEDULE };
        let compiled = Compiled::changed(&compiler, &bounded(cap), schedule, Some(change)).unwrap();
        let of_values = 2f64.powi(54);
        let variations = |seed| {
            let zeros = Variation { amplitude: 0.0, ..Variation::default() };
            let large = Variation { of_values, ..at_bounds(seed) };
            [Variation::numbered(seed), Variation::numbered(seed + 1), at_bounds(seed), zeros, large]
        };
        let is_noticed = |(seed, &sizes)| variations(seed).into_iter().any(|it| compiled.run(sizes, it).is_err());
        let noticed = (0..).zip(&[SIZES[0], SIZES[1], SIZES[3], SIZES[3]]).any(is_noticed);
        let shows = |key| Variation { nan_key: Some(key), ..Variation::default() };
        assert!(noticed || (0..4).any(|key| compiled.run(SIZES[1], shows(key)).is_err()), "{change:?}");
    }
}

/// `score = if key <= query { score * scale } else { -1e30 };`: of more queries than keys the first see none.
pub fn hidden() -> Problem {
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) {
            score = if key <= query { score * scale } else { -1e30 };
        }
    };
    declared(function)
}

#[test]
fn a_body_that_hides_keys_leaves_those_that_it_does_not_and_where_it_hides_all_their_mean() {
    let test = "a_body_that_hides_keys_leaves_those_that_it_does_not_and_where_it_hides_all_their_mean";
    check(test, &hidden(), SCHEDULE);
}

/// The same by −∞: such queries see none.
pub fn vanished() -> Problem {
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) {
            score = if key <= query { score * scale } else { f32::NEG_INFINITY };
        }
    };
    declared(function)
}

#[test]
fn a_query_from_which_a_body_hides_all_keys_by_minus_infinity_gives_zeros_and_minus_infinity() {
    let test = "a_query_from_which_a_body_hides_all_keys_by_minus_infinity_gives_zeros_and_minus_infinity";
    for exp_by_fma in [0, 2] {
        check(test, &vanished(), Sm90Schedule { exp_by_fma, ..SCHEDULE });
    }
}

#[test]
fn the_reference_agrees_with_fp64() {
    let Some(compiler) = Compiler::find("the_reference_agrees_with_fp64") else { return };
    let masked = Problem { causal: true, window: Some(9), head_dim: 32, ..plain() };
    for problem in relative().into_iter().chain([plain(), capped(), hidden(), vanished(), masked]) {
        let compiled = Compiled::reference(&compiler, &problem);
        compiled.check(Sizes { batch: 2, heads: 2, groups: 1, queries: 5, keys: 21 }, Variation::default());
        compiled.check(
            Sizes { batch: 1, heads: 1, groups: 1, queries: 9, keys: 4 },
            Variation { nan: true, ..Variation::default() },
        );
    }
}

#[test]
fn a_causal_mask_skips_the_blocks_of_keys_that_no_query_sees() {
    let Some(compiler) = Compiler::find("a_causal_mask_skips_the_blocks_of_keys_that_no_query_sees") else { return };
    let sizes = Sizes { batch: 1, heads: 1, groups: 1, queries: 384, keys: 384 };
    let work = |problem: &Problem| {
        let report = Compiled::new(&compiler, problem, SCHEDULE).check(sizes, Variation::default());
        report.counters.matrix_multiply_adds as f64
    };
    let (all, causal) = (work(&plain()), work(&Problem { causal: true, ..plain() }));
    // Three tiles of 128 queries see 4, 8 and 12 blocks of 32 keys.
    assert_eq!(causal / all, 24.0 / 36.0);
    // A window of one block's keys: each tile sees 4 blocks of its own and one before.
    let window = work(&Problem { causal: true, window: Some(32), ..plain() });
    assert_eq!(window / all, 14.0 / 36.0);
}

/// Changes that a careless edit could make, each of which a run must notice: in results, or as a race.
const MUTANTS: [Change<'_>; 10] = [
    mutant("sm90_attention_producer.cuh", "ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);", ""),
    mutant("sm90_attention_query_copies.cuh", "ptx::mbarrier_wait(barriers.empty(consumer), parity ^ 1);", ""),
    mutant("sm90_attention_walk.cuh", "*this = {0, 0}", "*this = {0, 1}"),
    mutant("sm90_attention_multiplier.cuh", "      wait_for_values();\n", ""),
    mutant("sm90_attention_multiplier.cuh", "      ptx::wgmma_wait<1>();\n", ""),
    mutant("sm90_attention_multiplier.cuh", "if (!kRescaleFirst && moved) scale_rows(sums, correction);", ""),
    mutant("attention_softmax.cuh", "column < last &&", "column <= last &&"),
    mutant("attention_softmax.cuh", "if constexpr (!kFirst) sum[row] *= correction;", ""),
    mutant("attention_store.cuh", "rows.is_there(args, row) && own", "own"),
    mutant("attention_keys.cuh", "min(keys, query + offset + 1)", "min(keys, query + offset + 2)"),
];

/// Of what bodies and their weights are computed with: of eight exponentials by FMA so many, without any shifts move seldom.
const MUTANTS_OF_BODIES: [(u32, Change<'_>); 13] = [
    (0, mutant("sm90_attention_multiplier.cuh", "if constexpr (G::kSteps) softmax.descend();", "")),
    (0, mutant("sm90_attention_steps.cuh", "first, second, step - first - second", "first, 0.0f, 0.0f")),
    (0, mutant("sm90_attention_steps.cuh", "    ptx::fence_async_proxy();\n    ptx::named", "    ptx::named")),
    (0, mutant("attention_softmax.cuh", "largest + base(row)", "largest")),
    (
        4,
        mutant(
            "sm90_attention_multiplier.cuh",
            "begin(scores, score, rows, block);\n      wait_for_keys();",
            "begin(scores, score, rows, block + 1);\n      wait_for_keys();",
        ),
    ),
    (4, mutant("sm90_attention_multiplier.cuh", "kAdds || depth != 0", "depth != 0")),
    (4, mutant("attention_score.cuh", "static_cast<float>(2 * i + 1)", "static_cast<float>(2 * i)")),
    (4, mutant("attention_score.cuh", "rows.query(row) + offset, key0", "rows.query(row), key0")),
    (0, mutant("attention_softmax.cuh", "exact(is_none ? 0.0f : largest)", "scale")),
    (4, mutant("attention_softmax.cuh", "kScored ? exact(from) : scale", "scale")),
    (4, mutant("attention_softmax.cuh", "kExpByFma == 0 ? fmaxf(x, y)", "true ? fmaxf(x, y)")),
    (4, mutant("attention_weights.cuh", "if constexpr (!kIsCut) x = fmaxf(x, kLeastExponent);", "")),
    (4, mutant("attention_weights.cuh", "fmaf(power, rest, 0.24024099f)", "fmaf(power, rest, 0.25024099f)")),
];

#[test]
fn what_a_careless_edit_of_bodies_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_of_bodies_breaks_is_noticed") else { return };
    let problems = [bodies().swap_remove(0), hidden()];
    for (exp_by_fma, change) in sample_mutants(MUTANTS_OF_BODIES, 6, |(_, change)| *change) {
        let schedule = Sm90Schedule { exp_by_fma, ..SCHEDULE };
        let noticed = problems.iter().any(|problem| {
            let compiled = Compiled::changed(&compiler, problem, schedule, Some(change)).unwrap();
            let runs =
                (0..).zip(&SIZES[..4]).any(|(seed, &sizes)| compiled.run(sizes, Variation::numbered(seed)).is_err());
            let sizes = Sizes { batch: 1, heads: 2, groups: 2, queries: 20, keys: 40 };
            runs || (0..4)
                .any(|key| compiled.run(sizes, Variation { nan_key: Some(key), ..Variation::default() }).is_err())
        });
        assert!(noticed, "{change:?}");
    }
}

#[test]
fn what_a_careless_edit_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_breaks_is_noticed") else { return };
    let problem = Problem { causal: true, ..plain() };
    for change in sample_mutants(MUTANTS, 6, |change| *change) {
        let compiled = Compiled::changed(&compiler, &problem, SCHEDULE, Some(change)).unwrap();
        let noticed = (0..).zip(SIZES).any(|(seed, sizes)| compiled.run(sizes, Variation::numbered(seed)).is_err());
        assert!(noticed, "{change:?}");
    }
}
