//! Attention whose blocks share keys: few queries on many keys, and sequences of which the device alone knows the lengths.

use super::attention_kernels::{bodies, check_at, hidden};
use crate::support::attention::{Compiled, Variation};
use crate::support::compile::{Change, Compiler, mutant};
use crate::support::sample::sample_mutants;
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use autokernel_codegen::attention::{Problem, Sm90Schedule};
use autokernel_codegen::dtype::Dtype;

pub fn of(packed_queries: bool, keys: Keys) -> Problem {
    let (dtype, scale, sequences) = (Dtype::Bf16, 0.25, Sequences { packed_queries, keys });
    let (causal, window, score, log_sum_exp) = (false, None, None, true);
    Problem { dtype, head_dim: 64, value_dim: 64, causal, window, scale, log_sum_exp, score, sequences }
}

const SCHEDULE: Sm90Schedule =
    Sm90Schedule { consumers: 1, tile_keys: 32, stages: 3, ping_pong: false, share_keys: true, exp_by_fma: 0 };

/// As many boxes of small pages as a producer has warps, and twice as many.
const OF_WARPS: Sm90Schedule = Sm90Schedule { tile_keys: 64, stages: 2, ..SCHEDULE };
const OF_WARPS_TWICE: Sm90Schedule = Sm90Schedule { tile_keys: 128, ..OF_WARPS };

/// One query of each head on more keys than blocks share evenly; several tiles of rows; fewer keys than blocks; one of each; and
/// so many keys that blocks draw shares of a tile.
pub const SIZES: [Sizes; 5] = [
    Sizes { batch: 2, heads: 6, groups: 2, queries: 1, keys: 331 },
    Sizes { batch: 5, heads: 4, groups: 1, queries: 37, keys: 165 },
    Sizes { batch: 1, heads: 3, groups: 3, queries: 5, keys: 40 },
    Sizes { batch: 1, heads: 1, groups: 1, queries: 1, keys: 1 },
    Sizes { batch: 1, heads: 2, groups: 1, queries: 1, keys: 5000 },
];

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
    few_queries_on_many_keys_are_right: of(false, Keys::Whole), SCHEDULE;
    causal_queries_of_which_blocks_share_keys_are_right:
        Problem { causal: true, log_sum_exp: false, ..of(false, Keys::Whole) }, SCHEDULE;
    two_consumers_that_take_turns_are_right_with_shared_keys:
        Problem { causal: true, window: Some(50), ..of(false, Keys::Counted) },
        Sm90Schedule { consumers: 2, stages: 2, ping_pong: true, ..SCHEDULE };
    keys_that_a_body_hides_are_right_whichever_block_has_them: hidden(), SCHEDULE;
    keys_that_the_device_counts_are_right: of(false, Keys::Counted), SCHEDULE;
    keys_in_small_pages_are_right: Problem { causal: true, ..of(false, Keys::Paged(16)) }, SCHEDULE;
    keys_in_small_pages_that_warps_copy_together_are_right:
        Problem { causal: true, ..of(false, Keys::Paged(16)) }, OF_WARPS;
    keys_in_large_pages_are_right: Problem { head_dim: 96, value_dim: 80, ..of(false, Keys::Paged(64)) }, SCHEDULE;
    packed_sequences_are_right: Problem { causal: true, ..of(true, Keys::Packed) }, SCHEDULE;
    packed_sequences_with_a_window_are_right:
        Problem { dtype: Dtype::F16, window: Some(20), ..of(true, Keys::Packed) },
        Sm90Schedule { consumers: 2, ..SCHEDULE };
    packed_queries_on_keys_in_pages_are_right:
        Problem { causal: true, head_dim: 192, value_dim: 128, scale: 0.1, ..of(true, Keys::Paged(48)) }, SCHEDULE;
}

#[test]
fn every_form_of_a_body_is_right_where_rows_are_of_several_heads() {
    for (problem, exp_by_fma) in bodies().iter().zip([0, 2].into_iter().cycle()) {
        let test = "every_form_of_a_body_is_right_where_rows_are_of_several_heads";
        check_at(&SIZES[..4], test, problem, Sm90Schedule { exp_by_fma, ..SCHEDULE });
    }
}

#[test]
fn the_reference_agrees_with_fp64_wherever_sequences_lie() {
    let test = "the_reference_agrees_with_fp64_wherever_sequences_lie";
    let Some(compiler) = Compiler::find(test) else { return };
    let causal = |packed, keys| Problem { causal: true, head_dim: 32, ..of(packed, keys) };
    for problem in [causal(false, Keys::Counted), causal(true, Keys::Paged(16)), causal(true, Keys::Packed)] {
        let sizes = Sizes { batch: 5, heads: 2, groups: 1, queries: 9, keys: 40 };
        Compiled::reference(&compiler, &problem).check(sizes, Variation::default());
    }
}

/// More sequences than a warp has lanes, some of which have no key.
const MANY: Sizes = Sizes { batch: 75, heads: 2, groups: 1, queries: 1, keys: 70 };

/// More than it guesses the lengths of.
const TOO_MANY: Sizes = Sizes { batch: 131, ..MANY };

