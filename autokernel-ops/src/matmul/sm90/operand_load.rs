//! Which matrix that a body reads comes by TMA, and how: `sm90_operand_load.cuh`.
//!
//! A warp's boxes of it arrive in the buffers in which its results are staged, laid out as those are, and each result takes the place of the
//! element it was made from. Boxes are asked for before the main loop, as many as there are buffers: what the ring leaves room for.

use autokernel_core::{Dtype, TileBox};

use super::heights::asked_for;
use super::{MAX_SHARED_BYTES, Sm90Schedule, UNSWIZZLED, WARPS_PER_WARPGROUP};
use crate::body::Kind;
use crate::matmul::body::BodyClass;
use crate::matmul::many::Many;
use crate::matmul::problem::Class;

/// The fewest store boxes of a warp: one is loaded while the other is stored.
const FEWEST_BUFFERS: u32 = 2;
/// The most: what is asked for later arrives in time.
const MOST_BUFFERS: u32 = 8;
/// Bytes of an mbarrier.
const BARRIER_BYTES: u32 = 8;

/// A matrix that comes by TMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandLoad {
    /// Its number among the operands.
    pub operand: u8,
    /// What one copy brings: as many elements as a store takes away.
    pub tile: TileBox,
}

/// Whether a matrix may come by TMA by some schedule.
pub fn loads_operands(class: &Class) -> bool {
    candidates(class).next().is_some()
}

/// The matrices that a body reads; none where another epilogue than that of plain bodies stores C, of batches and groups, or
/// beside tables whose columns repeat.
fn candidates(class: &Class) -> impl Iterator<Item = (u8, Dtype)> + '_ {
    let stages_chunks = class.writes_c() && class.partners().is_none() && class.made().is_none();
    let is_plain =
        class.weights.is_none() && class.block.is_none() && !class.has_repeated() && class.many() == Many::One;
    let body = class.body.as_ref().filter(|_| stages_chunks && is_plain);
    let inputs = body.into_iter().flat_map(BodyClass::inputs);
    inputs.filter(|(_, kind, _)| *kind == Kind::Matrix).map(|(operand, _, dtype)| (operand, dtype))
}

impl Sm90Schedule {
    /// The first matrix that a body reads whose elements are no wider than those that are staged; none where tiles are shared through a
    /// workspace, or where shared memory has no room for two store boxes of each warp, of an image of several heights at any of them.
    pub fn operand_load(&self, class: &Class) -> Option<OperandLoad> {
        if !self.may_load(class) || !self.every_height_fits_loads(class) {
            return None;
        }
        let store = self.store_box(class);
        let of = |(operand, dtype): (u8, Dtype)| {
            let swizzle = store.columns * dtype.bytes();
            let fits = (UNSWIZZLED..=store.swizzle).contains(&swizzle);
            fits.then_some(OperandLoad { operand, tile: TileBox { swizzle, ..store } })
        };
        candidates(class).find_map(of)
    }

    /// Whether a matrix may come by TMA, if shared memory has room for it.
    pub(super) fn may_load(&self, class: &Class) -> bool {
        !self.stream_k && loads_operands(class)
    }

    /// All heights share a body, which says whether a matrix is loaded.
    fn every_height_fits_loads(&self, class: &Class) -> bool {
        let fits = |tile: Self| tile.fits_loads(class, tile.store_box(class));
        if self.has_heights() { asked_for(class, self).all(fits) } else { fits(*self) }
    }

    /// Whether shared memory has room for what is loaded in boxes of C of that size, if anything is.
    pub(super) fn fits_loads(&self, class: &Class, store: TileBox) -> bool {
        !self.may_load(class) || self.bytes_with_loads(class, store, FEWEST_BUFFERS) <= MAX_SHARED_BYTES
    }

    /// As many store boxes of a warp as there is room for, up to those of its part of a tile.
    pub(super) fn load_buffers(&self, class: &Class) -> u32 {
        let store = self.store_box(class);
        let of_tile = self.tile_m * class.columns_of_c(self.tile_n) / (store.rows * store.columns);
        let of_warp = of_tile / (WARPS_PER_WARPGROUP * self.consumers_sharing_a_tile());
        let fits = |buffers: &u32| self.bytes_with_loads(class, store, *buffers) <= MAX_SHARED_BYTES;
        (FEWEST_BUFFERS..=of_warp.min(MOST_BUFFERS)).rev().find(fits).unwrap_or(FEWEST_BUFFERS)
    }

    fn bytes_with_loads(&self, class: &Class, store: TileBox, buffers: u32) -> u32 {
        self.shared_bytes_of(class, store, buffers) + self.barriers_of(buffers) * BARRIER_BYTES
    }

    /// Bytes of the barriers that boxes arrive at.
    pub(super) fn load_barrier_bytes(&self, class: &Class) -> u32 {
        self.operand_load(class).map_or(0, |_| self.load_barriers(class) * BARRIER_BYTES)
    }

    /// One for each buffer of each warp.
    pub(super) fn load_barriers(&self, class: &Class) -> u32 {
        self.barriers_of(self.load_buffers(class))
    }

    fn barriers_of(&self, buffers: u32) -> u32 {
        self.consumers * WARPS_PER_WARPGROUP * buffers
    }
}

#[cfg(test)]
#[path = "operand_load_tests.rs"]
mod tests;
