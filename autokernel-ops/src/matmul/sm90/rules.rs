//! What a schedule of the sm90 family must keep.

use autokernel_core::{Arch, Dtype};

use super::heights::asked_for;
use super::registers::{held_with_blocks, held_with_weights, max_accumulators, max_with_blocks, max_with_weights};
use super::{MAX_SHARED_BYTES, Mode, SWIZZLE_BYTES, Sharing, Sm90Schedule as S, WARPS_PER_WARPGROUP, WGMMA_M};
use crate::matmul::body::{BodyClass, Made};
use crate::matmul::many::Many;
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;
use crate::rule::Rule;

/// Blocks of a cluster along M and N.
const CLUSTERS: [(u32, u32); 5] = [(1, 1), (2, 1), (1, 2), (4, 1), (1, 4)];
/// The largest cluster that every Hopper part grants.
const MAX_SPLIT_K: u32 = 8;
/// Bytes that a store by TMA takes together.
const TMA_UNIT_BYTES: u32 = 16;
/// Bytes of a partial sum.
const SUM_BYTES: u32 = 4;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "family_serves_arch",
        words: "sm90 runs on sm_90a alone",
        holds: |_, _, arch| arch == Arch::SM_90A,
        reason: |_, _, arch| format!("family sm90 runs on sm_90a alone, not on {arch}; take family sm80"),
    },
    Rule {
        name: "layout_is_one_that_wgmma_reads",
        words: "elements of A or B of other than 16 bits have layout nt",
        holds: |_, class, _| class.layouts().contains(&class.layout),
        reason: |_, class, _| {
            let input = class.of_b();
            format!("wgmma multiplies {input} along K alone; layout {} is another, take nt", class.layout)
        },
    },
    Rule {
        name: "weights_are_the_rows_of_wgmma",
        words: "of weights that are whole numbers swap_ab is true",
        holds: |s, class, _| s.swap_ab || class.weights.is_none(),
        reason: |_, _, _| "wgmma takes what is made of weights as rows, from registers; take swap_ab".to_owned(),
    },
    Rule {
        name: "consumers_one_to_three",
        words: "consumers is 1 to 3",
        holds: |s, _, _| (1..=3).contains(&s.consumers),
        reason: |s, _, _| format!("consumers = {}", s.consumers),
    },
    Rule {
        name: "ping_pong_takes_two_consumers",
        words: "mode ping_pong has consumers = 2",
        holds: |s, _, _| s.mode == Mode::Cooperative || s.consumers == 2,
        reason: |s, _, _| format!("mode = ping_pong with consumers = {}", s.consumers),
    },
    Rule {
        name: "tile_m_splits_into_wgmma_blocks",
        words: "without swap_ab, tile_m is in 64..=256 and a multiple of 64 (ping_pong) or of 64 * consumers (cooperative)",
        holds: |s, _, _| s.swap_ab || s.splits_into_blocks(s.tile_m),
        reason: |s, _, _| format!("tile_m = {} is not a multiple of {} in 64..=256", s.tile_m, s.block()),
    },
    Rule {
        name: "tile_n_is_a_wgmma_width",
        words: "without swap_ab, tile_n is in 16..=256 and a multiple of 8, with two products of 16",
        holds: |s, class, _| s.swap_ab || is_width(s.tile_n, 16) && s.tile_n.is_multiple_of(8 * class.products()),
        reason: |s, class, _| {
            format!("tile_n = {} is not a multiple of {} in 16..=256", s.tile_n, 8 * class.products())
        },
    },
    Rule {
        name: "swapped_tile_n_splits_into_wgmma_blocks",
        words: "with swap_ab, tile_n is in 64..=256 and a multiple of 64 (ping_pong) or of 64 * consumers (cooperative), with \
                two products of twice that",
        holds: |s, class, _| {
            let whole = s.tile_n.is_multiple_of(s.block() * class.products());
            !s.swap_ab || s.splits_into_blocks(s.tile_n) && whole
        },
        reason: |s, class, _| {
            let block = s.block() * class.products();
            format!("swap_ab with tile_n = {}, which is not a multiple of {block} in 64..=256", s.tile_n)
        },
    },
    Rule {
        name: "swapped_tile_m_is_a_wgmma_width",
        words: "with swap_ab, tile_m is in 8..=256 and a multiple of 8",
        holds: |s, _, _| !s.swap_ab || is_width(s.tile_m, 8),
        reason: |s, _, _| format!("swap_ab with tile_m = {}, which is not a multiple of 8 in 8..=256", s.tile_m),
    },
    Rule {
        name: "width_is_one_of_whole_numbers",
        words: "of i8, tile_n, with swap_ab tile_m, is 8, 24 or a multiple of 16",
        holds: |s, class, _| class.input != Dtype::I8 || [8, 24].contains(&s.width()) || s.width().is_multiple_of(16),
        reason: |s, _, _| {
            let (name, width) = (if s.swap_ab { "tile_m" } else { "tile_n" }, s.width());
            format!("{name} = {width} is no width of wgmma of i8; take a multiple of 16, or 8 or 24")
        },
    },
    Rule {
        name: "bytes_are_stored_by_sixteen",
        words: "of 8-bit outputs, without swap_ab, tile_n, with two products half of it, is a multiple of 16",
        holds: |s, class, _| {
            class.output.bytes() > 1 || s.swap_ab || class.columns_of_c(s.tile_n).is_multiple_of(TMA_UNIT_BYTES)
        },
        reason: |s, class, _| {
            let columns = class.columns_of_c(s.tile_n);
            format!(
                "a tile has {columns} columns of C of a byte each, and TMA stores 16 bytes at a time; take a multiple of 16"
            )
        },
    },
    Rule {
        name: "rotated_heads_lie_in_a_lane",
        words: "with a body whose elements see partners swap_ab is false, and where these are halves of heads tile_n, with two products \
                half of it, is a multiple of a head",
        holds: |s, class, _| {
            class.partners().is_none() || !s.swap_ab && class.holds_partners(class.columns_of_c(s.tile_n))
        },
        reason: |s, class, _| {
            let (columns, head) = (class.columns_of_c(s.tile_n), class.body.as_ref().map_or(1, BodyClass::head));
            format!(
                "swap_ab = {}, and {columns} columns of heads of {head}; take whole heads without swap_ab",
                s.swap_ab
            )
        },
    },
    Rule {
        name: "scaled_blocks_lie_in_a_warp",
        words: "of an output whose scales the kernel makes swap_ab is false, and tile_n, with two products half of it, is a multiple of \
                the columns of a block",
        holds: |s, class, _| {
            let is_whole = |made: Made| class.columns_of_c(s.tile_n).is_multiple_of(made.block);
            class.made().is_none_or(|made| !s.swap_ab && is_whole(made))
        },
        reason: |s, class, _| {
            let (columns, block) = (class.columns_of_c(s.tile_n), class.made().map_or(1, |made| made.block));
            format!(
                "swap_ab = {}, and {columns} columns of blocks of {block} that have a scale; take whole blocks without swap_ab",
                s.swap_ab
            )
        },
    },
    Rule {
        name: "row_major_b_takes_whole_swizzle_rows",
        words: "with layouts nn and tn, tile_n is a multiple of 64, with two products of 128",
        holds: |s, class, _| class.layout.transpose_b() || s.tile_n.is_multiple_of(64 * class.products()),
        reason: |s, class, _| {
            let panels = 64 * class.products();
            format!("tile_n = {} is not a multiple of {panels}, which layout {} asks for", s.tile_n, class.layout)
        },
    },
    Rule {
        name: "transposed_a_takes_whole_swizzle_rows",
        words: "with layouts tn and tt, tile_m is a multiple of 64",
        holds: |s, class, _| !class.layout.transpose_a() || s.tile_m.is_multiple_of(64),
        reason: |s, class, _| {
            format!("tile_m = {} is not a multiple of 64, which layout {} asks for", s.tile_m, class.layout)
        },
    },
    Rule {
        name: "accumulators_fit_registers",
        words: "tile_m * tile_n / 128, divided by consumers if cooperative, is at most 192, 128 with splits, or \
                96 with 3 consumers or stream_k; 16 fewer with an epilogue that calls tanh or erf; with a body at most the consumers' 255, 232 \
                or 160 registers a thread, 216 beside rows that an index picks, less 40, in ping-pong with factors of 8 bits, an output of more and scales alone 24, 8 more with a \
                matrix that may come by TMA, and what the body needs",
        holds: |s, class, _| s.accumulators() <= max_accumulators(s, class),
        reason: |s, class, _| {
            let (held, limit, S { consumers, .. }) = (s.accumulators(), max_accumulators(s, class), s);
            let fused = if class.body.is_some() { String::new() } else { "the epilogue ".to_owned() } + &class.fused();
            format!("{held} accumulators a thread, {limit} fit with {consumers} consumers and {fused}")
        },
    },
    Rule {
        name: "fragments_fit_registers",
        words: "of weights that are whole numbers, accumulators, with scales of groups twice as many, and 32 for each 64 columns of \
                a consumer's, of i4x2 with scales 48 unless tile_m is above 64 and groups have 128, and 8 more with zero points, are at most 168, with a body less what it needs beyond 32; of three consumers 120",
        holds: |s, class, _| class.weights.is_none() || held_with_weights(s, class) <= max_with_weights(s, class),
        reason: |s, class, _| {
            let (held, limit) = (held_with_weights(s, class), max_with_weights(s, class));
            format!(
                "{held} registers of accumulators and of what is made of weights, and {limit} fit; take a smaller tile"
            )
        },
    },
    Rule {
        name: "tile_n_begins_where_blocks_do",
        words: "of scales of blocks, columns of C in a tile divide 128 or are a multiple of it",
        holds: |s, class, _| class.block.is_none_or(|block| begins_with_blocks(class.columns_of_c(s.tile_n), block)),
        reason: |s, class, _| {
            let columns = class.columns_of_c(s.tile_n);
            format!(
                "a tile has {columns} columns of C, so that others begin inside of a block of 128; take 64, 128 or 256"
            )
        },
    },
    Rule {
        name: "block_scales_fit_registers",
        words: "of scales of blocks, accumulators, half of the width of wgmma up to 64, and the scales that a lane holds, both twice where a \
                consumer has one block of 64 by up to 128, are at most 200, in clusters 196, of two consumers with splits and swap_ab 192, of three 120, with a body less what \
                it needs beyond 32; of many products consumers is 1",
        holds: |s, class, _| class.block.is_none() || held_with_blocks(s, class) <= max_with_blocks(s, class),
        reason: |s, class, _| {
            let (held, limit) = (held_with_blocks(s, class), max_with_blocks(s, class));
            let smaller = if limit == 0 { "one consumer" } else { "a smaller tile" };
            format!("{held} registers of accumulators and scales, and {limit} fit; take {smaller}")
        },
    },
    Rule {
        name: "stages_two_to_sixteen",
        words: "stages is 2 to 16",
        holds: |s, _, _| (2..=16).contains(&s.stages),
        reason: |s, _, _| format!("stages = {}", s.stages),
    },
    Rule {
        name: "cluster_of_one_two_or_four_in_a_row",
        words: "cluster_m x cluster_n is 1x1, 2x1, 1x2, 4x1 or 1x4",
        holds: |s, _, _| CLUSTERS.contains(&(s.cluster_m, s.cluster_n)),
        reason: |s, _, _| format!("cluster {}x{}; legal are 1x1, 2x1, 1x2, 4x1 and 1x4", s.cluster_m, s.cluster_n),
    },
    Rule {
        name: "cluster_slices_b_in_whole_swizzle_atoms",
        words: "tile_n is a multiple of 8 * cluster_m, with layouts nn and tn of 64 * cluster_m, with two products of twice that",
        holds: |s, class, _| s.tile_n.is_multiple_of(slice_of_b(class) * s.cluster_m),
        reason: |s, class, _| {
            let (S { tile_n, cluster_m, .. }, slice) = (s, slice_of_b(class));
            format!("tile_n = {tile_n} is not a multiple of {slice} for each of {cluster_m} blocks")
        },
    },
    Rule {
        name: "cluster_slices_a_in_whole_swizzle_atoms",
        words: "tile_m is a multiple of 8 * cluster_n, with layouts tn and tt of 64 * cluster_n",
        holds: |s, class, _| s.tile_m.is_multiple_of(slice_of_a(class) * s.cluster_n),
        reason: |s, class, _| {
            let (S { tile_m, cluster_n, .. }, slice) = (s, slice_of_a(class));
            format!("tile_m = {tile_m} is not a multiple of {slice} for each of {cluster_n} blocks")
        },
    },
    Rule {
        name: "gathered_rows_take_registers",
        words: "of rows of A that an index picks consumers is 1 or 2",
        holds: |s, class, _| s.consumers <= 2 || !class.gathers(),
        reason: |s, _, _| {
            format!("{} consumers leave too few registers to the threads that gather; take 1 or 2", s.consumers)
        },
    },
    Rule {
        name: "gathered_rows_are_not_shared",
        words: "of rows of A that an index picks cluster_n is 1",
        holds: |s, class, _| s.cluster_n == 1 || !class.gathers(),
        reason: |s, _, _| {
            format!(
                "cluster_n = {}: TMA shares what a cluster loads, and gathers no rows; take cluster_n = 1",
                s.cluster_n
            )
        },
    },
    Rule {
        name: "heights_are_of_swapped_tiles",
        words: "rows_up_to above 0 has swap_ab, cluster 1x1 and stream_k = false, and neither weights that are whole numbers nor scales of \
                blocks",
        holds: |s, class, _| {
            let is_plain = s.swap_ab && s.cluster_m * s.cluster_n == 1 && !s.stream_k;
            !s.has_heights() || is_plain && class.weights.is_none() && class.block.is_none()
        },
        reason: |_, _, _| {
            "an image of several heights asks for swap_ab, cluster 1x1, stream_k = false and factors of one type without scales of \
             blocks; take rows_up_to = 0"
                .to_owned()
        },
    },
    Rule {
        name: "tile_is_one_of_its_heights",
        words: "rows_up_to above 0 has tile_m in 8, 16, … 64, 80, 96, …, in mode ping_pong 8, 16, … 128, 144, 160, …, of a quarter of it up \
                to it, with splits above 128 of half, with a body 8 accumulators fewer than it could have alone and at most four store boxes \
                but for the tallest, and as many stages up to 12 as fit beside a store box of f32",
        holds: |s, class, _| {
            !s.has_heights() || asked_for(class, s).any(|of| (of.tile_m, of.stages) == (s.tile_m, s.stages))
        },
        reason: |s, class, _| {
            let S { tile_m, stages, rows_up_to, .. } = s;
            let tiles = asked_for(class, s).map(|of| format!("{} with stages = {}", of.tile_m, of.stages));
            let tiles = tiles.collect::<Vec<_>>().join(", ");
            format!("tile_m = {tile_m} with stages = {stages} is none of what rows_up_to = {rows_up_to} gives: {tiles}")
        },
    },
    Rule {
        name: "split_k_one_to_eight",
        words: "split_k is 1 to 8, without splits 1",
        holds: |s, _, _| (1..=if s.splits { MAX_SPLIT_K } else { 1 }).contains(&s.split_k),
        reason: |s, _, _| match (s.splits, s.split_k) {
            (false, split_k) => format!("split_k = {split_k} asks for an image that has splits"),
            (true, split_k) => format!("split_k = {split_k} is not in 1..={MAX_SPLIT_K}"),
        },
    },
    Rule {
        name: "split_k_is_cooperative_without_multicast",
        words: "splits has mode cooperative and cluster 1x1",
        holds: |s, _, _| !s.splits || (s.mode == Mode::Cooperative && s.cluster_m * s.cluster_n == 1),
        reason: |_, _, _| "splits asks for mode cooperative and cluster 1x1".to_owned(),
    },
    Rule {
        name: "groups_are_walked_over",
        words: "of groups of rows, and of rows that are counted, splits is false",
        holds: |s, class, _| !s.splits || !class.many().counts_rows_on_device(),
        reason: |_, _, _| {
            "splits asks for a cluster for each tile, and how many groups have the device alone knows".to_owned()
        },
    },
    Rule {
        name: "groups_along_k_have_whole_tiles",
        words: "of groups along K mode is cooperative, splits and stream_k are false",
        holds: |s, class, _| {
            let is_whole = s.mode == Mode::Cooperative && !s.splits && !s.stream_k;
            is_whole || class.many() != Many::GroupsAlongK
        },
        reason: |s, _, _| {
            format!(
                "mode = {}, splits = {} and stream_k = {} count on as much of K for each tile, and groups along K differ in it",
                s.mode.name(),
                s.splits,
                s.stream_k
            )
        },
    },
    Rule {
        name: "split_k_partials_fit_the_ring",
        words: "tile_m * tile_n / consumers * (split_k - 1) * (4 * consumers / split_k, rounded up) is at most \
                stages * (tile_m + tile_n) * 128",
        holds: |s, _, _| partial_bytes(s) <= s.ring_bytes(),
        reason: |s, _, _| {
            let (partials, ring) = (partial_bytes(s), s.ring_bytes());
            format!("{partials} bytes of partial sums do not fit the {ring} of the ring; take more stages")
        },
    },
    Rule {
        name: "stream_k_splits_no_other_way",
        words: "stream_k has splits = false",
        holds: |s, _, _| !s.stream_k || !s.splits,
        reason: |_, _, _| "stream_k with splits; take one of the two".to_owned(),
    },
    Rule {
        name: "shared_waves_up_to_two",
        words: "shared_waves is 0 to 2, without stream_k 0",
        holds: |s, _, _| s.shared_waves <= if s.stream_k { Sharing::MOST_WAVES } else { 0 },
        reason: |s, _, _| {
            let S { shared_waves, stream_k, .. } = s;
            format!("shared_waves = {shared_waves} with stream_k = {stream_k}; take 0, or with stream_k up to 2")
        },
    },
    Rule {
        name: "shared_memory_fits",
        words: "about 1 KiB + stages * (tile_m + tile_n) * 128 + consumers * 8 KiB to 16 KiB is at most 232448 bytes",
        holds: |s, class, _| s.shared_bytes(class) <= MAX_SHARED_BYTES,
        reason: |s, class, _| {
            let shared = s.shared_bytes(class);
            format!(
                "needs {shared} bytes of shared memory, a block may have {MAX_SHARED_BYTES}; take fewer stages or a smaller tile"
            )
        },
    },
    Rule {
        name: Raster::RULE.name,
        words: Raster::RULE.words,
        holds: |s, _, _| s.raster.is_valid(),
        reason: |s, _, _| s.raster.reason(),
    },
];

