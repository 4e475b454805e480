//! Attention to packed sequences by tiles of whole ones: where the device alone knows how many tiles there are.

use super::attention_kernels::{bodies, bounded, check_at, relative};
use super::attention_sharing_kernels::of;
use crate::support::attention::{Compiled, Variation};
use crate::support::compile::{Change, Compiler};
use crate::support::sample::sample_mutants;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use autokernel_codegen::attention::{Problem, Sm90Schedule};
use autokernel_codegen::dtype::Dtype;

fn packed() -> Problem {
    of(true, Keys::Packed)
}

const SCHEDULE: Sm90Schedule =
    Sm90Schedule { consumers: 2, tile_keys: 32, stages: 2, ping_pong: true, share_keys: false, exp_by_fma: 0 };

/// Sequences of several tiles, ragged, of which some are empty; more keys than queries, and fewer; more sequences than lanes, most of
/// one query or none; one of each; and no keys.
const SIZES: [Sizes; 6] = [
    Sizes { batch: 5, heads: 4, groups: 2, queries: 400, keys: 400 },
    Sizes { batch: 3, heads: 3, groups: 1, queries: 70, keys: 365 },
    Sizes { batch: 6, heads: 2, groups: 2, queries: 350, keys: 40 },
    MANY,
    Sizes { batch: 1, heads: 1, groups: 1, queries: 1, keys: 1 },
    Sizes { batch: 2, heads: 2, groups: 1, queries: 5, keys: 0 },
];

/// As many as three warps have lanes, and some more.
const MANY: Sizes = Sizes { batch: 100, heads: 2, groups: 1, queries: 110, keys: 250 };

macro_rules! kernels {
    ($($name:ident: $problem:expr, $schedule:expr;)*) => {
        $(#[test]
        fn $name() {
            check_at(&SIZES, stringify!($name), &$problem, $schedule);
        })*
    };
}

kernels! {
    tiles_of_packed_sequences_are_right: packed(), SCHEDULE;
    causal_tiles_of_packed_sequences_are_right: Problem { causal: true, ..packed() }, SCHEDULE;
    tiles_of_packed_sequences_with_a_window_are_right: Problem { causal: true, window: Some(37), ..packed() }, SCHEDULE;
    one_consumer_is_right_with_packed_sequences:
        Problem { window: Some(50), ..packed() },
        Sm90Schedule { consumers: 1, ping_pong: false, tile_keys: 64, ..SCHEDULE };
    three_consumers_are_right_with_packed_sequences:
        Problem { dtype: Dtype::F16, causal: true, ..packed() },
        Sm90Schedule { consumers: 3, stages: 3, ..SCHEDULE };
    packed_heads_that_end_inside_a_panel_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, ..packed() },
        Sm90Schedule { tile_keys: 48, ..SCHEDULE };
    wide_packed_heads_are_right:
        Problem { head_dim: 256, value_dim: 256, scale: 0.1, log_sum_exp: false, ..packed() },
        Sm90Schedule { ping_pong: false, ..SCHEDULE };
    packed_values_narrower_than_keys_are_right:
        Problem { head_dim: 192, value_dim: 128, scale: 0.1, causal: true, ..packed() }, SCHEDULE;
}

/// With the logarithm of each sum.
fn with_body(problem: Problem) -> Problem {
    Problem { sequences: Sequences { packed_queries: true, keys: Keys::Packed }, log_sum_exp: true, ..problem }
}

#[test]
fn every_form_of_a_body_is_right_in_tiles_of_packed_sequences() {
    let test = "every_form_of_a_body_is_right_in_tiles_of_packed_sequences";
    let own = bodies().into_iter().chain(relative()).chain([50.0, 300.0].map(bounded));
    for (problem, exp_by_fma) in own.zip([0, 2].into_iter().cycle()) {
        check_at(&SIZES[..4], test, &with_body(problem), Sm90Schedule { exp_by_fma, ..SCHEDULE });
    }
}

#[test]
fn bounds_that_are_nonsense_are_cut_to_what_the_tensors_have() {
    let Some(compiler) = Compiler::find("bounds_that_are_nonsense_are_cut_to_what_the_tensors_have") else { return };
    for causal in [false, true] {
        let compiled = Compiled::new(&compiler, &Problem { causal, ..packed() }, SCHEDULE);
        let sizes = Sizes { batch: 4, heads: 2, groups: 1, queries: 170, keys: 150 };
        compiled.check(sizes, Variation { nonsense: true, ..Variation::default() });
    }
}

#[test]
fn a_launch_behind_another_finds_the_counter_of_tiles_as_it_was() {
    let Some(compiler) = Compiler::find("a_launch_behind_another_finds_the_counter_of_tiles_as_it_was") else { return };
    let compiled = Compiled::new(&compiler, &Problem { causal: true, ..packed() }, SCHEDULE);
    for sizes in [SIZES[0], MANY] {
        compiled.check(sizes, Variation { launches: 3, ..Variation::default() });
    }
}

#[test]
fn what_a_careless_edit_of_packed_tiles_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_of_packed_tiles_breaks_is_noticed") else { return };
    let problem = Problem { causal: true, ..packed() };
    for change in sample_mutants(MUTANTS, 8, |change| *change) {
        let compiled = Compiled::changed(&compiler, &problem, SCHEDULE, Some(change)).unwrap();
        let sizes = [MANY].into_iter().chain(SIZES);
        let noticed = (0..).zip(sizes).any(|(seed, sizes)| compiled.run(sizes, Variation::numbered(seed)).is_err());
        assert!(noticed, "{change:?}");
    }
}

/// Changes that a careless edit could make, each of which a run must notice: in results, or as a race.
const MUTANTS: [Change<'_>; 13] = [
    mutant("sm90_attention_packed_walk.cuh", "      before += passed;\n", ""),
    mutant("sm90_attention_packed_walk.cuh", "      rest -= passed;\n", ""),
    mutant("sm90_attention_packed_walk.cuh", "window.behind() >= args.batch", "true"),
    mutant("attention_scan.cuh", "up_to > place", "up_to >= place"),
    mutant("attention_scan.cuh", "first + lane < batch ? places(first + lane) : 0", "places(first + lane)"),
    mutant("sm90_attention_multiplier.cuh", "if constexpr (G::kClearsValues) clear_values", "if (false) clear_values"),
    mutant("attention_store.cuh", "query(row) < tile.sequence.queries", "query(row) <= tile.sequence.queries"),
    mutant("sm90_attention_producer.cuh", "tile.sequence.first_key + block", "block"),
    mutant("sm90_attention_query_copies.cuh", "tile.sequence.first_query + row", "row"),
    mutant("sm90_attention_walk.cuh", "ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);", ""),
    mutant("sm90_attention_walk.cuh", "ptx::mbarrier_wait(barriers.full(cursor.stage), cursor.parity);", ""),
    mutant("sm90_attention_packed_walk.cuh", "      __syncwarp();\n", ""),
    mutant("attention_sequences.cuh", "number + 1, args.keys) - of.first_key, 0)", "number + 1, args.keys), 0)"),
];

const fn mutant(file: &'static str, before: &'static str, after: &'static str) -> Change<'static> {
    Change { file, before, after }
}
