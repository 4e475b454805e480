//! Attention by the portable family: every mask, ragged lengths, shared heads, sequences wherever they lie, against fp64.

use super::attention_kernels::{self, bodies, capped, check_at, hidden, plain, relative, vanished};
use super::attention_sharing_kernels::{self, of};
use crate::support::attention::{Compiled, Variation};
use crate::support::compile::{Change, Compiler, mutant};
use crate::support::sample::sample_mutants;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::Keys;
use autokernel_codegen::attention::{Problem, Sm80Schedule};
use autokernel_codegen::dtype::Dtype;

const WHOLE: Sm80Schedule = Sm80Schedule { warps: 4, rows_of_warp: 16, tile_keys: 32, stages: 2, share_keys: false };
const SHARING: Sm80Schedule = Sm80Schedule { stages: 3, share_keys: true, ..WHOLE };

fn check(test: &str, problem: &Problem, schedule: Sm80Schedule) {
    let sizes = if schedule.share_keys { &attention_sharing_kernels::SIZES } else { &attention_kernels::SIZES };
    check_at(sizes, test, problem, schedule);
}

#[test]
fn every_form_of_a_body_is_right_by_the_portable_family() {
    let whole = Sm80Schedule { rows_of_warp: 32, ..WHOLE };
    for (problem, schedule) in bodies().iter().zip([whole, SHARING].into_iter().cycle()) {
        check("every_form_of_a_body_is_right_by_the_portable_family", problem, schedule);
    }
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
    portable_attention_to_all_keys_is_right: plain(), WHOLE;
    portable_causal_attention_is_right: Problem { causal: true, ..plain() }, Sm80Schedule { stages: 3, ..WHOLE };
    a_portable_causal_window_is_right:
        Problem { causal: true, window: Some(37), ..plain() }, Sm80Schedule { stages: 4, ..WHOLE };
    a_portable_window_on_both_sides_is_right:
        Problem { window: Some(50), ..plain() }, Sm80Schedule { tile_keys: 16, stages: 5, ..WHOLE };
    warps_of_two_bands_are_right:
        Problem { dtype: Dtype::F16, causal: true, ..plain() }, Sm80Schedule { rows_of_warp: 32, tile_keys: 64, ..WHOLE };
    two_warpgroups_of_two_bands_are_right: plain(), Sm80Schedule { warps: 8, rows_of_warp: 32, tile_keys: 48, ..WHOLE };
    portable_heads_that_end_inside_a_panel_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, ..plain() }, Sm80Schedule { warps: 8, tile_keys: 48, ..WHOLE };
    portable_wide_heads_are_right:
        Problem { head_dim: 256, value_dim: 256, scale: 0.1, log_sum_exp: false, ..plain() }, WHOLE;
    portable_values_narrower_than_keys_are_right:
        Problem { dtype: Dtype::F16, head_dim: 192, value_dim: 128, scale: 0.1, causal: true, ..plain() },
        Sm80Schedule { rows_of_warp: 32, ..WHOLE };
    portable_values_wider_than_keys_are_right: Problem { head_dim: 16, value_dim: 208, ..plain() }, WHOLE;
    a_portable_body_on_the_score_is_right: capped(), Sm80Schedule { rows_of_warp: 32, ..WHOLE };
    a_portable_body_that_hides_keys_is_right: hidden(), WHOLE;
    a_portable_body_that_hides_keys_by_minus_infinity_is_right: vanished(), WHOLE;
    keys_that_a_portable_body_hides_by_minus_infinity_are_right_whichever_block_has_them: vanished(), SHARING;

    portable_few_queries_on_many_keys_are_right: of(false, Keys::Whole), SHARING;
    portable_causal_queries_of_which_blocks_share_keys_are_right:
        Problem { causal: true, log_sum_exp: false, ..of(false, Keys::Whole) }, Sm80Schedule { stages: 2, ..SHARING };
    bands_of_two_warpgroups_are_right_with_shared_keys:
        Problem { causal: true, window: Some(50), ..of(false, Keys::Counted) },
        Sm80Schedule { warps: 8, rows_of_warp: 32, ..SHARING };
    keys_that_a_portable_body_hides_are_right_whichever_block_has_them: hidden(), SHARING;
    portable_numbers_by_distance_are_right: relative()[0].clone(), WHOLE;
    portable_numbers_by_distance_are_right_where_rows_are_of_several_heads: relative()[1].clone(), SHARING;
    portable_numbers_by_distance_are_right_on_keys_in_pages:
        Problem { sequences: of(false, Keys::Paged(16)).sequences, ..relative()[0].clone() }, SHARING;
    portable_bodies_with_operands_are_right_where_rows_are_of_several_heads: capped(), SHARING;
    keys_that_the_device_counts_are_right_by_the_portable_family: of(false, Keys::Counted), SHARING;
    keys_in_small_pages_are_right_by_the_portable_family:
        Problem { causal: true, ..of(false, Keys::Paged(16)) }, Sm80Schedule { stages: 4, ..SHARING };
    keys_in_large_pages_are_right_by_the_portable_family:
        Problem { head_dim: 96, value_dim: 80, ..of(false, Keys::Paged(64)) }, SHARING;
    packed_sequences_are_right_by_the_portable_family: Problem { causal: true, ..of(true, Keys::Packed) }, SHARING;
    packed_sequences_with_a_window_are_right_by_the_portable_family:
        Problem { dtype: Dtype::F16, window: Some(20), ..of(true, Keys::Packed) },
        Sm80Schedule { warps: 8, ..SHARING };
    packed_queries_on_keys_in_pages_are_right_by_the_portable_family:
        Problem { causal: true, head_dim: 192, value_dim: 128, scale: 0.1, ..of(true, Keys::Paged(48)) }, SHARING;
}

