//! Tiles of several heights in one image: `sm90_heights.cuh`.
//!
//! A model of a language has products of any number of rows, and rows that fill no tile are multiplied for nothing. So an image
//! that many shapes share holds its kernel for several heights, of which a launch takes the one that fits.

use autokernel_core::Dtype;

use super::registers::max_accumulators;
use super::{MAX_SHARED_BYTES, Mode, Sm90Schedule, WARP_ROWS, WARPS_PER_WARPGROUP};
use crate::matmul::problem::Class;

/// Up to so many rows heights follow each other in steps of the narrowest wgmma, then in twice such steps; of consumers that take turns, which
/// lead from some 250 rows on, where 8 of 80 rows that are not there are a tenth of the time, up to so many more.
const FINE_ROWS: u32 = 64;
const FINE_ROWS_IN_TURN: u32 = 128;
const FINE_STEP: u32 = 8;
const COARSE_STEP: u32 = 16;
/// The lowest tile has this share of the tallest one's rows: lower ones want fewer columns a block.
const LOWEST: u32 = 4;
/// The same of an image that can split sums over K and has more than 128 rows, which is for rows that fill one tile: each height takes
/// 0.3 s to compile, and fewer rows have images of their own.
const LOWEST_OF_TALL_SPLITS: u32 = 2;
const TALL: u32 = 128;
/// A height whose rows are stored in more boxes is left out. Those of a body divide the tile, so that of 88 rows they have 8: where a block has one
/// tile, 88 and 104 rows by eleven and thirteen boxes took 10 to 19 % more than 96 and 112 by two (`docs/results/bodies-h200/boxes.txt`).
const MOST_BOXES: u32 = 4;
/// A deeper ring hides nothing more.
const MOST_STAGES: u32 = 12;
/// Registers of a thread that an image of several tiles takes beside what a body needs, about: one tile that spills would cost
/// that body all of them.
const CHOICE_REGISTERS: u32 = 8;

/// The tiles that the image of `schedule` is asked for, lowest first, each as the schedule that has it; none where it has one alone.
pub(super) fn asked_for(class: &Class, schedule: &Sm90Schedule) -> impl Iterator<Item = Sm90Schedule> {
    let (class, of_tallest) = (class.clone(), *schedule);
    let tallest = of_tallest.rows_up_to;
    let lowest = if of_tallest.splits && tallest > TALL { LOWEST_OF_TALL_SPLITS } else { LOWEST };
    let fine_rows = if of_tallest.mode == Mode::PingPong { FINE_ROWS_IN_TURN } else { FINE_ROWS };
    let fine = (FINE_STEP..=fine_rows.min(tallest)).step_by(FINE_STEP as usize);
    let coarse = (fine_rows + COARSE_STEP..=tallest).step_by(COARSE_STEP as usize);
    let all = fine.chain(coarse).filter(move |rows| rows * lowest >= tallest);
    all.filter_map(move |tile_m| {
        let tile = Sm90Schedule { tile_m, ..of_tallest };
        let tile = Sm90Schedule { stages: stages(&class, &tile), ..tile };
        let has_wide_boxes = tile_m == tallest || boxes(&class, &tile) <= MOST_BOXES;
        (leaves_a_body_registers(&class, &tile) && has_wide_boxes).then_some(tile)
    })
}

/// How many boxes of rows a warp stores one after the other.
fn boxes(class: &Class, tile: &Sm90Schedule) -> u32 {
    tile.tile_m.div_ceil(tile.store_box(class).rows)
}

fn leaves_a_body_registers(class: &Class, tile: &Sm90Schedule) -> bool {
    class.body.is_none() || tile.accumulators() + CHOICE_REGISTERS <= max_accumulators(tile, class)
}

/// As many stages as fit beside one store box of the widest elements, so that they do not depend on what is written.
fn stages(class: &Class, tile: &Sm90Schedule) -> u32 {
    let store_box = tile.dividing_store_box(class).rows * WARP_ROWS * Dtype::F32.bytes();
    let staging = tile.consumers * WARPS_PER_WARPGROUP * store_box;
    let [none, one] = [0, 1].map(|stages| Sm90Schedule { stages, ..*tile }.shared_bytes_with(class, 0));
    (MAX_SHARED_BYTES.saturating_sub(none + staging) / (one - none)).min(MOST_STAGES)
}