impl S {
    /// What the side of the tile that wgmma takes in blocks is a multiple of.
    fn block(&self) -> u32 {
        WGMMA_M * self.consumers_sharing_a_tile()
    }

    fn splits_into_blocks(&self, extent: u32) -> bool {
        (64..=256).contains(&extent) && extent.is_multiple_of(self.block())
    }

    fn ring_bytes(&self) -> u32 {
        self.stages * (self.tile_m + self.tile_n) * SWIZZLE_BYTES
    }
}

fn is_width(extent: u32, least: u32) -> bool {
    (least..=256).contains(&extent) && extent.is_multiple_of(8)
}

/// Of what each block's share of a tile of `A` is a multiple.
fn slice_of_a(class: &Class) -> u32 {
    if class.layout.transpose_a() { 64 } else { 8 }
}

/// Of what each block's share of a tile of `B` is a multiple.
fn slice_of_b(class: &Class) -> u32 {
    class.products() * if class.layout.transpose_b() { 8 } else { 64 }
}

fn consumer_warps(s: &S) -> u32 {
    WARPS_PER_WARPGROUP * s.consumers
}

/// What a block receives at most from those that share its tile: sums of the warps that it finishes, from each other block.
fn partial_bytes(s: &S) -> u32 {
    let of_warp = s.tile_m * s.tile_n * SUM_BYTES / consumer_warps(s);
    of_warp * consumer_warps(s).div_ceil(s.split_k) * (s.split_k - 1)
}

/// Whether tiles of so many columns, one beside the other, begin with a block or lie inside of one.
fn begins_with_blocks(columns: u32, block: u32) -> bool {
    columns > 0 && (block.is_multiple_of(columns) || columns.is_multiple_of(block))
}
