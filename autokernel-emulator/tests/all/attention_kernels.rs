//! Attention: every mask, ragged lengths, shared heads, both layouts, against fp64.

use crate::support::attention::{Compiled, Variation};
use crate::support::compile::{Change, Compiler};
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::Sequences;
use autokernel_codegen::attention::{AttentionSchedule, Problem, Schedule, problem};
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

const SCHEDULE: AttentionSchedule =
    AttentionSchedule { consumers: 2, tile_keys: 32, stages: 2, ping_pong: true, share_keys: false };

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
        compiled.check(sizes, Variation { seed, heads_last: seed % 2 == 1, ..Variation::default() });
    }
    let variation = Variation { seed: 9, heads_last: true, gap: 8, amplitude: 40.0, nan: true };
    compiled.check(sizes[1], variation);
}

fn check(test: &str, problem: &Problem, schedule: AttentionSchedule) {
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
    one_consumer_is_right: plain(), AttentionSchedule { consumers: 1, ping_pong: false, tile_keys: 64, ..SCHEDULE };
    three_consumers_are_right:
        Problem { dtype: Dtype::F16, causal: true, ..plain() },
        AttentionSchedule { consumers: 3, stages: 3, ..SCHEDULE };
    consumers_that_take_no_turns_are_right: plain(), AttentionSchedule { ping_pong: false, ..SCHEDULE };
    heads_that_end_inside_a_panel_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, ..plain() },
        AttentionSchedule { tile_keys: 48, ..SCHEDULE };
    wide_heads_are_right:
        Problem { head_dim: 256, value_dim: 256, scale: 0.1, log_sum_exp: false, ..plain() },
        AttentionSchedule { ping_pong: false, ..SCHEDULE };
    values_narrower_than_keys_are_right:
        Problem { dtype: Dtype::F16, head_dim: 192, value_dim: 128, scale: 0.1, causal: true, ..plain() }, SCHEDULE;
}

/// `score = cap * (score * scale / cap).tanh() + slope * (key - query);`, as a build reads it.
pub fn capped() -> Problem {
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>) {
            let capped = cap * (score * scale / cap).tanh();
            let idle = batch + head;
            score = capped + slope * (key - query);
        }
    };
    let problem = problem(&function, syn::parse_quote!(causal, head_dim = 64, scale = 0.25)).unwrap();
    Problem { log_sum_exp: true, ..problem }
}

#[test]
fn a_body_on_the_score_is_right() {
    check("a_body_on_the_score_is_right", &capped(), AttentionSchedule { tile_keys: 64, ..SCHEDULE });
}

/// `score = if key <= query { score * scale } else { -1e30 };`: of more queries than keys the first see none.
pub fn hidden() -> Problem {
    let function: syn::ItemFn = syn::parse_quote! {
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) {
            score = if key <= query { score * scale } else { -1e30 };
        }
    };
    let problem = problem(&function, syn::parse_quote!(head_dim = 64, scale = 0.25)).unwrap();
    Problem { log_sum_exp: true, ..problem }
}

#[test]
fn a_body_that_hides_keys_leaves_those_that_it_does_not_and_where_it_hides_all_their_mean() {
    let test = "a_body_that_hides_keys_leaves_those_that_it_does_not_and_where_it_hides_all_their_mean";
    check(test, &hidden(), SCHEDULE);
}

#[test]
fn the_reference_agrees_with_fp64() {
    let Some(compiler) = Compiler::find("the_reference_agrees_with_fp64") else { return };
    for problem in [plain(), capped(), hidden(), Problem { causal: true, window: Some(9), head_dim: 32, ..plain() }] {
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
    mutant("sm90_attention_producer.cuh", "ptx::mbarrier_wait(barriers.empty(consumer), query_parity ^ 1);", ""),
    mutant("sm90_attention_producer.cuh", "*counters = {0, 0}", "*counters = {0, 1}"),
    mutant("sm90_attention_multiplier.cuh", "      wait_for_values();\n", ""),
    mutant("sm90_attention_multiplier.cuh", "      ptx::wgmma_wait<1>();\n", ""),
    mutant("sm90_attention_multiplier.cuh", "if constexpr (!kRescaleFirst) scale_rows(sums, correction);", ""),
    mutant("attention_softmax.cuh", "column < last &&", "column <= last &&"),
    mutant("attention_softmax.cuh", "sum[row] *= correction[row];", ""),
    mutant("attention_store.cuh", "rows.is_there(args, row) && own", "own"),
    mutant("attention_keys.cuh", "min(keys, query + offset + 1)", "min(keys, query + offset + 2)"),
];

const fn mutant(file: &'static str, before: &'static str, after: &'static str) -> Change<'static> {
    Change { file, before, after }
}

#[test]
fn what_a_careless_edit_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_breaks_is_noticed") else { return };
    let problem = Problem { causal: true, ..plain() };
    for change in MUTANTS {
        let compiled = Compiled::changed(&compiler, &problem, SCHEDULE, Some(change)).unwrap();
        let noticed = (0..)
            .zip(SIZES)
            .any(|(seed, sizes)| compiled.run(sizes, Variation { seed, ..Variation::default() }).is_err());
        assert!(noticed, "{change:?}");
    }
}
