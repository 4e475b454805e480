//! Registers that a tile takes of a consumer's threads, and how many ptxas fits without spilling.

use super::{Sm90Schedule as S, WGMMA_M};
use crate::matmul::body::BodyClass;
use crate::matmul::many::Many;
use crate::matmul::problem::Class;
use crate::matmul::schedule::Mode;

/// Registers beside accumulators and what a body needs: addresses and the state of the pipeline.
const WORKING_REGISTERS: u32 = 40;
/// More of them where boxes of a matrix that the body reads may be under way: which is next, and where.
const LOADING_REGISTERS: u32 = 8;
/// The same where consumers in turns take factors of 8 bits, and the body has nothing but scales of rows, of columns and of all.
const WORKING_REGISTERS_BESIDE_SCALES: u32 = 24;
/// Of those that a body needs, as many as are free beside fragments once these are multiplied.
const SPARE_REGISTERS: u32 = 32;

/// The most rows of a tile beside which a stage of weights is unrolled whole where groups have sums of their own.
const UNROLLED_ROWS: u32 = 64;
/// The most numbers of a group, of which there is then one at once.
const MOST_OF_GROUP: u32 = 128;

/// Registers of a consumer's accumulators, and of the fragments that it makes of weights: of each 64 columns two times 64 along K; more
/// where words of 4-bit numbers and the sums of groups are there too, of more than one group at once.
pub(super) fn held_with_weights(s: &S, class: &Class) -> u32 {
    let packed = class.weights.is_some_and(|weights| weights.dtype.numbers() > 1);
    let (sums, fragments) = match (class.group().is_some(), packed) {
        (false, _) => (1, 32),
        (true, false) => (2, 32),
        (true, true) if s.tile_m > UNROLLED_ROWS && class.group() == Some(MOST_OF_GROUP) => (2, 32),
        (true, true) => (2, 48),
    };
    let fragments = fragments + if class.has_zeros() { 8 } else { 0 };
    let blocks = s.tile_n / (WGMMA_M * s.consumers_sharing_a_tile());
    s.accumulators() * sums + fragments * blocks
}

pub(super) fn max_with_weights(s: &S, class: &Class) -> u32 {
    let limit: u32 = if s.consumers == 3 { 120 } else { 168 };
    let needed = class.body_registers().saturating_sub(SPARE_REGISTERS);
    limit.saturating_sub(needed)
}

/// Registers of a consumer's accumulators, of a part of the tile that is not scaled yet, and of the scales of the rows and columns of
/// wgmma that a lane holds; of two parts, one of which is multiplied as the other is added, where there is one a stage.
pub(super) fn held_with_blocks(s: &S, class: &Class) -> u32 {
    let blocks = (if s.swap_ab { s.tile_n } else { s.tile_m }) / (WGMMA_M * s.consumers_sharing_a_tile());
    let of_columns = class.products() * class.columns_of_c(s.tile_n).div_ceil(class.block.unwrap_or(1));
    let scales = if s.swap_ab { s.tile_m / 4 + blocks } else { 2 * blocks + of_columns };
    let overlaps = blocks == 1 && s.width() <= 128 && s.consumers < 3;
    s.accumulators() + (if overlaps { 2 } else { 1 }) * (s.width().min(128) / 2 + scales)
}

/// Of many products the producer seeks their scales too, and has the registers for that where it hands none to a second consumer.
pub(super) fn max_with_blocks(s: &S, class: &Class) -> u32 {
    let limit: u32 = match (s.consumers, s.cluster_m * s.cluster_n) {
        (2.., _) if class.many() != Many::One => 0,
        (3, _) => 120,
        (2, _) if s.splits && s.swap_ab => 192,
        (_, 1) => 200,
        _ => 196,
    };
    limit.saturating_sub(class.body_registers().saturating_sub(SPARE_REGISTERS))
}

/// The most accumulators that ptxas fits without spilling: three consumers have 160 registers a thread, fewer have
/// 232 or 240, adding up a split K needs some, a walk over shares more, and so does an epilogue such as `tanhf` or `erff` when all accumulators are live.
pub(super) fn max_accumulators(s: &S, class: &Class) -> u32 {
    let limit = match (s.consumers, s.splits, s.stream_k) {
        (3, ..) => 96,
        (.., true) => 96,
        (_, false, false) => 192,
        _ => 128,
    };
    let limit = limit - class.epilogue.cost().registers;
    let registers = match s.consumers {
        1 => 255,
        2 if class.gathers() => 216,
        2 => 232,
        _ => 160,
    };
    let is_plain = class.input.bytes() == 1 && class.output.bytes() > 1 && class.many() == Many::One;
    let has_scales_alone = |body: &BodyClass| is_plain && s.mode == Mode::PingPong && body.scales_alone();
    let working =
        |body: &BodyClass| if has_scales_alone(body) { WORKING_REGISTERS_BESIDE_SCALES } else { WORKING_REGISTERS };
    let loading = if s.may_load(class) { LOADING_REGISTERS } else { 0 };
    let beside_body = |body: &BodyClass| registers - (working(body) + loading + body.registers()).min(registers);
    class.body.as_ref().map_or(limit, |body| limit.min(beside_body(body)))
}