#[test]
fn a_causal_mask_of_the_portable_family_skips_the_blocks_of_keys_that_no_query_sees() {
    let test = "a_causal_mask_of_the_portable_family_skips_the_blocks_of_keys_that_no_query_sees";
    let Some(compiler) = Compiler::find(test) else { return };
    let sizes = Sizes { batch: 1, heads: 1, groups: 1, queries: 192, keys: 192 };
    let work = |problem: &Problem| {
        let report = Compiled::new(&compiler, problem, WHOLE).check(sizes, Variation::default());
        report.counters.matrix_multiply_adds as f64
    };
    // Three tiles of 64 queries see 2, 4 and 6 blocks of 32 keys.
    assert_eq!(work(&Problem { causal: true, ..plain() }) / work(&plain()), 12.0 / 18.0);
}

/// Changes that a careless edit could make, each of which a run must notice: in results, or as a race. With the schedule.
const MUTANTS: [(Sm80Schedule, Change<'_>); 9] = [
    (WHOLE, mutant("sm80_attention_copies.cuh", "    ptx::cp_async_wait<G::kStages - 2>();\n", "")),
    (WHOLE, mutant("sm80_attention_copies.cuh", "    __syncthreads();\n", "")),
    (WHOLE, mutant("sm80_attention_copies.cuh", "if (key >= keys) return nullptr;", "")),
    (SHARING, mutant("sm80_attention_copies.cuh", "key % Sequences::kPage * row_bytes", "key * row_bytes")),
    (
        WHOLE,
        mutant("sm80_attention_copies.cuh", "piece % kPiecesOfPanel ^ number", "piece % kPiecesOfPanel ^ number / 2"),
    ),
    (WHOLE, mutant("sm80_attention_multiplier.cuh", "scale_rows(bands[band].sums, correction[band]);", "")),
    (
        WHOLE,
        mutant(
            "sm80_attention_multiplier.cuh",
            "b[2], b[3]);\n        }\n      }\n    }\n  }\n\n  template",
            "b[3], b[2]);\n        }\n      }\n    }\n  }\n\n  template",
        ),
    ),
    (WHOLE, mutant("sm80_attention.cuh", "min(args.queries - first, kRowsOfWarpgroup)", "kRowsOfWarpgroup")),
    (
        SHARING,
        mutant(
            "sm80_attention_sharing.cuh",
            "            __syncthreads();  // all have read",
            "            // all have read",
        ),
    ),
];

#[test]
fn what_a_careless_edit_of_the_portable_family_breaks_is_noticed() {
    let test = "what_a_careless_edit_of_the_portable_family_breaks_is_noticed";
    let Some(compiler) = Compiler::find(test) else { return };
    for (schedule, change) in sample_mutants(MUTANTS, 6, |(_, change)| *change) {
        let (problem, sizes) = match schedule.share_keys {
            false => (Problem { causal: true, ..plain() }, attention_kernels::SIZES),
            true => (of(false, Keys::Paged(16)), attention_sharing_kernels::SIZES),
        };
        let compiled = Compiled::changed(&compiler, &problem, schedule, Some(change)).unwrap();
        let noticed = (0..).zip(sizes).any(|(seed, sizes)| compiled.run(sizes, Variation::numbered(seed)).is_err());
        assert!(noticed, "{change:?}");
    }
}
