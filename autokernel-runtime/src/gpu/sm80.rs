//! The launch of the `sm80` family; mirrors `sm80_matmul.cuh`.

use std::mem::offset_of;

use super::raster::RasterArgs;
use crate::{Geometry, Result, Shape};

/// `autokernel::sm80::Args`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Args {
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub lda: i64,
    pub ldb: i64,
    pub ldc: i64,
    pub m: i32,
    pub n: i32,
    pub k: i32,
    pub raster: RasterArgs,
}

const _: () = {
    assert!(offset_of!(Args, lda) == 24 && offset_of!(Args, m) == 48 && offset_of!(Args, raster) == 60);
    assert!(size_of::<Args>() == 72);
};

/// Thread blocks: one for each output tile.
pub(super) fn grid(geometry: &Geometry, shape: Shape) -> Result<u32> {
    super::raster::count(geometry.tiles(shape.m, shape.n))
}
