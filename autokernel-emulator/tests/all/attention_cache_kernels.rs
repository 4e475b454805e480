//! Attention of many queries to keys of a cache by tiles of whole sequences: where the device alone knows how many keys each has.

use super::attention_kernels::{bounded, check_at, relative};
use super::attention_sharing_kernels::of;
use crate::support::attention::{Compiled, Variation};
use crate::support::compile::Compiler;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use autokernel_codegen::attention::{Problem, Sm90Schedule};
use autokernel_codegen::dtype::Dtype;

const SCHEDULE: Sm90Schedule =
    Sm90Schedule { consumers: 2, tile_keys: 32, stages: 2, ping_pong: true, share_keys: false, exp_by_fma: 0 };
const ONE_CONSUMER: Sm90Schedule = Sm90Schedule { consumers: 1, ping_pong: false, ..SCHEDULE };

/// Several tiles of each sequence; more sequences than lanes, most of few queries; fewer keys than queries; one of each; and no keys. Of
/// each four lengths one is more than there are, and one none or less.
const SIZES: [Sizes; 5] = [
    Sizes { batch: 5, heads: 4, groups: 2, queries: 150, keys: 300 },
    MANY,
    Sizes { batch: 3, heads: 3, groups: 1, queries: 200, keys: 70 },
    Sizes { batch: 1, heads: 1, groups: 1, queries: 1, keys: 1 },
    Sizes { batch: 2, heads: 2, groups: 1, queries: 5, keys: 0 },
];

const MANY: Sizes = Sizes { batch: 70, heads: 2, groups: 1, queries: 3, keys: 80 };

/// The same where queries lie one behind the other: some sequences have none.
const PACKED_SIZES: [Sizes; 5] = [
    Sizes { batch: 5, heads: 4, groups: 2, queries: 400, keys: 300 },
    Sizes { batch: 100, heads: 2, groups: 1, queries: 110, keys: 60 },
    Sizes { batch: 6, heads: 2, groups: 2, queries: 350, keys: 40 },
    Sizes { batch: 1, heads: 1, groups: 1, queries: 1, keys: 1 },
    Sizes { batch: 2, heads: 2, groups: 1, queries: 5, keys: 0 },
];

fn check(test: &str, problem: &Problem, schedule: Sm90Schedule) {
    let sizes = if problem.sequences.packed_queries { &PACKED_SIZES } else { &SIZES };
    check_at(sizes, test, problem, schedule);
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
    tiles_on_counted_keys_are_right: of(false, Keys::Counted), SCHEDULE;
    causal_tiles_on_counted_keys_are_right: Problem { causal: true, ..of(false, Keys::Counted) }, SCHEDULE;
    tiles_of_packed_queries_on_counted_keys_are_right: of(true, Keys::Counted), SCHEDULE;
    causal_tiles_of_packed_queries_on_counted_keys_are_right:
        Problem { causal: true, ..of(true, Keys::Counted) }, Sm90Schedule { consumers: 3, stages: 3, ..SCHEDULE };
    one_consumer_is_right_with_a_window_on_counted_keys:
        Problem { dtype: Dtype::F16, window: Some(50), ..of(true, Keys::Counted) },
        Sm90Schedule { tile_keys: 64, ..ONE_CONSUMER };
    counted_keys_of_heads_that_end_inside_a_panel_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, window: Some(37), ..of(false, Keys::Counted) },
        Sm90Schedule { tile_keys: 48, ..SCHEDULE };
    counted_keys_of_wide_heads_are_right:
        Problem { head_dim: 192, value_dim: 256, scale: 0.1, log_sum_exp: false, ..of(true, Keys::Counted) },
        Sm90Schedule { ping_pong: false, ..SCHEDULE };
    tiles_on_keys_in_small_pages_are_right: of(false, Keys::Paged(16)), Sm90Schedule { tile_keys: 64, ..SCHEDULE };
    causal_tiles_on_keys_in_pages_are_right: Problem { causal: true, ..of(false, Keys::Paged(64)) }, SCHEDULE;
    causal_tiles_of_packed_queries_on_keys_in_small_pages_are_right:
        Problem { causal: true, ..of(true, Keys::Paged(16)) }, Sm90Schedule { stages: 3, ..SCHEDULE };
    tiles_of_packed_queries_on_keys_in_pages_larger_than_they_are_right: of(true, Keys::Paged(128)), SCHEDULE;
    one_consumer_is_right_with_a_window_on_keys_in_pages:
        Problem { dtype: Dtype::F16, window: Some(50), ..of(true, Keys::Paged(64)) },
        Sm90Schedule { tile_keys: 64, ..ONE_CONSUMER };
    pages_and_tiles_that_a_common_part_of_both_divides_are_right:
        Problem { head_dim: 96, value_dim: 80, causal: true, window: Some(37), ..of(true, Keys::Paged(32)) },
        Sm90Schedule { tile_keys: 48, ..SCHEDULE };
    wide_heads_on_keys_in_pages_are_right:
        Problem { head_dim: 256, value_dim: 128, scale: 0.1, causal: true, ..of(false, Keys::Paged(16)) },
        Sm90Schedule { ping_pong: false, ..SCHEDULE };
}

#[test]
fn bodies_are_right_in_tiles_on_caches() {
    let test = "bodies_are_right_in_tiles_on_caches";
    for (number, problem) in relative().into_iter().chain([bounded(50.0)]).enumerate() {
        let sequences = Sequences { packed_queries: number % 2 == 0, keys: CACHES[number % CACHES.len()] };
        check(test, &Problem { sequences, log_sum_exp: true, ..problem }, SCHEDULE);
    }
}

#[test]
fn launches_behind_one_another_find_the_tiles_of_a_cache() {
    let Some(compiler) = Compiler::find("launches_behind_one_another_find_the_tiles_of_a_cache") else { return };
    for keys in CACHES {
        let compiled = Compiled::new(&compiler, &Problem { causal: true, ..of(false, keys) }, SCHEDULE);
        for sizes in [SIZES[0], MANY] {
            compiled.check(sizes, Variation { launches: 3, ..Variation::default() });
        }
    }
}

const CACHES: [Keys; 3] = [Keys::Counted, Keys::Paged(16), Keys::Paged(64)];