#[test]
fn batches_of_more_sequences_than_lanes_are_right() {
    let test = "batches_of_more_sequences_than_lanes_are_right";
    let Some(compiler) = Compiler::find(test) else { return };
    for (problem, schedule) in [
        (of(false, Keys::Whole), SCHEDULE),
        (of(false, Keys::Counted), SCHEDULE),
        (of(true, Keys::Packed), SCHEDULE),
        (of(false, Keys::Paged(16)), OF_WARPS_TWICE),
    ] {
        let compiled = Compiled::new(&compiler, &problem, schedule);
        compiled.check(MANY, Variation::default());
        compiled.check(TOO_MANY, Variation::default());
    }
}

#[test]
fn what_a_careless_edit_of_shares_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_of_shares_breaks_is_noticed") else { return };
    let of_counted = MUTANTS.map(|change| (of(false, Keys::Counted), SCHEDULE, change));
    let of_pages = MUTANTS_OF_PAGES.map(|change| (of(false, Keys::Paged(16)), OF_WARPS, change));
    let of_whole = MUTANTS_OF_WHOLE.map(|change| (of(false, Keys::Whole), SCHEDULE, change));
    let all = of_counted.into_iter().chain(of_pages).chain(of_whole);
    for (problem, schedule, change) in sample_mutants(all, 8, |(.., change)| *change) {
        let compiled = Compiled::changed(&compiler, &problem, schedule, Some(change)).unwrap();
        let sizes = [MANY].into_iter().chain(SIZES).chain([MANY]);
        let noticed = (0..).zip(sizes).any(|(seed, sizes)| compiled.run(sizes, Variation::numbered(seed)).is_err());
        assert!(noticed, "{change:?}");
    }
}

/// Changes that a careless edit could make, each of which a run must notice: in results, or as a race.
const MUTANTS: [Change<'_>; 20] = [
    mutant("attention_shares.cuh", "if (i == other) of = read[other];", "of = read[0];"),
    mutant("attention_shares.cuh", "if (count != 0) find(only, begin);", ""),
    mutant("sm90_attention_multiplier.cuh", "if constexpr (G::kClearsValues) clear_values", "if (false) clear_values"),
    mutant("sm90_attention_multiplier.cuh", "    ptx::fence_async_proxy();\n", ""),
    mutant("attention_finish.cuh", "meet();  // what one thread says", "// what one thread says"),
    mutant("sm90_attention_sharing_consumer.cuh", "meet();  // all warps have read", "// all warps have read"),
    mutant("attention_finish.cuh", "if (last) *counter = 0;", ""),
    mutant("attention_partials.cuh", "sum = fmaf(of_part, states[i].y, sum);", "sum += states[i].y;"),
    mutant("attention_partials.cuh", "(of - largest) * scale", "of * scale"),
    mutant("attention_shares.cuh", "min(each * block, count)", "each * block"),
    mutant("attention_shares.cuh", "(count + gridDim.x - 1) / gridDim.x", "count / gridDim.x"),
    mutant("attention_shares.cuh", "ceil_div(piece.before, each)", "piece.before / each"),
    mutant("attention_shares.cuh", "piece.from - piece.before + piece", "piece"),
    mutant("attention_packed.cuh", "kWarpSize * 16 + 7) / 8", "kWarpSize * 16) / 8"),
    mutant("attention_shares.cuh", "skipped = 0;", ""),
    mutant("sm90_attention_sharing.cuh", "!sequences.holds(args)", "false"),
    mutant("attention_sequences.cuh", "args.lengths, number, args.keys)", "args.lengths, number, args.keys + 3)"),
    mutant("attention_shares.cuh", "places += window_at(first).all()", "places += window.all()"),
    mutant("attention_shares.cuh", "      rest -= window.all();\n", ""),
    mutant("attention_scan.cuh", "of(up_to - own, found)", "of(up_to, found)"),
];

/// Where warps copy small pages together.
const MUTANTS_OF_PAGES: [Change<'_>; 8] = [
    mutant("sm90_attention_sharing_producer.cuh", "is_first = false;", ""),
    mutant("sm90_attention_sharing_producer.cuh", "        behind = box_behind(args, piece, block);\n", ""),
    mutant("sm90_attention_sharing_producer.cuh", "block > piece.blocks.first ?", "true ?"),
    mutant(
        "sm90_attention_sharing.cuh",
        "box = Producer::box_at(producer.first_place(args, share));",
        "box = Producer::box_at(first); (void)producer;",
    ),
    mutant(
        "sm90_attention_sharing_producer.cuh",
        "(warp * kBoxesOfWarp + threadIdx.x % kWarpSize)",
        "(threadIdx.x % kWarpSize)",
    ),
    mutant("sm90_attention_sharing_producer.cuh", "if (threadIdx.x == 0) ptx", "if (threadIdx.x % kWarpSize == 0) ptx"),
    mutant(
        "sm90_attention_sharing_producer.cuh",
        "load_values(args, piece, of_values, policy)",
        "load_values(args, piece, next, policy)",
    ),
    mutant(
        "sm90_attention_sharing_producer.cuh",
        "ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);",
        "",
    ),
];

/// Where sequences are whole.
const MUTANTS_OF_WHOLE: [Change<'_>; 2] = [
    mutant("attention_shares.cuh", "cut(each * args.batch, ", "cut(each, "),
    mutant("attention_shares.cuh", "begin - number * each", "begin"),
];
